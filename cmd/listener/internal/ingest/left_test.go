package ingest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// A task run that can be read before its flow run is left for the next polls. They pass over what is stored, and must not
// take it for that.
func TestPollsComeBackToWhatTheyLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startReading(t, usual, false)
		run := r.run()
		others := func(what string) {
			for i := range 60 {
				r.complete(r.task(run, fmt.Sprint(what, i)))
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(2 * usual)
		}
		others("before ")
		early := prefecttest.ID("a flow run that shows late")
		task := r.task(early, "early")
		r.complete(task)
		others("after ")
		if d := r.delay(task, adapter.Complete, time.Now()); d != time.Hour {
			t.Fatal("the task was told without its flow run")
		}
		r.prefect.AddFlowRun(prefect.FlowRun{ID: early, FlowID: r.flow.ID})
		r.prefect.SetState(early, prefect.State{Type: prefect.Running})
		shown := time.Now()
		time.Sleep(2 * usual)
		r.within(usual+soon, task, adapter.Complete, shown)
	})
}
