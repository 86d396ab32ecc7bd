package ingest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

const (
	watchAlarm = "flow runs complete and none of their task runs is seen, though these flows always had some: Prefect may not write task runs down"
	watchEnd   = "task runs are seen again"
)

// watched is a watch that is told what a Prefect shows. Its clock moves as runs take their time.
type watched struct {
	t        *testing.T
	ledger   *ledger
	registry *prometheus.Registry
	logs     *observer.ObservedLogs
	watch    *ingest.TaskWatch
	now      time.Time
	rows     prefect.Changes // that the next poll reads
	flows    map[string]uuid.UUID
}

// Cursor returns what was stored last under the name.
func (w *watched) Cursor(_ context.Context, name string) ([]byte, error) {
	for _, b := range slices.Backward(w.ledger.batches) {
		if text, ok := b.Cursors[name]; ok {
			return text, nil
		}
	}
	return nil, nil
}

// Commit stores.
func (w *watched) Commit(ctx context.Context, b state.Batch) (state.Committed, error) {
	return w.ledger.Commit(ctx, b)
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{t: t, ledger: newLedger(), flows: map[string]uuid.UUID{}, now: noon}
	w.start()
	return w
}

// start begins a new process over what the last one has stored.
func (w *watched) start() {
	core, logs := observer.New(zap.InfoLevel)
	w.logs, w.registry = logs, prometheus.NewRegistry()
	w.watch = ingest.NewTaskWatch(w, ingest.NewMetrics(w.registry), zap.New(core))
	if err := w.watch.Load(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Minute)
}

// pass lets time pass, with a poll every half minute.
func (w *watched) pass(d time.Duration) {
	for ; d > 0; d -= 30 * time.Second {
		w.now = w.now.Add(30 * time.Second)
		w.rows.Now = w.now
		w.watch.Saw(w.rows)
		w.rows = prefect.Changes{}
		if err := w.watch.Judge(w.t.Context(), w.now); err != nil {
			w.t.Fatal(err)
		}
	}
}

// ran has a flow run that takes a minute and completes, with so many task runs, and waits for six minutes.
func (w *watched) ran(flow string, tasks int) {
	w.run(flow, tasks, prefect.Completed)
	w.pass(6 * time.Minute)
}

func (w *watched) run(flow string, tasks int, state prefect.StateType) {
	id := w.flows[flow]
	if id == (uuid.UUID{}) {
		id = uuid.New()
		w.flows[flow] = id
	}
	start := w.now
	w.pass(time.Minute)
	end := w.now
	at := func(kind prefect.StateType) *prefect.State {
		return &prefect.State{Type: kind, Name: "x", Timestamp: end}
	}
	run := prefect.FlowRun{ID: uuid.New(), Name: flow, FlowID: id, RunCount: 1, StartTime: &start, EndTime: &end, State: at(state)}
	w.rows.FlowRuns = append(w.rows.FlowRuns, run)
	for range tasks {
		w.rows.TaskRuns = append(w.rows.TaskRuns, prefect.TaskRun{
			ID: uuid.New(), Name: "task-123", TaskKey: "task-12345678", DynamicKey: "123", FlowRunID: &run.ID, RunCount: 1,
			StartTime: &start, EndTime: &end, State: at(prefect.Completed),
		})
	}
	child := uuid.New()
	placeholder := prefect.TaskRun{ID: uuid.New(), FlowRunID: &run.ID, RunCount: 1, StartTime: &start, EndTime: &end, State: at(prefect.Completed)}
	placeholder.State.Details.ChildFlowRunID = &child
	w.rows.TaskRuns = append(w.rows.TaskRuns, placeholder)
}

