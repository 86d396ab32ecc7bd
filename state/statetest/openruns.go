package statetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var openRunTests = map[string]func(t *testing.T, rig Rig){
	"looked at less and less often":      testOpenRunPace,
	"what an open run says":              testOpenRun,
	"active ones are passed over":        testActiveRuns,
	"tasks that outlived their flow run": testOrphanTasks,
	"what a Prefect is recognized by":    testAcquaintances,
}

// testOpenRunPace has one run and asks at moments counted from its first event, after a check that long ago.
func testOpenRunPace(t *testing.T, rig Rig) {
	for _, c := range []struct {
		name         string
		age, checked time.Duration // checked: how long before the question; 0: never
		due          bool
	}{
		{"new", time.Second, 0, true},
		{"first hour, just looked at", 59 * time.Minute, time.Second, true},
		{"first day, never looked at", 2 * time.Hour, 0, true},
		{"first day, looked at a while ago", 2 * time.Hour, 59 * time.Second, false},
		{"first day, looked at a minute ago", 2 * time.Hour, time.Minute, true},
		{"old, looked at minutes ago", 25 * time.Hour, 9 * time.Minute, false},
		{"old, looked at ten minutes ago", 25 * time.Hour, 10 * time.Minute, true},
		{"very old, never looked at", 90 * 24 * time.Hour, 0, true},
		{"looked at in the future, the clock went back", 25 * time.Hour, -time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, rig)
			w.commit(state.Batch{Told: []adapter.Told{entry("etl", adapter.Open), entry("done", adapter.Ended), entry("quiet", adapter.Unsaid)}})
			now := w.clock.Now().Add(c.age)
			if c.checked != 0 {
				w.must(w.store.MarkChecked(w.ctx(), []uuid.UUID{runID("etl"), runID("stranger")}, now.Add(-c.checked)))
			}
			open, err := w.store.OpenRuns(w.ctx(), now, 10, nil)
			w.must(err)
			if got := len(open) == 1 && open[0].ID == runID("etl"); got != c.due {
				t.Errorf("due: %v, want %v (%+v)", got, c.due, open)
			}
		})
	}
}

func testOpenRun(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	said := w.clock.Now()
	w.commit(state.Batch{Told: []adapter.Told{entry("etl", adapter.Open)}})
	w.clock.Move(10 * time.Minute)
	missed := entry("etl", adapter.Open)
	missed.Kind, missed.Missed = adapter.TaskRun, w.clock.Now().Add(time.Second)
	w.commit(state.Batch{Told: []adapter.Told{missed}})
	w.must(w.store.MarkChecked(w.ctx(), []uuid.UUID{missed.ID}, w.clock.Now()))
	open, err := w.store.OpenRuns(w.ctx(), w.clock.Now(), 10, nil)
	w.must(err)
	want := []state.OpenRun{{ID: missed.ID, Kind: adapter.TaskRun, FirstSaid: said, Checked: w.clock.Now(), Missed: missed.Missed}}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Errorf("open runs (-want +got):\n%s", diff)
	}
}

func testActiveRuns(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	var batch state.Batch
	for i := range 20 {
		batch.Told = append(batch.Told, entry(fmt.Sprint("run", i), adapter.Open))
	}
	w.commit(batch)
	rare := []uuid.UUID{runID("run3"), runID("run17"), runID("run19")}
	active := func(run uuid.UUID) bool { return !slices.Contains(rare, run) }
	open, err := w.store.OpenRuns(w.ctx(), w.clock.Now(), 2, active)
	w.must(err)
	if len(open) != 2 || active(open[0].ID) || active(open[1].ID) {
		t.Errorf("open runs: %+v", open)
	}
}

func testOrphanTasks(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	flowEnd := entry("flow", adapter.Ended).End
	task := func(name, flow string, phase adapter.Phase) adapter.Told {
		told := entry(name, phase)
		told.Kind, told.FlowRunID = adapter.TaskRun, runID(flow)
		return told
	}
	orphan := task("orphan", "flow", adapter.Open)
	sub := entry("subflow", adapter.Open)
	sub.FlowRunID = runID("flow")
	w.commit(state.Batch{Told: []adapter.Told{
		entry("flow", adapter.Ended), entry("running", adapter.Open), orphan, sub,
		task("done", "flow", adapter.Ended), task("at work", "running", adapter.Open),
		task("unknown flow", "nobody", adapter.Open),
	}})
	for _, c := range []struct {
		before time.Time
		want   []state.OrphanTask
	}{
		{flowEnd.Add(-time.Nanosecond), []state.OrphanTask{}},
		{flowEnd, []state.OrphanTask{{Task: orphan, Flow: entry("flow", adapter.Ended)}}},
	} {
		got, err := w.store.OpenTasksOfEndedFlows(w.ctx(), c.before, 10)
		w.must(err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("before %s (-want +got):\n%s", c.before, diff)
		}
	}
}

func testAcquaintances(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	flow := uuid.MustParse("0f3a2f2f-6a11-4a0c-9a63-7a6f3a0e6c52")
	at := map[string]time.Time{}
	for i, phase := range []adapter.Phase{adapter.Ended, adapter.Open, adapter.Unsaid, adapter.Ended, adapter.Open} {
		name := fmt.Sprint("run", i)
		told := entry(name, phase)
		told.FlowID = flow
		at[name] = w.clock.Now()
		w.commit(state.Batch{Told: []adapter.Told{told}})
		w.clock.Move(time.Minute)
	}
	known := func(name string) state.Acquaintance {
		return state.Acquaintance{ID: runID(name), Kind: adapter.FlowRun, FlowID: flow, Said: at[name]}
	}
	for _, c := range []struct {
		after time.Time
		limit int
		want  []state.Acquaintance
	}{
		{time.Time{}, 10, []state.Acquaintance{known("run4"), known("run3"), known("run1"), known("run0")}},
		{time.Time{}, 2, []state.Acquaintance{known("run4"), known("run3")}},
		{at["run1"], 10, []state.Acquaintance{known("run4"), known("run3")}},
		{w.clock.Now(), 10, nil},
	} {
		got, err := w.store.Acquaintances(w.ctx(), c.after, c.limit)
		w.must(err)
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after %s, %d at most (-want +got):\n%s", c.after, c.limit, diff)
		}
	}
}
