package statetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var deadLetterTests = map[string]func(t *testing.T, rig Rig){
	"what a dead letter keeps": testLetter,
	"the history is bounded":   testHistory,
	"filters":                  testFilters,
	"pages":                    testPages,
	"a replay sends it and the run's later events": testReplay,
	"a replay before the later events went":        testReplayEarly,
	"a replay happens once":                        testReplayOnce,
	"a replay of several of a run":                 testReplaySeveral,
	"a replay overtakes an event under way":        testReplayOvertakes,
	"a replay holds the children again":            testReplayHoldsChildren,
	"a replay leaves other destinations alone":     testReplayElsewhere,
	"a replayed one can die again":                 testReplayDies,
	"a drop frees what was kept for a replay":      testDrop,
	"strangers are passed over":                    testLetterStrangers,
}

func testLetter(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	e := event("a", adapter.Complete, "flow")
	w.say(e)
	enqueued := w.clock.Now()
	w.settle("one", state.Again, "a COMPLETE")
	w.clock.Move(time.Minute)
	seq := w.claim("one")[0].Seq
	answer := bytes.Repeat([]byte("x"), 5000)
	w.must(w.store.Settle(w.ctx(), "one", []state.Settlement{
		{Seq: seq, Verdict: state.Dead, Reason: "status-422", Status: 422, Answer: answer}}))
	w.crash()
	want := state.DeadLetter{
		ID: 1, Destination: "one", Seq: seq, Event: e, Enqueued: enqueued, Died: w.clock.Now(), Attempts: 2,
		Reason: "status-422", Status: 422, Answer: answer[:state.MaxAnswer],
		History: []state.Attempt{
			{Number: 1, At: enqueued, Reason: "status-503", Status: 503},
			{Number: 2, At: w.clock.Now(), Reason: "status-422", Status: 422},
		},
	}
	got, err := w.store.DeadLetter(w.ctx(), 1)
	w.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead letter (-want +got):\n%s", diff)
	}
	want.Event.Body, want.History = nil, nil
	if diff := cmp.Diff([]state.DeadLetter{want}, w.letters(state.DeadFilter{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("in the list (-want +got):\n%s", diff)
	}
}

func testHistory(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a")...)
	for range 14 {
		w.settle("one", state.Again, "a START")
		w.clock.Move(time.Minute)
	}
	w.settle("one", state.Dead, "a START")
	letter, err := w.store.DeadLetter(w.ctx(), w.letters(state.DeadFilter{})[0].ID)
	w.must(err)
	if letter.Attempts != 15 || len(letter.History) != state.MaxAttemptsKept ||
		letter.History[0].Number != 6 || letter.History[9].Number != 15 {
		t.Errorf("%d attempts, kept %+v", letter.Attempts, letter.History)
	}
}

// letterbox has three dead letters, an hour apart.
func letterbox(t *testing.T, rig Rig) *world {
	t.Helper()
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(starts("a", "b")...)
	w.settle("one", state.Dead, "a START")
	w.clock.Move(time.Hour)
	w.settle("one", state.Dead, "b START")
	w.clock.Move(time.Hour)
	seq := w.claim("two")[0].Seq
	w.must(w.store.Settle(w.ctx(), "two", []state.Settlement{{Seq: seq, Verdict: state.Dead, Reason: "too-large"}}))
	return w
}

func testFilters(t *testing.T, rig Rig) {
	w := letterbox(t, rig)
	start := NewClock().Now()
	for name, c := range map[string]struct {
		filter state.DeadFilter
		want   []string
	}{
		"all":         {state.DeadFilter{}, []string{"one a START", "one b START", "two a START"}},
		"destination": {state.DeadFilter{Destination: "one"}, []string{"one a START", "one b START"}},
		"reason":      {state.DeadFilter{Reason: "too-large"}, []string{"two a START"}},
		"run":         {state.DeadFilter{Run: runID("a")}, []string{"one a START", "two a START"}},
		"job":         {state.DeadFilter{Job: "job of b"}, []string{"one b START"}},
		"namespace":   {state.DeadFilter{Namespace: "other"}, nil},
		"since":       {state.DeadFilter{Since: start.Add(time.Hour)}, []string{"one b START", "two a START"}},
		"until":       {state.DeadFilter{Until: start.Add(time.Hour)}, []string{"one a START"}},
		"ids":         {state.DeadFilter{IDs: []int64{1, 3, 99}}, []string{"one a START", "two a START"}},
		"no ids":      {state.DeadFilter{IDs: []int64{}}, nil},
		"all at once": {state.DeadFilter{Destination: "one", Job: "job of a", Reason: "status-400"}, []string{"one a START"}},
	} {
		var got []string
		for _, letter := range w.letters(c.filter) {
			got = append(got, letter.Destination+" "+nameOf(letter.Event))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func testPages(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	for i := range 5 {
		run := fmt.Sprint("run", i)
		w.say(starts(run)...)
		w.settle("one", state.Dead, run+" START")
	}
	var sizes []int
	filter := state.DeadFilter{Limit: 2}
	for {
		page := w.letters(filter)
		sizes = append(sizes, len(page))
		if len(page) == 0 {
			break
		}
		filter.After = page[len(page)-1].ID
	}
	if diff := cmp.Diff([]int{2, 2, 1, 0}, sizes); diff != "" {
		t.Errorf("sizes of pages (-want +got):\n%s", diff)
	}
}

func testReplay(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(event("a", adapter.Start, ""), event("a", adapter.Running, ""), event("a", adapter.Complete, ""), event("b", adapter.Start, ""))
	w.settle("one", state.Dead, "a START")
	w.drain("one")
	w.stored(3)
	w.crash()
	if n := w.replay("one"); n != 3 {
		t.Errorf("a replay made %d deliveries, want 3", n)
	}
	w.pending("one", 3, 0)
	w.crash()
	if diff := cmp.Diff([]string{"a START", "a RUNNING", "a COMPLETE"}, w.drain("one")); diff != "" {
		t.Error(diff)
	}
	w.stored(0)
}

func testReplayEarly(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(story("a", "")...)
	w.settle("one", state.Dead, "a START")
	w.due("one", "a COMPLETE")
	if n := w.replay("one"); n != 1 {
		t.Errorf("a replay made %d deliveries, want 1", n)
	}
	w.due("one", "a START")
	if diff := cmp.Diff([]string{"a START", "a COMPLETE"}, w.drain("one")); diff != "" {
		t.Error(diff)
	}
}

func testReplayOnce(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a")...)
	w.settle("one", state.Dead, "a START")
	id := w.letters(state.DeadFilter{})[0].ID
	for i, ids := range [][]int64{{id, id}, {id}} {
		n, err := w.store.Replay(w.ctx(), ids)
		w.must(err)
		if n != 1-i {
			t.Errorf("replay %d made %d deliveries", i, n)
		}
	}
	w.pending("one", 1, 0)
	w.deliver("one", "a START")
	w.due("one")
}

func testReplaySeveral(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(event("a", adapter.Start, ""), event("a", adapter.Running, ""), event("a", adapter.Complete, ""))
	w.settle("one", state.Dead, "a START")
	w.deliver("one", "a RUNNING")
	w.settle("one", state.Dead, "a COMPLETE")
	if n := w.replay("one"); n != 3 {
		t.Errorf("replays made %d deliveries, want 3", n)
	}
	w.pending("one", 3, 0)
	if diff := cmp.Diff([]string{"a START", "a RUNNING", "a COMPLETE"}, w.drain("one")); diff != "" {
		t.Error(diff)
	}
	w.stored(0)
}

// testReplayOvertakes replays a START while the COMPLETE is under way: the consumer gets COMPLETE, START, COMPLETE.
func testReplayOvertakes(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(story("a", "")...)
	w.settle("one", state.Dead, "a START")
	complete := w.claim("one")[0]
	w.replay("one")
	w.must(w.store.Settle(w.ctx(), "one", []state.Settlement{w.settlement(complete.Seq, state.Delivered)}))
	w.pending("one", 2, 0)
	if diff := cmp.Diff([]string{"a START", "a COMPLETE"}, w.drain("one")); diff != "" {
		t.Error(diff)
	}
}

func testReplayHoldsChildren(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(append(starts("flow"), story("task", "flow")...)...)
	w.settle("one", state.Dead, "flow START")
	w.deliver("one", "task START")
	w.due("one", "task COMPLETE")
	w.replay("one")
	w.due("one", "flow START")
	w.deliver("one", "flow START")
	w.due("one", "task COMPLETE")
}

func testReplayElsewhere(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one", "two")...)
	w.say(story("a", "")...)
	w.settle("one", state.Dead, "a START")
	w.drain("one")
	w.drain("two")
	w.replay("one")
	w.due("two")
	w.pending("two", 0, 0)
}

func testReplayDies(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(starts("a")...)
	w.settle("one", state.Dead, "a START")
	w.replay("one")
	if due := w.claim("one"); due[0].Attempts != 0 || due[0].LastReason != "" {
		t.Errorf("a replayed event remembers: %+v", due[0])
	}
	w.settle("one", state.Dead, "a START")
	letters := w.letters(state.DeadFilter{})
	if len(letters) != 1 || letters[0].Attempts != 1 || letters[0].ID != 2 {
		t.Errorf("dead letters: %+v", letters)
	}
}

func testDrop(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(event("a", adapter.Start, ""), event("a", adapter.Running, ""), event("a", adapter.Fail, ""), event("a", adapter.Complete, ""))
	w.settle("one", state.Dead, "a START")
	w.deliver("one", "a RUNNING")
	w.settle("one", state.Dead, "a FAIL")
	w.deliver("one", "a COMPLETE")
	w.stored(4)
	drop := func(id int64, events int64) {
		t.Helper()
		n, err := w.store.Drop(w.ctx(), []int64{id})
		w.must(err)
		if n != 1 {
			t.Errorf("dropped %d", n)
		}
		w.stored(events)
	}
	drop(1, 2) // FAIL, and COMPLETE for its sake
	drop(2, 0)
	w.pending("one", 0, 0)
}

func testLetterStrangers(t *testing.T, rig Rig) {
	w := letterbox(t, rig)
	if _, err := w.store.DeadLetter(w.ctx(), 99); !errors.Is(err, state.ErrUnknown) {
		t.Errorf("show: %v", err)
	}
	for name, do := range map[string]func() (int, error){
		"replay": func() (int, error) { return w.store.Replay(w.ctx(), []int64{99}) },
		"drop":   func() (int, error) { return w.store.Drop(w.ctx(), []int64{99, 0, -1}) },
	} {
		if n, err := do(); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	w.pending("one", 0, 2)
}
