package adapter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// leftRunning returns the row of a task that Prefect shows as running since t0+2.
func leftRunning() prefect.TaskRun {
	row := taskRow()
	row.EndTime, row.State = nil, &prefect.State{Type: prefect.Running, Name: "Running", Timestamp: at(2)}
	return row
}

// openTask returns a listener that has told the start of such a task, and the task's entry.
func openTask(t testing.TB, a *adapter.Adapter) (*listener, adapter.Told) {
	t.Helper()
	l := newListener(t, a)
	flow := flowRow()
	flow.EndTime, flow.State = nil, &prefect.State{Type: prefect.Running, Timestamp: at(0)}
	l.see(flowSnapshot(flow))
	l.see(taskSnapshot(leftRunning()))
	l.events = nil
	return l, l.ledger[taskRunID]
}

func endedFlow(kind adapter.EventType, end float64) adapter.Told {
	return adapter.Told{ID: flowRunID, Kind: adapter.FlowRun, Phase: adapter.Ended, Start: at(0), EndType: kind, End: at(end)}
}

func TestInferEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range []adapter.EventType{adapter.Complete, adapter.Fail, adapter.Abort} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			a := newAdapter(t).WithServer(prefect.Server{Version: "3.9.1"})
			l, task := openTask(t, a)
			telling := a.InferEnd(task, endedFlow(kind, 10))
			if diff := cmp.Diff([]string{string(kind) + "@10"}, short(telling.Events)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			event := last(t, telling)
			if got := dig(event, "run", "facets", "prefect_run", "inferred"); got != true {
				t.Errorf("inferred: %v", got)
			}
			if got := dig(event, "run", "facets", "processing_engine", "version"); got != "3.9.1" {
				t.Errorf("Prefect's version: %v", got)
			}
			if dig(event, "run", "facets", "parent") == nil || dig(event, "job", "facets", "jobType") == nil {
				t.Error("the parent or the job's facets are missing")
			}
			if failed := dig(event, "run", "facets", "errorMessage") != nil; failed != (kind == adapter.Fail) {
				t.Errorf("an error message: %t", failed)
			}
			if !telling.Told.Inferred || telling.Told.Phase != adapter.Ended {
				t.Errorf("the entry: %+v", telling.Told)
			}

			// The row still says running: nothing more is told. Then the real end comes, even if it is earlier.
			l.keep(prefect.Snapshot{}, telling)
			l.events = nil
			l.see(taskSnapshot(leftRunning()))
			l.see(taskSnapshot(taskRow()))
			l.see(taskSnapshot(taskRow()))
			if diff := cmp.Diff([]string{"COMPLETE@5"}, short(l.events)); diff != "" {
				t.Errorf("after it (-want +got):\n%s", diff)
			}
			if l.ledger[taskRunID].Inferred {
				t.Error("the real end is marked as inferred")
			}
		})
	}
}

// TestInferEndSeen checks that an inferred end carries what the task made: it may have finished without Prefect noticing.
func TestInferEndSeen(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	_, task := openTask(t, a)
	s := taskSnapshot(leftRunning(), table(1, "ol-dataset_output", `[{"database_uri":"duckdb:///d","table":"t"},{}]`))
	telling := a.InferEndSeen(s, task, endedFlow(adapter.Complete, 10), nil)
	event := last(t, telling)
	if diff := cmp.Diff([]string{"duckdb:///d|t"}, names(event, "outputs")); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	facet := dig(event, "run", "facets", "prefect_run")
	if diff := cmp.Diff([]any{true, "RUNNING", "load-612"}, []any{dig(facet, "inferred"), dig(facet, "stateType"), dig(facet, "runName")}); diff != "" {
		t.Errorf("prefect_run (-want +got):\n%s", diff)
	}
	if len(telling.Edges) != 1 || len(telling.Warnings) != 1 {
		t.Errorf("edges %v, warnings %v", telling.Edges, telling.Warnings)
	}
}