// said checks how often the alarm began and ended, and whether it is on.
func (w *watched) said(when string, began, ended int) {
	w.t.Helper()
	got := [3]int{w.logs.FilterMessage(watchAlarm).Len(), w.logs.FilterMessage(watchEnd).Len()}
	metrics, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range metrics {
		if m.GetName() == "prefect_openlineage_task_runs_missing" {
			got[2] = int(m.GetMetric()[0].GetGauge().GetValue())
		}
	}
	if want := [3]int{began, ended, began - ended}; got != want {
		w.t.Errorf("%s: began, ended and is %v, want %v", when, got, want)
	}
}

func TestTaskRunsAreNoLongerSeen(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	for range 5 {
		w.ran("a", 2)
		w.ran("b", 1)
	}
	w.ran("a", 0)
	w.ran("b", 0)
	w.said("after two", 0, 0)
	w.ran("b", 0)
	w.said("after three", 1, 0)
	for range 40 {
		w.ran("a", 0)
	}
	w.said("while it lasts", 1, 0)
	w.ran("a", 1)
	w.said("when one is seen", 1, 1)
	w.ran("b", 3)
	for range 3 { // both flows are still known to have task runs always
		w.ran("b", 0)
	}
	w.said("when it happens again", 2, 1)
}

// What is no sign of anything: flows without task runs, flows that have some at times, runs that failed, and one flow
// among others that lost its tasks.
func TestFlowsWithoutTaskRunsRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]func(w *watched){
		"none ever": func(w *watched) {
			for range 30 {
				w.ran("a", 0)
			}
		},
		"at times": func(w *watched) {
			for range 10 {
				w.ran("a", 1)
				w.ran("a", 1)
				w.ran("a", 0)
			}
		},
		"now and then two without": func(w *watched) {
			for range 10 {
				w.ran("a", 1)
			}
			w.ran("a", 0)
			w.ran("a", 0)
			w.ran("a", 1) // it is known for that from now on
			for range 10 {
				w.ran("a", 0)
			}
		},
		"failed ones": func(w *watched) {
			for range 6 {
				w.ran("a", 1)
			}
			for range 5 {
				w.run("a", 0, prefect.Failed)
				w.pass(6 * time.Minute)
			}
		},
		"one flow among others": func(w *watched) {
			for range 6 {
				w.ran("a", 1)
				w.ran("b", 1)
			}
			for range 10 {
				w.ran("a", 0)
				w.ran("b", 1)
			}
		},
		"task runs that are late": func(w *watched) {
			for range 6 {
				w.ran("a", 1)
			}
			for range 4 {
				w.run("a", 1, prefect.Completed)
				late := w.rows.TaskRuns
				w.rows.TaskRuns = nil
				w.pass(4 * time.Minute)
				w.rows.TaskRuns = late
				w.pass(2 * time.Minute)
			}
		},
		"a process that has seen nothing of them": func(w *watched) {
			for range 6 {
				w.ran("a", 1)
			}
			var runs []prefect.FlowRun // whose task runs the last process has read
			for range 5 {
				w.run("a", 0, prefect.Completed)
				runs, w.rows = append(runs, w.rows.FlowRuns...), prefect.Changes{}
			}
			w.pass(10 * time.Minute) // the habit is stored by now
			w.start()
			w.rows.FlowRuns = runs
			w.pass(time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t)
			story(w)
			w.said(name, 0, 0)
		})
	}
}

// Where some workers are broken and others are not, several flows show it.
func TestTaskRunsOfSomeFlowsAreNoLongerSeen(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	all := func(broken, well int) {
		for i := range 3 {
			w.ran(fmt.Sprint("broken ", i), broken)
			w.ran("well", well)
		}
	}
	for range 5 {
		all(1, 1)
	}
	all(0, 1)
	w.said("after one of each", 0, 0)
	all(0, 1)
	w.said("after two of each", 1, 0)
	all(1, 1)
	w.said("when they are seen", 1, 1)
}

// What was learned outlives the process.
func TestHabitsAreStored(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	for range 7 {
		w.ran("a", 1)
	}
	w.start()
	for range 3 {
		w.ran("a", 0)
	}
	w.said("after three", 1, 0)
}
