package prefect_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// A recorder that has fallen behind is followed: the first row that is later than the look back of each poll waits for
// the next longer one, those after it are found at once.
func TestPollFollowsALag(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{40 * time.Second, 3 * time.Minute, 6 * time.Minute} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.settle(t)
			first := w.endedTaskRun(w.now().Add(-late))
			w.pollUntil(t, first, time.Minute)
			for range 5 {
				w.pass(time.Minute)
				w.poll(t)
				row := w.endedTaskRun(w.now().Add(-late))
				w.pollUntil(t, row, 4*time.Second)
			}
		})
	}
}

// pollUntil polls each two seconds until a run was seen, and fails the test when that takes longer than it may.
func (w *world) pollUntil(t *testing.T, id uuid.UUID, within time.Duration) {
	t.Helper()
	began := w.now()
	for {
		w.pass(2 * time.Second)
		if w.poll(t).times[id] > 0 {
			return
		}
		if waited := w.now().Sub(began); waited > within {
			t.Fatalf("not seen after %s", waited)
		}
	}
}

// A lag that grows bit by bit never hides a row for long.
func TestPollFollowsAGrowingLag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle(t)
	for late := 5 * time.Second; late < 6*time.Minute; late += late / 4 {
		w.pollUntil(t, w.endedTaskRun(w.now().Add(-late)), 4*time.Second)
	}
}

// What is late by nobody's fault is taken for no lag: rows that lie before the position of a start, and ends that come in
// time. And a lag that is over costs nothing any more.
func TestPollFollowsNoLagWhereNoneIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle(t)
	for range 20 {
		w.endedTaskRun(w.now().Add(-4 * time.Minute)) // shown in time, for all that this listener knows
	}
	w.poller = prefect.NewPoller(w.client, prefect.PollerConfig{})
	requests := func(polls int) int {
		w.ForgetRequests()
		for range polls {
			w.pass(2 * time.Second)
			w.endedTaskRun(w.now().Add(-10 * time.Second))
			w.poll(t)
		}
		return w.Count("")
	}
	w.poll(t)
	quiet := requests(60)
	w.pollUntil(t, w.endedTaskRun(w.now().Add(-2*time.Minute)), time.Minute)
	lagging := requests(60)
	w.pass(15 * time.Minute)
	w.poll(t)
	after := requests(60)
	if quiet > 60*5 || after > 60*5 || lagging <= quiet {
		t.Errorf("%d requests in 60 polls before a lag, %d with it, %d after it", quiet, lagging, after)
	}
}

// Where much runs, late rows are looked for as often as a page a second allows.
func TestPollFollowsALagAtAPace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prefecttest.PageLimit(20))
	w.settle(t)
	w.pollUntil(t, w.endedTaskRun(w.now().Add(-5*time.Minute)), time.Minute)
	w.pass(2 * time.Second)
	w.poll(t)
	for i := range 200 {
		w.endedTaskRun(w.now().Add(-time.Minute - time.Duration(i)*time.Second))
	}
	w.ForgetRequests()
	for range 60 { // two minutes
		w.pass(2 * time.Second)
		w.poll(t)
	}
	if n := w.Count(""); n > 60*4+2*120 {
		t.Errorf("%d requests in two minutes", n)
	}
	w.pollUntil(t, w.endedTaskRun(w.now().Add(-5*time.Minute)), 40*time.Second)
}
