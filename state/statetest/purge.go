package statetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var purgeTests = map[string]func(t *testing.T, rig Rig){
	"ended runs and their keys go":            testPurge,
	"what is in the outbox stays":             testPurgeOutbox,
	"keys without an entry go with their age": testPurgeKeys,
	"an end that was told again counts anew":  testPurgeTouched,
	"the listener's clock alone decides not":  testPurgeByBothClocks,
	"names that an open run uses stay":        testPurgeNames,
	"a lot takes several calls":               testPurgeMany,
}

// purge calls until there is nothing more and returns how many entries went.
func (w *world) purge(before time.Time) int {
	w.Helper()
	total := 0
	for range 1000 {
		done, err := w.store.Purge(w.ctx(), before)
		w.must(err)
		if total += done.Runs; !done.More {
			return total
		}
	}
	w.Fatal("a purge does not end")
	return 0
}

// known checks which of these runs the ledger has.
func (w *world) known(want ...string) {
	w.Helper()
	var ids []uuid.UUID
	for _, run := range []string{"open", "ended", "quiet", "later"} {
		ids = append(ids, runID(run))
	}
	got, err := w.store.Told(w.ctx(), ids)
	w.must(err)
	if len(got) != len(want) {
		w.Errorf("the ledger has %d of the runs, want %q", len(got), want)
	}
	for _, run := range want {
		if _, ok := got[runID(run)]; !ok {
			w.Errorf("the ledger has no %s", run)
		}
	}
}

func testPurge(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.commit(state.Batch{
		Told:   []adapter.Told{entry("open", adapter.Open), entry("ended", adapter.Ended), entry("quiet", adapter.Unsaid)},
		Events: append(story("ended", ""), starts("open")...),
	})
	w.drain("one")
	w.clock.Move(time.Hour)
	w.commit(state.Batch{Told: []adapter.Told{entry("later", adapter.Ended)}})
	if n := w.purge(w.clock.Now().Add(-time.Hour)); n != 0 {
		t.Errorf("%d went too early", n)
	}
	w.known("open", "ended", "quiet", "later")
	if n := w.purge(w.clock.Now()); n != 2 {
		t.Errorf("%d went, want 2", n)
	}
	w.known("open", "later")
	if done := w.say(starts("open")...); done.Repeated != 1 {
		t.Errorf("the open run's key went: %+v", done)
	}
	if done := w.say(starts("ended")...); done.Enqueued != 1 {
		t.Errorf("the ended run's key stayed: %+v", done)
	}
}

func testPurgeOutbox(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.commit(state.Batch{
		Told:   []adapter.Told{entry("ended", adapter.Ended), entry("quiet", adapter.Ended)},
		Events: append(story("ended", ""), event("child", adapter.Start, "quiet")),
	})
	w.settle("one", state.Dead, "ended START")
	w.clock.Move(time.Hour)
	w.purge(w.clock.Now())
	w.known()
	w.due("one", "ended COMPLETE", "child START")
	w.pending("one", 2, 1)
	if claimed := w.claim("one"); claimed[1].Event.Ancestor != runID("quiet") {
		t.Errorf("the child forgot its ancestor: %+v", claimed[1].Event)
	}
	if done := w.say(story("ended", "")...); done.Repeated != 2 {
		t.Errorf("keys of the outbox went: %+v", done)
	}
	w.replay("one")
	w.drain("one")
	w.stored(0)
	w.purge(w.clock.Now())
	if done := w.say(story("ended", "")...); done.Enqueued != 2 {
		t.Errorf("keys stayed when the outbox was empty: %+v", done)
	}
}

func testPurgeKeys(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a")...)
	w.clock.Move(time.Hour)
	w.say(starts("b")...)
	w.drain("one")
	w.purge(w.clock.Now())
	if done := w.say(starts("a", "b")...); done.Enqueued != 1 || done.Repeated != 1 {
		t.Errorf("of two keys one is old: %+v", done)
	}
}

func testPurgeTouched(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	w.commit(state.Batch{Told: []adapter.Told{entry("ended", adapter.Ended), entry("later", adapter.Ended)}})
	w.clock.Move(time.Hour)
	changed := entry("later", adapter.Ended)
	changed.End = changed.End.Add(time.Second)
	w.commit(state.Batch{Told: []adapter.Told{entry("ended", adapter.Ended), changed}})
	w.purge(w.clock.Now())
	w.known("later")
}

// The run ended lately by Prefect's clock, though the listener wrote it down long ago by its own, which was wrong.
func testPurgeByBothClocks(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	late := entry("later", adapter.Ended)
	late.End = w.clock.Now().Add(365 * 24 * time.Hour)
	w.commit(state.Batch{Told: []adapter.Told{late, entry("ended", adapter.Ended)}, Events: starts("later", "ended")})
	w.drain("one")
	w.purge(late.End)
	w.known("later")
	if done := w.say(starts("later", "ended")...); done.Repeated != 1 {
		t.Errorf("the key of the run that ended lately went, or the other one's stayed: %+v", done)
	}
	w.drain("one")
	w.purge(late.End.Add(time.Nanosecond))
	w.known()
}

func testPurgeNames(t *testing.T, rig Rig) {
	w := newWorld(t, rig)
	full := fullEntry()
	full.Phase = adapter.Open
	ended := entry("ended", adapter.Ended)
	w.commit(state.Batch{
		Told:  []adapter.Told{full, ended},
		Edges: map[uuid.UUID][]adapter.Edge{ended.ID: {{Namespace: "file", Name: "a"}}},
	})
	w.clock.Move(time.Hour)
	w.purge(w.clock.Now())
	w.told(map[uuid.UUID]adapter.Told{full.ID: full}, full.ID)
	jobs, err := w.store.Jobs(w.ctx(), adapter.RunRef{}, 10)
	w.must(err)
	if len(jobs) != 1 || jobs[0].Name != full.Run.Name {
		t.Errorf("jobs: %+v", jobs)
	}
}

func testPurgeMany(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	var batch state.Batch
	for i := range 1200 {
		run := fmt.Sprint("run", i)
		batch.Told = append(batch.Told, entry(run, adapter.Ended))
		batch.Events = append(batch.Events, starts(run)...)
	}
	batch.Destinations = []string{}
	w.commit(batch)
	w.clock.Move(time.Hour)
	done, err := w.store.Purge(w.ctx(), w.clock.Now())
	w.must(err)
	if !done.More || done.Runs == 0 || done.Runs == 1200 {
		t.Errorf("one call did %+v", done)
	}
	if n := done.Runs + w.purge(w.clock.Now()); n != 1200 {
		t.Errorf("%d entries went, want 1200", n)
	}
	batch.Told = nil
	if again := w.commit(batch); again.Enqueued != 1200 {
		t.Errorf("keys stayed: %+v", again)
	}
}
