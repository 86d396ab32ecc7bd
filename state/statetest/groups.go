package statetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var groupTests = map[string]func(t *testing.T, rig Rig){
	"a replay goes before in a group formed since": testReplayInLaterGroup,
	"one after the other":                          testChain,
	"a dead letter skips the rest":                 testChainDead,
	"a skipped event skips the rest":               testChainSkipped,
	"a replay brings the skipped ones back":        testChainReplay,
	"a drop forgets the skipped ones":              testChainDrop,
	"a replay keeps the later member's order":      testChainReplayOrder,
	"who never gets an event holds nobody":         testChainAbsent,
	"a group that is dissolved frees its members":  testChainDissolved,
	"a group that is formed holds its members":     testChainFormed,
	"a group that is turned round":                 testChainTurned,
	"a group that can't be":                        testChainImpossible,
}

func testChain(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two", "three")...)
	w.say(story("a", "")...)
	w.due("two")
	w.settle("one", state.Again, "a START")
	w.due("two")
	w.clock.Move(1e12)
	w.deliver("one", "a START")
	w.due("two", "a START")
	w.due("three")
	w.crash()
	w.deliver("two", "a START")
	w.due("three", "a START")
	w.deliver("one", "a COMPLETE")
	w.deliver("two", "a COMPLETE")
	w.due("three", "a START")
	if got := w.status("three").After; got != "two" {
		t.Errorf("three comes after %q", got)
	}
	w.drain("three")
	w.stored(0)
}

func testChainDead(t *testing.T, rig Rig) {
	w := newWorld(t, rig, append(chain("one", "two", "three"), dests("free")...)...)
	w.say(append(story("flow", ""), event("task", adapter.Start, "flow"))...)
	w.settle("one", state.Dead, "flow START")
	w.pending("one", 2, 1)
	w.pending("two", 2, 0)
	w.pending("three", 2, 0)
	w.pending("free", 3, 0)
	w.drain("one")
	w.due("two", "flow COMPLETE", "task START")
	w.drain("two")
	if diff := cmp.Diff([]string{"flow COMPLETE", "task START"}, w.drain("three")); diff != "" {
		t.Error(diff)
	}
	w.drain("free")
	w.stored(2) // the dead letter, and the COMPLETE that its replay needs
}

func testChainSkipped(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two", "three")...)
	w.say(starts("a")...)
	w.settle("one", state.Skipped, "a START")
	for _, name := range []string{"one", "two", "three"} {
		w.pending(name, 0, 0)
	}
	w.stored(0)
}

func testChainReplay(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two", "three")...)
	w.say(starts("a")...)
	w.settle("one", state.Dead, "a START")
	if n := w.replay("one"); n != 3 {
		t.Errorf("a replay made %d deliveries, want 3", n)
	}
	w.due("two")
	w.deliver("one", "a START")
	w.deliver("two", "a START")
	w.settle("three", state.Dead, "a START")
	w.pending("three", 0, 1)
	w.stored(1)
	w.replay("three")
	w.deliver("three", "a START")
	w.stored(0)
}

func testChainDrop(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two", "three")...)
	w.say(story("a", "")...)
	w.settle("one", state.Dead, "a START")
	w.drain("one")
	w.drain("two")
	w.drain("three")
	w.stored(2)
	n, err := w.store.Drop(w.ctx(), []int64{w.letters(state.DeadFilter{})[0].ID})
	w.must(err)
	if n != 1 {
		t.Errorf("dropped %d", n)
	}
	w.stored(0)
}

// testChainReplayOrder has a run's START come back at the second member after its COMPLETE was delivered there: the
// COMPLETE follows again, for the last word that the consumer hears must be the run's last.
func testChainReplayOrder(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two")...)
	w.say(story("a", "")...)
	w.settle("one", state.Dead, "a START")
	w.drain("one")
	w.drain("two")
	w.replay("one")
	if diff := cmp.Diff([]string{"a START", "a COMPLETE"}, w.drain("one")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a START", "a COMPLETE"}, w.drain("two")); diff != "" {
		t.Error(diff)
	}
	w.stored(0)
}

func testChainAbsent(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two")...)
	w.commit(state.Batch{Events: starts("a"), Destinations: []string{"two"}})
	w.due("two", "a START")
	w.must(w.store.Park(w.ctx(), "one"))
	w.say(starts("b")...)
	w.due("two", "a START", "b START")
}

func testChainDissolved(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two")...)
	w.say(append(story("a", ""), event("b", adapter.Start, "a"))...)
	w.due("two")
	w.register(dests("one", "two")...)
	w.due("two", "a START")
	if got := w.status("two").After; got != "" {
		t.Errorf("two comes after %q", got)
	}
}

func testChainFormed(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(starts("a", "b")...)
	w.deliver("one", "b START")
	w.due("two", "a START", "b START")
	w.register(chain("one", "two")...)
	w.due("two", "b START")
	w.deliver("one", "a START")
	w.due("two", "a START", "b START")
}

func testChainTurned(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two")...)
	w.register(chain("two", "one")...)
	w.say(starts("a")...)
	w.due("one")
	w.deliver("two", "a START")
	w.due("one", "a START")
}

func testChainImpossible(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	for name, list := range map[string][]state.Destination{
		"after itself":     {{Name: "a", After: "a"}},
		"in a circle":      {{Name: "a", After: "b"}, {Name: "b", After: "a"}},
		"after a stranger": {{Name: "a", After: "nobody"}},
		"named twice":      dests("a", "a"),
		"without a name":   dests(""),
	} {
		if err := w.store.Register(w.ctx(), list); err == nil {
			t.Errorf("%s: registered", name)
		}
	}
	if w.status("one").Parked {
		t.Error("a list that was refused changed the destinations")
	}
}

// testReplayInLaterGroup has a dead letter at a destination that another one is put behind while it still waits for its turn.
func testReplayInLaterGroup(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(starts("etl")...)
	w.settle("one", state.Dead, "etl START")
	w.register(chain("one", "two")...)
	w.due("two", "etl START")
	w.replay("one")
	w.due("two")
	w.deliver("one", "etl START")
	w.due("two", "etl START")
}
