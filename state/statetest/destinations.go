package statetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/state"
)

var destinationTests = map[string]func(t *testing.T, rig Rig){
	"a new one starts now":              testNewDestination,
	"one that left waits":               testGoneDestination,
	"parked and resumed":                testParked,
	"parked survives a restart":         testParkedRestart,
	"an operator's parking outlasts":    testParkedAndGone,
	"settlements of a parked one count": testParkedSettle,
	"registering again changes nothing": testRegisterAgain,
	"troubles are noted":                testTroubles,
}

func testNewDestination(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("old")...)
	w.say(starts("a")...)
	w.register(dests("old", "new")...)
	w.due("new")
	w.say(starts("b")...)
	w.due("old", "a START", "b START")
	w.due("new", "b START")
}

func testGoneDestination(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("stays", "leaves")...)
	w.say(starts("a")...)
	w.restart()
	w.register(dests("stays")...)
	if d := w.status("leaves"); !d.Parked || !d.Gone || d.Pending != 1 || !d.ParkedSince.IsZero() {
		t.Errorf("gone: %+v", d)
	}
	w.due("leaves")
	w.say(starts("b")...)
	w.pending("leaves", 1, 0)
	w.restart()
	w.register(dests("stays", "leaves")...)
	if d := w.status("leaves"); d.Parked || d.Gone {
		t.Errorf("back: %+v", d)
	}
	w.due("leaves", "a START")
	w.due("stays", "a START", "b START")
}

func testParked(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(starts("a")...)
	parked := w.clock.Now()
	w.must(w.store.Park(w.ctx(), "one"))
	w.clock.Move(time.Hour)
	w.must(w.store.Park(w.ctx(), "one")) // the first time counts
	if d := w.status("one"); !d.Parked || d.Gone || !d.ParkedSince.Equal(parked) {
		t.Errorf("parked: %+v", d)
	}
	w.say(starts("b")...)
	w.due("one")
	w.due("two", "a START", "b START")
	since, err := w.store.Resume(w.ctx(), "one")
	w.must(err)
	if !since.Equal(parked) {
		t.Errorf("parked since %s, want %s", since, parked)
	}
	w.say(starts("c")...)
	w.due("one", "a START", "c START")
	if since, err = w.store.Resume(w.ctx(), "one"); err != nil || !since.IsZero() {
		t.Errorf("resuming what runs: %s, %v", since, err)
	}
}

func testParkedRestart(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a")...)
	w.must(w.store.Park(w.ctx(), "one"))
	w.restart()
	w.register(dests("one")...)
	w.due("one")
	if !w.status("one").Parked {
		t.Error("not parked any more")
	}
}

func testParkedAndGone(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.must(w.store.Park(w.ctx(), "one"))
	w.register()
	_, err := w.store.Resume(w.ctx(), "one")
	w.must(err)
	if d := w.status("one"); !d.Parked || !d.Gone {
		t.Errorf("resumed, but not in the settings: %+v", d)
	}
}

func testParkedSettle(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(story("a", "")...)
	seq := w.claim("one")[0].Seq
	w.must(w.store.Park(w.ctx(), "one"))
	w.must(w.store.Settle(w.ctx(), "one", []state.Settlement{{Seq: seq}}))
	w.pending("one", 1, 0)
}

func testRegisterAgain(t *testing.T, rig Rig) {
	w := newWorld(t, rig, chain("one", "two")...)
	w.say(story("a", "")...)
	w.deliver("one", "a START")
	before, err := w.store.Status(w.ctx())
	w.must(err)
	w.register(chain("one", "two")...)
	after, err := w.store.Status(w.ctx())
	w.must(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	w.due("one", "a COMPLETE")
	w.due("two", "a START")
}

func testTroubles(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	held := state.Trouble{Destination: "one", State: "held", Reason: "status-401", Since: w.clock.Now()}
	down := state.Trouble{Destination: "two", State: "down", Reason: "timeout", Since: w.clock.Now().Add(time.Minute)}
	w.must(w.store.SetTroubles(w.ctx(), []state.Trouble{held, down, {Destination: "nobody", State: "down"}}))
	w.restart() // a command may look at the store of a daemon that is gone
	if diff := cmp.Diff([]state.Trouble{held, down}, []state.Trouble{w.status("one").Trouble, w.status("two").Trouble}); diff != "" {
		t.Errorf("troubles (-want +got):\n%s", diff)
	}
	w.must(w.store.SetTroubles(w.ctx(), []state.Trouble{down}))
	if diff := cmp.Diff([]state.Trouble{{}, down}, []state.Trouble{w.status("one").Trouble, w.status("two").Trouble}); diff != "" {
		t.Errorf("after one is over (-want +got):\n%s", diff)
	}
}
