package oracle_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/test/oracle/judge"
)

// becomes puts a run into a state, and notes the event that this stands for; an empty kind: none.
func (h *history) becomes(self judge.Run, parent *flowRun, state prefect.State, kind, message string) {
	h.step.Lock()
	defer h.step.Unlock()
	state.Timestamp = micro(h.now())
	h.server.SetState(uuid.MustParse(self.ID), state)
	if kind == "" {
		return
	}
	e := judge.Event{Run: self, Type: kind, Time: state.Timestamp, Error: message}
	if parent != nil {
		e.Parent, e.Root = &parent.self, parent.root()
	}
	h.note(e)
}

// one begins a plain flow run with as many task runs.
func (w *world) one(tasks int) *flowRun { return w.begin(shape{plain: true, tasks: tasks}, 1)[0] }

// Runs do not only start and end. Each of these lives goes on over three days of Prefect's time, in which most of them
// rest, and the listener was started in the middle of one.
func TestLivesOfRuns(t *testing.T) {
	t.Parallel()
	takes(t, light)
	clock := &shifted{}
	w := newWorldBy(t, clock, "a")
	running := prefect.State{Type: prefect.Running}
	completed := prefect.State{Type: prefect.Completed}

	midway := w.one(2) // it ran before the listener did
	w.daemon.start()
	w.caughtUp(20 * time.Second)

	crashed, paused, suspended := w.one(0), w.one(1), w.one(0)
	cancelling, orphaned, lateTasks, cancelled := w.one(0), w.one(1), w.one(0), w.one(0)
	deleted := w.one(1)
	nobody := w.server.AddFlowRun(prefect.FlowRun{FlowID: w.server.AddFlow(flowNames[0]).ID}) // its state is null
	w.caughtUp(20 * time.Second)

	w.becomes(crashed.self, nil, prefect.State{Type: prefect.Crashed, Name: "Crashed"}, "FAIL", "Crashed")
	w.becomes(paused.self, nil, prefect.State{Type: prefect.Paused}, "", "")
	w.becomes(suspended.self, nil, prefect.State{Type: prefect.Paused, Name: "Suspended"}, "", "")
	w.becomes(cancelling.self, nil, prefect.State{Type: prefect.Cancelling}, "", "")
	w.becomes(orphaned.self, nil, completed, "COMPLETE", "")
	orphanEnd := w.told()[len(w.told())-1].Time
	w.becomes(lateTasks.self, nil, completed, "COMPLETE", "")
	w.becomes(cancelled.self, nil, prefect.State{Type: prefect.Cancelled}, "ABORT", "")
	time.Sleep(time.Second)
	w.step.Lock()
	outlives := w.addTask(cancelled, "outlives", micro(w.now())) // it starts after its flow run was cancelled
	w.step.Unlock()
	w.server.Delete(deleted.id)
	w.server.Delete(deleted.tasks[0].id)
	w.caughtUp(20 * time.Second)

	clock.shift(5 * time.Minute)
	w.past(shape{plain: true, tasks: 3}, 1, time.Second, w.now().Add(-4*time.Minute))
	w.step.Lock()
	at := w.now().Add(-5 * time.Minute) // recorded minutes after their flow run's end
	for _, name := range []string{"late a", "late b"} {
		lateTasks.tasks = append(lateTasks.tasks, w.addTask(lateTasks, name, micro(at)))
		w.endTask(lateTasks, 0, lateTasks.tasks[len(lateTasks.tasks)-1], micro(at.Add(time.Second)))
	}
	w.step.Unlock()
	w.caughtUp(75 * time.Second)

	clock.shift(3 * 24 * time.Hour)
	inferred := orphaned.tasks[0]
	w.note(judge.Event{Run: inferred.self, Type: "COMPLETE", Time: orphanEnd, Parent: &orphaned.self, Root: &orphaned.self})
	w.becomes(crashed.self, nil, running, "RUNNING", "")
	w.becomes(paused.self, nil, running, "", "")
	w.becomes(suspended.self, nil, prefect.State{Type: prefect.Scheduled, Name: "Resuming"}, "", "")
	w.becomes(judge.Run{ID: nobody.ID.String(), Job: crashed.self.Job}, nil, running, "START", "")
	w.aborted(deleted.self, nil)
	w.aborted(deleted.tasks[0].self, deleted)
	w.caughtUp(30 * time.Second)

	w.becomes(crashed.self, nil, completed, "COMPLETE", "")
	w.becomes(paused.tasks[0].self, paused, completed, "COMPLETE", "")
	w.becomes(paused.self, nil, completed, "COMPLETE", "")
	w.becomes(suspended.self, nil, running, "", "")
	w.becomes(suspended.self, nil, completed, "COMPLETE", "")
	w.becomes(cancelling.self, nil, prefect.State{Type: prefect.Failed, Name: "Failed"}, "FAIL", "Failed")
	w.becomes(inferred.self, orphaned, completed, "COMPLETE", "") // the real end after all
	w.becomes(outlives.self, cancelled, completed, "COMPLETE", "")
	w.becomes(judge.Run{ID: nobody.ID.String(), Job: crashed.self.Job}, nil, completed, "COMPLETE", "")
	w.finish(midway)
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
}

// aborted waits for the ABORT of a run that was deleted, whose time only the listener knows, and notes it.
func (w *world) aborted(self judge.Run, parent *flowRun) {
	w.t.Helper()
	var at time.Time
	w.eventually(40*time.Second, "the deleted run's end is inferred", func() bool {
		for _, r := range w.consumer("a").Taken() {
			if r.RunID == self.ID && r.Type == "ABORT" {
				at, _ = time.Parse(time.RFC3339Nano, r.Time)
				return true
			}
		}
		return false
	})
	e := judge.Event{Run: self, Type: "ABORT", Time: at}
	if parent != nil {
		e.Parent, e.Root = &parent.self, parent.root()
	}
	w.note(e)
}