func TestInferDue(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	_, open := openTask(t, a)
	change := func(f func(*adapter.Told)) adapter.Told {
		told := open
		f(&told)
		return told
	}
	running := adapter.Told{ID: flowRunID, Kind: adapter.FlowRun, Phase: adapter.Open, Start: at(0)}
	tests := []struct {
		name string
		task adapter.Told
		flow adapter.Told
		now  time.Time
		want bool
	}{
		{"the grace is over", open, endedFlow(adapter.Complete, 10), at(610), true},
		{"the grace is not over", open, endedFlow(adapter.Complete, 10), at(609), false},
		{"the flow runs", open, running, at(9999), false},
		{"the flow runs again", open, change(func(f *adapter.Told) { *f = endedFlow(adapter.Fail, 10); f.Phase = adapter.Open }), at(9999), false},
		{"the task has ended", change(func(t *adapter.Told) { t.Phase = adapter.Ended }), endedFlow(adapter.Complete, 10), at(9999), false},
		{"nothing was said of the task", change(func(t *adapter.Told) { t.Phase = adapter.Unsaid }), endedFlow(adapter.Complete, 10), at(9999), false},
		{"a flow run", change(func(t *adapter.Told) { t.Kind = adapter.FlowRun }), endedFlow(adapter.Complete, 10), at(9999), false},
		{"a background task that began after the flow had ended", change(func(t *adapter.Told) { t.Start = at(11) }), endedFlow(adapter.Complete, 10), at(9999), false},
		{"came alive after this end was inferred", change(func(t *adapter.Told) { t.End, t.EndType, t.Inferred = at(10), adapter.Complete, true }), endedFlow(adapter.Complete, 10), at(9999), false},
		{"came alive, and the flow ended once more", change(func(t *adapter.Told) { t.End, t.EndType, t.Inferred = at(10), adapter.Complete, true }), endedFlow(adapter.Complete, 20), at(9999), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := a.InferDue(tt.task, tt.flow, tt.now); got != tt.want {
				t.Errorf("InferDue = %t", got)
			}
			// InferEnd leaves the waiting to its caller, and else agrees.
			inferred := len(a.InferEnd(tt.task, tt.flow).Events) > 0
			if tt.want && !inferred || !tt.want && inferred && tt.now != at(609) {
				t.Errorf("InferEnd made an event: %t", inferred)
			}
		})
	}
}

func TestInferGone(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	l, task := openTask(t, a)

	first := a.InferGone(task, at(100), nil)
	if len(first.Events) > 0 || !first.Told.Missed.Equal(at(100)) || first.Told.Phase != adapter.Open {
		t.Fatalf("first miss: %d events, %+v", len(first.Events), first.Told)
	}
	early := a.InferGone(first.Told, at(699), nil)
	if len(early.Events) > 0 || !early.Told.Missed.Equal(at(100)) {
		t.Fatalf("a miss within the grace: %d events, %+v", len(early.Events), early.Told)
	}
	second := a.InferGone(first.Told, at(700), nil)
	if diff := cmp.Diff([]string{"ABORT@700"}, short(second.Events)); diff != "" {
		t.Fatalf("second miss (-want +got):\n%s", diff)
	}
	if got := dig(last(t, second), "run", "facets", "prefect_run", "inferred"); got != true {
		t.Errorf("inferred: %v", got)
	}
	if third := a.InferGone(second.Told, at(1400), nil); len(third.Events) > 0 {
		t.Errorf("third miss: %v", short(third.Events))
	}

	// It is there again, and was running all the time.
	l.keep(prefect.Snapshot{}, second)
	l.events = nil
	l.see(taskSnapshot(leftRunning()))
	l.see(taskSnapshot(leftRunning()))
	l.see(taskSnapshot(taskRow()))
	if diff := cmp.Diff([]string{"RUNNING@2", "COMPLETE@5"}, short(l.events)); diff != "" {
		t.Errorf("back again (-want +got):\n%s", diff)
	}
}

// TestInferGoneThenEnd checks that a run which was ended as gone and turns up ended gets its real end.
func TestInferGoneThenEnd(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	l, task := openTask(t, a)
	l.keep(prefect.Snapshot{}, a.InferGone(a.InferGone(task, at(100), nil).Told, at(700), nil))
	l.events = nil
	l.see(taskSnapshot(taskRow()))
	if diff := cmp.Diff([]string{"COMPLETE@5"}, short(l.events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if told := l.ledger[taskRunID]; told.Inferred || !told.Missed.IsZero() {
		t.Errorf("the entry: %+v", told)
	}
}
