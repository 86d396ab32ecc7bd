package statetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var outboxTests = map[string]func(t *testing.T, rig Rig){
	"an event comes back as it was":              testEventComesBack,
	"bodies come back byte for byte":             testBodies,
	"each destination has its own position":      testOwnPositions,
	"a body goes when nobody needs it":           testBodyGoes,
	"a repeat is left out":                       testRepeats,
	"resend":                                     testResend,
	"named destinations get what they never got": testNamedDestinations,
	"an unknown destination is an error":         testUnknownDestination,
	"limits":                                     testLimits,
	"busy runs are passed over":                  testBusy,
	"one claim holds so many bytes":              testClaimBytes,
	"the last place of a batch":                  testLastSeq,
}

func testEventComesBack(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	e := event("task", adapter.Running, "flow")
	e.Job.RunID = runID("another id")
	e.First = true
	w.say(e)
	w.crash()
	got := w.claim("one")
	want := []state.Delivery{{Seq: 1, Event: e, Enqueued: w.clock.Now()}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delivery (-want +got):\n%s", diff)
	}
}

func testBodies(t *testing.T, rig Rig) {
	random := make([]byte, 5000)
	_, _ = rand.Read(random)
	for name, body := range map[string][]byte{
		"empty": {}, "short": []byte(`{}`), "text": bytes.Repeat([]byte(`{"name":"value"},`), 500),
		"random": random, "zeros": make([]byte, 1000), "large": bytes.Repeat(random, 400),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, rig, dests("one")...)
			e := event("etl", adapter.Start, "")
			e.Body = body
			w.say(e)
			if got := w.claim("one"); len(got) != 1 || !bytes.Equal(got[0].Event.Body, body) {
				t.Error("the body is another")
			}
			w.deliver("one", "etl START")
			w.stored(0)
		})
	}
}

func testOwnPositions(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("fast", "slow")...)
	if done := w.say(starts("a", "b", "c")...); done.Enqueued != 3 || done.Repeated != 0 {
		t.Errorf("committed %+v", done)
	}
	w.deliver("fast", "a START", "b START")
	w.due("fast", "c START")
	w.due("slow", "a START", "b START", "c START")
	w.pending("fast", 1, 0)
	w.pending("slow", 3, 0)
	w.restart()
	w.due("fast", "c START")
	w.pending("slow", 3, 0)
}

func testBodyGoes(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(starts("a", "b")...)
	w.stored(2)
	w.deliver("one", "a START", "b START")
	w.stored(2)
	w.deliver("two", "b START")
	w.stored(1)
	w.settle("two", state.Dead, "a START")
	w.stored(1)
	if _, err := w.store.Drop(w.ctx(), []int64{w.letters(state.DeadFilter{})[0].ID}); err != nil {
		t.Fatal(err)
	}
	w.stored(0)
}

func testRepeats(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	again := func(events []adapter.Event, enqueued, repeated int) {
		t.Helper()
		if done := w.say(events...); done.Enqueued != enqueued || done.Repeated != repeated {
			t.Errorf("committed %+v, want %d enqueued and %d repeated", done, enqueued, repeated)
		}
	}
	again(append(starts("a"), starts("a")...), 1, 1) // within a batch
	again(starts("a"), 0, 1)                         // while pending
	w.deliver("one", "a START")
	again(starts("a"), 0, 1) // after delivery
	w.restart()
	again(starts("a"), 0, 1)
	later := starts("a")
	later[0].Time = later[0].Time.Add(time.Microsecond)
	again(later, 1, 0)                                             // another time is another event
	again([]adapter.Event{event("a", adapter.Complete, "")}, 1, 0) // and so is another type
	zone := event("a", adapter.Complete, "")
	zone.Time = zone.Time.In(time.FixedZone("there", 3600))
	again([]adapter.Event{zone}, 0, 1) // but the same moment elsewhere is not
	w.settle("one", state.Dead, "a START")
	again(later, 0, 1) // nor is a dead letter said anew
}

