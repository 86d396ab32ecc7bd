package statetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var overviewTests = map[string]func(t *testing.T, rig Rig){
	"runs are counted":           testOverviewRuns,
	"the last failures are kept": testOverviewFailures,
}

func (w *world) overview() state.Overview {
	w.Helper()
	o, err := w.store.Overview(w.ctx())
	w.must(err)
	return o
}

func testOverviewRuns(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	if diff := cmp.Diff(state.Overview{LastFailures: map[string]state.Failure{}}, w.overview()); diff != "" {
		t.Errorf("an empty store (-want +got):\n%s", diff)
	}
	var batch state.Batch
	for name, is := range map[string]struct {
		kind  adapter.Kind
		phase adapter.Phase
	}{
		"a": {adapter.FlowRun, adapter.Open}, "b": {adapter.FlowRun, adapter.Ended}, "c": {adapter.TaskRun, adapter.Open},
		"d": {adapter.TaskRun, adapter.Open}, "e": {adapter.TaskRun, adapter.Unsaid},
	} {
		told := adapter.Told{ID: runID(name), Kind: is.kind, Run: jobOf(name), Phase: is.phase}
		if is.phase != adapter.Unsaid {
			told.Start = w.clock.Now()
		}
		if is.phase == adapter.Ended {
			told.EndType, told.End = adapter.Complete, w.clock.Now()
		}
		batch.Told = append(batch.Told, told)
	}
	batch.Quarantine = []state.BadRow{{Resource: "flow_runs", ID: "1", Reason: "no state", Raw: []byte(`{}`), Seen: w.clock.Now()}}
	w.commit(batch)
	w.crash()
	want := state.Overview{OpenFlowRuns: 1, OpenTaskRuns: 2, KnownRuns: 5, Quarantined: 1, LastFailures: map[string]state.Failure{}}
	if diff := cmp.Diff(want, w.overview()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func testOverviewFailures(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("well", "retried", "refused", "both")...)
	w.say(starts("a", "b")...)
	w.deliver("well", "a START", "b START")
	w.settle("retried", state.Again, "a START")
	first := w.clock.Now()
	w.settle("refused", state.Dead, "a START")
	w.settle("both", state.Again, "b START")
	w.deliver("refused", "b START")
	w.clock.Move(time.Minute)
	w.settle("retried", state.Again, "a START")
	second := w.clock.Now()
	w.settle("both", state.Dead, "a START")
	w.restart()
	want := map[string]state.Failure{
		"retried": {Reason: "status-503", Status: 503, At: second},
		"refused": {Reason: "status-400", Status: 400, At: first},
		"both":    {Reason: "status-400", Status: 400, At: second},
	}
	if diff := cmp.Diff(want, w.overview().LastFailures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.clock.Move(time.Minute)
	w.drain("retried")
	if f, found := w.overview().LastFailures["retried"]; found {
		t.Errorf("after all was delivered: %+v", f)
	}
}
