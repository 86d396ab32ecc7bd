package statetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var attemptTests = map[string]func(t *testing.T, rig Rig){
	"attempts are counted and the last reason kept": testAttempts,
	"due at its time and not before":                testDue,
	"a due time too far ahead counts as reached":    testFarDue,
	"many settlements are one transaction":          testSettleMany,
	"the last success is remembered":                testLastDelivered,
	"the oldest pending event":                      testOldestPending,
}

func testAttempts(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a")...)
	for n := range 3 {
		due := w.claim("one")
		if len(due) != 1 || due[0].Attempts != n || (n > 0) != (due[0].LastReason == "status-503") {
			t.Fatalf("attempt %d: %+v", n, due)
		}
		w.settle("one", state.Again, "a START")
		w.clock.Move(time.Minute)
	}
	w.restart()
	if due := w.claim("one"); due[0].Attempts != 3 || due[0].LastReason != "status-503" {
		t.Errorf("after a restart: %+v", due[0])
	}
	w.pending("one", 1, 0)
}

func testDue(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(starts("a")...)
	w.settle("one", state.Again, "a START")
	w.clock.Move(time.Minute - time.Nanosecond)
	w.due("one")
	w.due("two", "a START") // another destination's trouble
	w.clock.Move(time.Nanosecond)
	w.due("one", "a START")
	w.must(w.store.Settle(w.ctx(), "one", []state.Settlement{{Seq: w.claim("one")[0].Seq, Verdict: state.Again}}))
	w.due("one", "a START") // no due time: at once
}

func testFarDue(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a")...)
	again := func(wait time.Duration) {
		t.Helper()
		w.must(w.store.Settle(w.ctx(), "one", []state.Settlement{
			{Seq: w.claim("one")[0].Seq, Verdict: state.Again, Due: w.clock.Now().Add(wait)}}))
	}
	again(15 * time.Minute)
	w.due("one")
	w.clock.Move(-time.Minute)
	w.due("one", "a START")
	w.clock.Move(-24 * time.Hour)
	w.due("one", "a START")
	again(15 * time.Minute)
	w.due("one")
}

func testSettleMany(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(append(story("a", ""), starts("b", "c", "d")...)...)
	due := w.claim("one")
	bad := []state.Settlement{w.settlement(due[0].Seq, state.Delivered), {Seq: due[1].Seq, Verdict: 99}}
	if err := w.store.Settle(w.ctx(), "one", bad); err == nil {
		t.Error("an unknown verdict passed")
	}
	w.pending("one", 5, 0)
	w.due("one", "a START", "b START", "c START", "d START")
	w.must(w.store.Settle(w.ctx(), "one", []state.Settlement{
		w.settlement(due[0].Seq, state.Delivered), w.settlement(due[1].Seq, state.Again),
		w.settlement(due[2].Seq, state.Dead), w.settlement(due[3].Seq, state.Skipped),
	}))
	w.pending("one", 2, 1)
	w.due("one", "a COMPLETE")
	w.crash()
	w.pending("one", 2, 1)
	w.due("one", "a COMPLETE")
}

func testLastDelivered(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(starts("a")...)
	w.clock.Move(time.Hour)
	w.deliver("one", "a START")
	if got := w.status("one").LastDelivered; !got.Equal(w.clock.Now()) {
		t.Errorf("last delivered %s", got)
	}
	if got := w.status("two").LastDelivered; !got.IsZero() {
		t.Errorf("two last delivered %s", got)
	}
}

func testOldestPending(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	first := w.clock.Now()
	w.say(story("a", "")...)
	w.clock.Move(time.Hour)
	w.say(event("b", adapter.Start, "a"))
	w.settle("one", state.Again, "a START")
	w.drain("two")
	got := []time.Time{w.status("one").OldestPending, w.status("two").OldestPending}
	if diff := cmp.Diff([]time.Time{first, {}}, got); diff != "" {
		t.Errorf("oldest pending (-want +got):\n%s", diff)
	}
}