func testResend(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(story("a", "")...)
	w.deliver("one", "a START")
	w.deliver("one", "a COMPLETE")
	// At one both were delivered, at two both are pending still.
	done := w.commit(state.Batch{Events: story("a", ""), Resend: true})
	if done.Enqueued != 2 || done.Repeated != 0 {
		t.Errorf("committed %+v", done)
	}
	w.pending("one", 2, 0)
	w.pending("two", 2, 0)
	if diff := cmp.Diff([]string{"a START", "a COMPLETE"}, w.drain("one")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a START", "a COMPLETE"}, w.drain("two")); diff != "" {
		t.Error(diff)
	}
	w.stored(0)
	w.commit(state.Batch{Events: story("a", ""), Resend: true, Destinations: []string{"two"}})
	w.due("one")
	w.due("two", "a START")
	if done := w.commit(state.Batch{Events: story("a", ""), Resend: true, Destinations: []string{"two"}}); done.Repeated != 2 {
		t.Errorf("a resend of what is pending: %+v", done)
	}
}

func testNamedDestinations(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("old")...)
	w.say(starts("a")...)
	w.deliver("old", "a START")
	w.register(dests("old", "new")...)
	if done := w.say(starts("a")...); done.Repeated != 1 {
		t.Errorf("a live repeat: %+v", done) // a new destination starts now
	}
	w.due("new")
	for _, want := range []state.Committed{{Enqueued: 1, LastSeq: 2}, {Repeated: 1}} {
		done := w.commit(state.Batch{Events: starts("a"), Destinations: []string{"old", "new"}})
		if diff := cmp.Diff(want, done); diff != "" {
			t.Error(diff)
		}
	}
	w.due("old")
	w.due("new", "a START")
	w.must(w.store.Park(w.ctx(), "new"))
	if done := w.commit(state.Batch{Events: starts("b"), Destinations: []string{"new"}}); done.Enqueued != 1 {
		t.Errorf("for a parked destination that is named: %+v", done)
	}
	w.pending("new", 2, 0)
	if done := w.commit(state.Batch{Events: starts("c"), Destinations: []string{}}); done.Enqueued != 1 {
		t.Errorf("for no destination: %+v", done)
	}
	w.pending("old", 0, 0)
}

func testUnknownDestination(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	_, err := w.store.Commit(w.ctx(), state.Batch{Events: starts("a"), Destinations: []string{"one", "nowhere"}})
	if !errors.Is(err, state.ErrUnknown) {
		t.Errorf("commit: %v", err)
	}
	if _, err := w.store.Claim(w.ctx(), "nowhere", w.clock.Now(), 1, nil); !errors.Is(err, state.ErrUnknown) {
		t.Errorf("claim: %v", err)
	}
	if err := w.store.Settle(w.ctx(), "nowhere", []state.Settlement{{Seq: 1}}); !errors.Is(err, state.ErrUnknown) {
		t.Errorf("settle: %v", err)
	}
	if err := w.store.Park(w.ctx(), "nowhere"); !errors.Is(err, state.ErrUnknown) {
		t.Errorf("park: %v", err)
	}
	w.due("one")
}

func testLimits(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a", "b", "c", "d")...)
	w.settle("one", state.Again, "a START")
	w.clock.Move(time.Minute)
	for limit, want := range [][]string{{}, {"a START"}, {"a START", "b START"}} {
		due, err := w.store.Claim(w.ctx(), "one", w.clock.Now(), limit, nil)
		w.must(err)
		if diff := cmp.Diff(want, names(due)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	w.must(w.store.Settle(w.ctx(), "one", nil))
}

func testBusy(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a", "b", "c", "d")...)
	busy := func(run uuid.UUID) bool { return run == runID("a") || run == runID("c") }
	due, err := w.store.Claim(w.ctx(), "one", w.clock.Now(), 2, busy)
	w.must(err)
	if diff := cmp.Diff([]string{"b START", "d START"}, names(due)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func testClaimBytes(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	events := starts("a", "b", "c")
	for i := range events {
		events[i].Body = bytes.Repeat([]byte{'x'}, 9<<20)
	}
	w.say(events...)
	w.due("one", "a START")
}

func testLastSeq(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	first := w.say(starts("a", "b")...).LastSeq
	second := w.say(starts("c")...).LastSeq
	if first <= 0 || second <= first || w.say(starts("a")...).LastSeq != 0 {
		t.Errorf("places %d and %d", first, second)
	}
	w.deliver("one", "a START", "b START")
	if got := w.status("one").OldestSeq; got <= first {
		t.Errorf("one is at %d, the first batch ended at %d", got, first)
	}
	if got := w.status("two").OldestSeq; got > first {
		t.Errorf("two is at %d, the first batch ended at %d", got, first)
	}
	w.drain("one")
	if got := w.status("one").OldestSeq; got != 0 {
		t.Errorf("one is at %d and has nothing", got)
	}
}
