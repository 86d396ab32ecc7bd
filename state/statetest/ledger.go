package statetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var ledgerTests = map[string]func(t *testing.T, rig Rig){
	"entries come back as they were":         testEntries,
	"an entry is replaced by its id":         testReplacedEntry,
	"hundreds are read at once":              testManyEntries,
	"names are shared but not mixed up":      testSharedNames,
	"cursors change with what they stand on": testCursors,
	"all of a batch or nothing":              testWholeBatch,
	"jobs and their datasets":                testJobs,
	"runs that are not told about":           testSilent,
}

func fullEntry() adapter.Told {
	at := time.Date(2026, 3, 1, 10, 0, 0, 123456789, time.UTC)
	return adapter.Told{
		ID: runID("task"), Kind: adapter.TaskRun,
		Run:      adapter.RunRef{RunID: runID("another id"), Namespace: "prod", Name: "etl.load"},
		Parent:   &adapter.RunRef{RunID: runID("flow"), Namespace: "prod", Name: "etl"},
		Root:     &adapter.RunRef{RunID: runID("root"), Namespace: "airflow", Name: "dag.task"},
		Ancestor: runID("flow"), JobFacets: []byte(`{"jobType":{"jobType":"TASK"}}`), Ruling: 248,
		FlowRunID: runID("flow run"), FlowID: runID("flow id"), DeploymentID: runID("deployment"),
		Phase: adapter.Ended, Start: at, EndType: adapter.Fail, End: at.Add(time.Hour), Inferred: true, Missed: at.Add(2 * time.Hour),
		Named: 1<<63 + 5,
	}
}

func entry(run string, phase adapter.Phase) adapter.Told {
	at := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)
	told := adapter.Told{ID: runID(run), Kind: adapter.FlowRun, Run: jobOf(run), Phase: phase}
	if phase >= adapter.Open {
		told.Start = at
	}
	if phase == adapter.Ended {
		told.EndType, told.End = adapter.Complete, at.Add(time.Minute)
	}
	return told
}

