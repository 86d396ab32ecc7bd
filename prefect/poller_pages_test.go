package prefect_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func TestPollReadsAllThatEndedAtOneMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prefecttest.PageLimit(25))
	w.poll(t)
	w.pass(time.Minute)
	moment := w.now().Add(-20 * time.Second)
	var rows []uuid.UUID
	for range 130 {
		rows = append(rows, w.endedTaskRun(moment))
	}
	for i := range 40 {
		rows = append(rows, w.endedTaskRun(moment.Add(time.Duration(i-20)*time.Millisecond)))
	}
	s := w.poll(t)
	s.want(t, prefect.Completed, rows...)
	for id, times := range s.times {
		if times != 1 {
			t.Errorf("%s was given %d times", id, times)
		}
	}
}

// A server may give smaller pages than a stock one: that shows at the first page, and nothing is cut off.
func TestPollWithSmallPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prefecttest.PageLimit(7))
	var running, ended []uuid.UUID
	for range 31 {
		running = append(running, w.flowRun(noon))
		ended = append(ended, w.endedTaskRun(noon.Add(-time.Minute)))
	}
	s := w.poll(t)
	s.want(t, prefect.Running, running...)
	s.want(t, prefect.Completed, ended...)
}

// Runs that end while the pages of the active ones are read draw the others up: none may slip through.
func TestPollMissesNoActiveRunWhenOthersEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prefecttest.PageLimit(20))
	var leave, stay []uuid.UUID
	for i := range 200 {
		id := w.flowRun(noon)
		if i%3 == 0 {
			leave = append(leave, id)
		} else {
			stay = append(stay, id)
		}
	}
	w.OnRequest(func(r prefecttest.Request) {
		var f prefect.Filter
		if json.Unmarshal(r.Body, &f) != nil || f.Offset == 0 || f.FlowRuns == nil {
			return
		}
		for _, id := range leave[:min(7, len(leave))] {
			w.end(id, noon)
		}
		leave = leave[min(7, len(leave)):]
	})
	s := w.poll(t)
	s.want(t, prefect.Running, stay...)
	if len(leave) > 0 {
		t.Fatalf("%d runs didn't leave: the test is none", len(leave))
	}
}

// What ended while the pages were read is there at the next poll.
func TestPollMissesNothingThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.poll(t)
	var ended []uuid.UUID
	w.OnRequest(func(prefecttest.Request) {
		w.pass(20 * time.Second) // a server under load
		if len(ended) < 40 {
			ended = append(ended, w.endedTaskRun(w.now().Add(-time.Second)))
		}
	})
	seen := newSight()
	for range 12 {
		for _, portion := range w.poll(t).portions {
			seen.take(portion)
		}
	}
	seen.want(t, prefect.Completed, ended...)
	if len(ended) != 40 {
		t.Fatalf("%d runs ended: the test is none", len(ended))
	}
}

// A run that came alive again is not made to look ended by a list that was read before it did.
func TestPollLetsNoOldEndOvertake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.poll(t)
	w.pass(time.Minute)
	run := w.flowRun(w.now().Add(-10 * time.Second))
	w.SetState(run, prefect.State{Type: prefect.Failed, Timestamp: w.now().Add(-5 * time.Second)})
	stale := w.FlowRun(run)
	w.SetState(run, prefect.State{Type: prefect.Running, Timestamp: w.now()})

	for range 650 { // so many that the two sights come in different portions
		w.taskRun(uuid.Nil, w.now())
	}
	w.poller = prefect.NewPoller(&haunted{Client: w.client, ghosts: []prefect.FlowRun{stale}}, prefect.PollerConfig{})
	s := w.poll(t)
	s.want(t, prefect.Running, run)
	if s.times[run] != 1 {
		t.Errorf("the run was given %d times", s.times[run])
	}
}
