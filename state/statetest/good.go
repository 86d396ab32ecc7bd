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

var goodTests = map[string]func(t *testing.T, rig Rig){
	"the last run that named datasets counts": testGoodEdges,
	"an older run told later does not count":  testGoodOrder,
	"facets come back, and all survives":      testGoodFacets,
	"a failed run's datasets change nothing":  testGoodBesideFailed,
	"too many are not kept":                   testGoodBound,
	"they go when they are old":               testGoodPurge,
	"nothing of a batch that fails":           testGoodWhole,
}

// goodRun is a batch in which a run of the job etl ended with datasets, some minutes after noon.
func goodRun(name string, minute int, end adapter.EventType, edges ...adapter.Edge) state.Batch {
	told := entry(name, adapter.Ended)
	told.Run.Name, told.EndType = "etl", end
	told.End = told.End.Add(time.Duration(minute) * time.Minute)
	return state.Batch{Told: []adapter.Told{told}, Edges: map[uuid.UUID][]adapter.Edge{told.ID: edges}}
}

func outputs(names ...string) []adapter.Edge {
	var edges []adapter.Edge
	for _, name := range names {
		edges = append(edges, adapter.Edge{Namespace: "file", Name: name, Output: true})
	}
	return edges
}

// good checks the datasets of the job's last good run.
func (w *world) good(want ...adapter.Edge) {
	w.Helper()
	got, err := w.store.LastGoodEdges(w.ctx(), adapter.RunRef{Namespace: "test", Name: "etl"})
	w.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("datasets of the last good run (-want +got):\n%s", diff)
	}
}

func testGoodEdges(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	w.good()
	w.commit(goodRun("first", 1, adapter.Complete, outputs("a", "b")...))
	w.good(outputs("a", "b")...)
	w.commit(goodRun("second", 2, adapter.Complete, outputs("b", "c")...))
	w.good(outputs("b", "c")...)
	w.commit(goodRun("third", 3, adapter.Fail))
	w.good(outputs("b", "c")...)
	w.commit(goodRun("fourth", 4, adapter.Complete)) // it named none; the last that did counts
	w.good(outputs("b", "c")...)
}

func testGoodOrder(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	w.commit(goodRun("monday", 20, adapter.Complete, outputs("new")...))
	w.commit(goodRun("sunday", 10, adapter.Complete, outputs("old")...)) // of a backfill
	w.good(outputs("new")...)
	w.commit(goodRun("tuesday", 30, adapter.Complete, outputs("newest")...))
	w.good(outputs("newest")...)
	w.commit(goodRun("tuesday", 31, adapter.Complete, outputs("more", "newest")...)) // it said more
	w.good(outputs("more", "newest")...)
}

func testGoodFacets(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	edges := []adapter.Edge{
		{Namespace: "file", Name: "both", Facets: `{"schema":{"fields":[]}}`},
		{Namespace: "file", Name: "both", Output: true, Facets: `{"schema":{"fields":[]}}`},
		{Namespace: "file", Name: "plain", Output: true},
	}
	w.commit(goodRun("first", 1, adapter.Complete, edges...))
	w.crash()
	w.good(edges...)
}

func testGoodBesideFailed(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	w.commit(goodRun("good", 1, adapter.Complete, outputs("a", "b")...))
	w.commit(goodRun("bad", 2, adapter.Fail, outputs("a")...))
	w.good(outputs("a", "b")...)
}

func testGoodBound(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	var many []string
	for i := range state.MaxGoodEdges + 1 {
		many = append(many, fmt.Sprintf("t%05d", i))
	}
	w.commit(goodRun("before", 1, adapter.Complete, outputs("a")...))
	w.commit(goodRun("most", 2, adapter.Complete, outputs(many[1:]...)...))
	w.good(outputs(many[1:]...)...)
	w.commit(goodRun("too many", 3, adapter.Complete, outputs(many...)...))
	w.good()
	w.commit(goodRun("before too", 2, adapter.Complete, outputs("a")...))
	w.good()
}

func testGoodPurge(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	edges := []adapter.Edge{{Namespace: "file", Name: "a", Output: true, Facets: `{"schema":{}}`}}
	w.commit(goodRun("first", 1, adapter.Complete, edges...))
	w.clock.Move(time.Hour)
	w.commit(goodRun("bad", 2, adapter.Fail, outputs("b")...)) // the job is known, the good run has aged
	w.purge(w.clock.Now().Add(-time.Hour))
	w.good(edges...)
	w.purge(w.clock.Now())
	w.good()
	w.commit(goodRun("older", 0, adapter.Complete, edges...)) // nothing newer is known any more
	w.good(edges...)
	w.purge(w.clock.Now()) // it was stored just now
	w.good(edges...)
}

func testGoodWhole(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.commit(goodRun("first", 1, adapter.Complete, outputs("a")...))
	batch := goodRun("second", 2, adapter.Complete, outputs("b")...)
	batch.Events = []adapter.Event{event("second", "NONSENSE", "")}
	if _, err := w.store.Commit(w.ctx(), batch); err == nil {
		t.Fatal("an event of an unknown type was stored")
	}
	w.good(outputs("a")...)
}
