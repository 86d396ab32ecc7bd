package statetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var orderTests = map[string]func(t *testing.T, rig Rig){
	"a run's events go one by one":                 testLane,
	"a child waits for its ancestor's first event": testAncestor,
	"a parent's end waits for nobody":              testParentEnd,
	"an ancestor that is not in the outbox":        testAbsentAncestor,
	"a dead letter counts as settled":              testDeadIsSettled,
	"a backing-off run holds only itself":          testBackingOffRun,
	"a backing-off ancestor holds its children":    testBackingOffAncestor,
	"an ancestor's first event that comes later":   testLateAncestor,
	"a run that names itself as its ancestor":      testOwnAncestor,
	"a settlement that is late changes nothing":    testLateSettlement,
	"three generations":                            testGenerations,
	"order holds for each destination on its own":  testOrderPerDestination,
}

func testLane(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(event("a", adapter.Start, ""), event("a", adapter.Running, ""), event("b", adapter.Start, ""), event("a", adapter.Complete, ""))
	w.due("one", "a START", "b START")
	w.due("one", "a START", "b START") // claiming changes nothing
	w.deliver("one", "a START")
	w.due("one", "a RUNNING", "b START")
	w.deliver("one", "a RUNNING")
	w.crash()
	w.due("one", "b START", "a COMPLETE")
}

func testAncestor(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(story("flow", "")...)
	w.say(append(story("t1", "flow"), story("t2", "flow")...)...)
	w.due("one", "flow START")
	w.deliver("one", "flow START")
	w.due("one", "flow COMPLETE", "t1 START", "t2 START")
	w.deliver("one", "t1 START")
	w.due("one", "flow COMPLETE", "t1 COMPLETE", "t2 START")
}

func testParentEnd(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(append(append(starts("flow"), starts("other")...), story("task", "flow")...)...)
	w.say(event("flow", adapter.Complete, ""))
	w.deliver("one", "flow START", "other START")
	w.due("one", "task START", "flow COMPLETE")
	w.deliver("one", "flow COMPLETE")
	w.due("one", "task START")
}

func testAbsentAncestor(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("known")...)
	w.deliver("one", "known START")
	w.say(event("a", adapter.Start, "stranger"), event("b", adapter.Start, "known"))
	w.due("one", "a START", "b START")
}

func testDeadIsSettled(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(append(story("flow", ""), story("task", "flow")...)...)
	w.settle("one", state.Dead, "flow START")
	w.due("one", "flow COMPLETE", "task START")
	w.settle("one", state.Skipped, "task START")
	w.due("one", "flow COMPLETE", "task COMPLETE")
	w.pending("one", 2, 1)
}

func testBackingOffRun(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(append(story("a", ""), starts("b")...)...)
	w.settle("one", state.Again, "a START")
	w.due("one", "b START")
	w.clock.Move(time.Minute)
	w.due("one", "a START", "b START")
	w.deliver("one", "a START")
	w.due("one", "a COMPLETE", "b START")
}

func testBackingOffAncestor(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(append(starts("flow", "free"), event("task", adapter.Start, "flow"))...)
	w.settle("one", state.Again, "flow START")
	w.due("one", "free START")
	w.clock.Move(time.Minute)
	w.due("one", "flow START", "free START")
	w.deliver("one", "flow START")
	w.due("one", "free START", "task START")
}

// testLateAncestor resends a flow's START while an event of its task is ready: the task waits for it, as everywhere.
func testLateAncestor(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("flow")...)
	w.deliver("one", "flow START")
	w.say(event("task", adapter.Start, "flow"), event("other", adapter.Start, ""))
	w.due("one", "task START", "other START")
	w.commit(state.Batch{Events: starts("flow"), Resend: true})
	w.due("one", "other START", "flow START")
	w.deliver("one", "flow START")
	w.due("one", "task START", "other START")
}

func testOwnAncestor(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(story("a", "a")...)
	if diff := cmp.Diff([]string{"a START", "a COMPLETE"}, w.drain("one")); diff != "" {
		t.Error(diff)
	}
}

func testLateSettlement(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(story("a", "")...)
	seq := w.claim("one")[0].Seq
	w.settle("one", state.Dead, "a START")
	for _, verdict := range []state.Verdict{state.Delivered, state.Again, state.Dead, state.Skipped} {
		w.must(w.store.Settle(w.ctx(), "one", []state.Settlement{w.settlement(seq, verdict), w.settlement(4711, verdict)}))
	}
	w.pending("one", 1, 1)
	w.due("one", "a COMPLETE")
}

func testGenerations(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	// The youngest first: order comes from the store, not from luck.
	w.say(event("child", adapter.Start, "parent"), event("parent", adapter.Start, "root"), event("root", adapter.Start, ""))
	w.due("one", "root START")
	w.deliver("one", "root START")
	w.due("one", "parent START")
	w.deliver("one", "parent START")
	w.due("one", "child START")
}

func testOrderPerDestination(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(append(starts("flow"), event("task", adapter.Start, "flow"))...)
	w.deliver("one", "flow START")
	w.due("one", "task START")
	w.due("two", "flow START")
	w.deliver("one", "task START")
	w.due("two", "flow START")
	w.deliver("two", "flow START")
	w.due("two", "task START")
}
