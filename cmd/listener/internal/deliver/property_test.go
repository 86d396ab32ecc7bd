package deliver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
)

// Whatever a consumer answers for a while, once it takes events every one is delivered or dead, in order.
func TestAnyScriptEndsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 200).Draw(rt, "answers")
		events := drawEvents(rt)
		parallel := rapid.IntRange(1, 5).Draw(rt, "parallel")
		synctest.Test(t, func(t *testing.T) {
			to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
				time.Sleep(time.Duration(a.n%7) * time.Millisecond)
				if a.n > len(script) {
					return nil
				}
				return scripted(script[a.n-1])
			}}
			r := newRigWith(t, parallel, deliver.Options{}, to)
			r.outbox.add(events[:len(events)/2]...)
			r.start()
			wait(time.Minute)
			r.outbox.add(events[len(events)/2:]...)
			r.deliverer.Wake()
			pending := len(events)
			for began := time.Now(); pending > 0 && time.Since(began) < 24*time.Hour; {
				wait(10 * time.Second)
				pending, _, _ = r.outbox.counts("a")
			}
			r.stop()
			if pending > 0 {
				t.Errorf("%d events are still pending a day later: %+v", pending, r.state("a"))
			}
			if t.Failed() {
				rt.Fatalf("see above")
			}
		})
	})
}

func scripted(answer int) error {
	switch answer {
	case 0, 1:
		return nil
	case 2:
		return unavailable()
	case 3:
		return refused()
	case 4:
		return badRequest()
	case 5:
		return unauthorized()
	default:
		return slowDown(20 * time.Second)
	}
}

// drawEvents makes families and runs of their own.
func drawEvents(rt *rapid.T) []adapter.Event {
	var events []adapter.Event
	for i, size := range rapid.SliceOfN(rapid.IntRange(0, 5), 1, 30).Draw(rt, "families") {
		if size == 0 {
			events = append(events, runEvents(runID(i*100), uuid.Nil, "job")...)
			continue
		}
		events = append(events, family(i*100, size)...)
	}
	return events
}