// told checks what the ledger says of these runs.
func (w *world) told(want map[uuid.UUID]adapter.Told, ids ...uuid.UUID) {
	w.Helper()
	got, err := w.store.Told(w.ctx(), ids)
	w.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func testEntries(t *testing.T, rig Rig) {
	bare := adapter.Told{ID: runID("bare"), Kind: adapter.FlowRun, Run: adapter.RunRef{RunID: runID("bare")}}
	odd := entry("odd", adapter.Ended)
	odd.Parent = &adapter.RunRef{RunID: uuid.Nil, Namespace: "", Name: ""}
	odd.Start, odd.End = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(2262, 4, 11, 23, 47, 16, 854775807, time.UTC)
	wantOdd := odd
	wantOdd.Start = time.Time{} // before 1678 time has no measure here; nothing ran then
	w := newWorld(t, rig)
	w.commit(state.Batch{Told: []adapter.Told{fullEntry(), bare, odd}})
	w.crash()
	w.told(map[uuid.UUID]adapter.Told{runID("task"): fullEntry(), runID("bare"): bare, runID("odd"): wantOdd},
		runID("task"), runID("bare"), runID("odd"), runID("stranger"))
}

func testReplacedEntry(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	w.commit(state.Batch{Told: []adapter.Told{fullEntry()}})
	second := entry("task", adapter.Open)
	w.commit(state.Batch{Told: []adapter.Told{second}})
	w.told(map[uuid.UUID]adapter.Told{second.ID: second}, second.ID)
}

func testManyEntries(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	var batch state.Batch
	var ids []uuid.UUID
	want := map[uuid.UUID]adapter.Told{}
	for i := range 1001 {
		told := entry(fmt.Sprintf("run%d", i), adapter.Open)
		batch.Told, ids, want[told.ID] = append(batch.Told, told), append(ids, told.ID), told
	}
	w.commit(batch)
	w.told(want, ids...)
	w.told(map[uuid.UUID]adapter.Told{}, runID("none of them"))
	w.told(map[uuid.UUID]adapter.Told{})
}

func testSharedNames(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	a, b := fullEntry(), fullEntry()
	b.ID = runID("second task")
	b.Run.Name = "etl.store"
	b.JobFacets = []byte(`{"jobType":{"jobType":"FLOW"}}`)
	w.commit(state.Batch{Told: []adapter.Told{a, b}})
	w.told(map[uuid.UUID]adapter.Told{a.ID: a, b.ID: b}, a.ID, b.ID)
}

func testCursors(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	cursor := func(name, want string) {
		t.Helper()
		got, err := w.store.Cursor(w.ctx(), name)
		w.must(err)
		if string(got) != want {
			t.Errorf("cursor %s is %q, want %q", name, got, want)
		}
	}
	cursor("poll", "")
	w.commit(state.Batch{Cursors: map[string][]byte{"poll": []byte(`{"at":1}`), "backfill-7": []byte(`[]`)}})
	w.commit(state.Batch{Cursors: map[string][]byte{"poll": []byte(`{"at":2}`)}, Events: starts("etl")})
	w.crash()
	cursor("poll", `{"at":2}`)
	cursor("backfill-7", `[]`)
	w.due("one", "etl START")
}

func testWholeBatch(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	bad := event("second", "NONSENSE", "")
	_, err := w.store.Commit(w.ctx(), state.Batch{
		Told: []adapter.Told{entry("first", adapter.Open)}, Events: append(starts("first"), bad),
		Cursors: map[string][]byte{"poll": []byte(`1`)},
	})
	if err == nil {
		t.Fatal("an event of an unknown type was stored")
	}
	w.told(map[uuid.UUID]adapter.Told{}, runID("first"))
	w.due("one")
	w.pending("one", 0, 0)
	if cursor, err := w.store.Cursor(w.ctx(), "poll"); err != nil || cursor != nil {
		t.Errorf("cursor moved to %q, %v", cursor, err)
	}
	if done := w.say(starts("first")...); done.Enqueued != 1 || done.Repeated != 0 {
		t.Errorf("after the failed batch: %+v", done)
	}
}

func testJobs(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	etl := func(run string, phase adapter.Phase, minute int) adapter.Told {
		told := entry(run, phase)
		told.Run.Namespace, told.Run.Name = "prod", "etl"
		told.Start = told.Start.Add(time.Duration(minute) * time.Minute)
		if phase == adapter.Ended {
			told.End = told.Start.Add(30 * time.Second)
		}
		return told
	}
	in := adapter.Edge{Namespace: "postgres://h:5432", Name: "db.public.a"}
	out := adapter.Edge{Namespace: "postgres://h:5432", Name: "db.public.b", Output: true}
	w.commit(state.Batch{
		Told:  []adapter.Told{etl("monday", adapter.Ended, 1), fullEntry()},
		Edges: map[uuid.UUID][]adapter.Edge{runID("monday"): {in, out}},
	})
	w.commit(state.Batch{Told: []adapter.Told{etl("sunday", adapter.Ended, 0)}}) // a backfill of an older run
	got, err := w.store.Jobs(w.ctx(), adapter.RunRef{}, 10)
	w.must(err)
	monday := etl("monday", adapter.Ended, 1)
	task := fullEntry()
	want := []state.Job{
		{Namespace: "prod", Name: "etl", Kind: adapter.FlowRun, LastRun: monday.ID, LastType: adapter.Complete,
			LastTime: monday.End, Datasets: []adapter.Edge{in, out}},
		{Namespace: "prod", Name: "etl.load", Kind: adapter.TaskRun, LastRun: task.ID, LastType: adapter.Fail, LastTime: task.End},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	w.commit(state.Batch{Told: []adapter.Told{etl("tuesday", adapter.Open, 5)}})
	got, err = w.store.Jobs(w.ctx(), adapter.RunRef{}, 1)
	w.must(err)
	if len(got) != 1 || got[0].LastRun != runID("tuesday") || got[0].LastType != adapter.Start {
		t.Errorf("after tuesday's START: %+v", got)
	}
	got, err = w.store.Jobs(w.ctx(), adapter.RunRef{Namespace: "prod", Name: "etl"}, 10)
	w.must(err)
	if len(got) != 1 || got[0].Name != "etl.load" {
		t.Errorf("second page: %+v", got)
	}
}

// testSilent keeps entries of runs that are kept back. They are nobody's last run, since no consumer knows of them, but
// their ends end their tasks.
func testSilent(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	silent, waiting, task := entry("silent", adapter.Ended), entry("waiting", adapter.Unsaid), entry("task", adapter.Open)
	silent.Ruling, waiting.Ruling = 255, 1
	task.Kind, task.FlowRunID, task.Run.Name = adapter.TaskRun, silent.ID, "silent.task"
	w.commit(state.Batch{Told: []adapter.Told{silent, waiting, task}})
	w.crash()
	w.told(map[uuid.UUID]adapter.Told{silent.ID: silent, waiting.ID: waiting, task.ID: task}, silent.ID, waiting.ID, task.ID)
	jobs, err := w.store.Jobs(w.ctx(), adapter.RunRef{}, 10)
	w.must(err)
	if len(jobs) != 1 || jobs[0].Name != "silent.task" {
		t.Errorf("jobs are %+v", jobs)
	}
	orphans, err := w.store.OpenTasksOfEndedFlows(w.ctx(), silent.End, 10)
	w.must(err)
	if len(orphans) != 1 || orphans[0].Task.ID != task.ID || orphans[0].Flow.Ruling != silent.Ruling {
		t.Errorf("orphans are %+v", orphans)
	}
}
