package prefect_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// settle polls until the listener has read for a day, so that every look back has its full reach.
func (w *world) settle(t *testing.T) {
	t.Helper()
	w.poll(t)
	w.pass(25 * time.Hour)
	w.poll(t)
	w.pass(time.Second)
	w.poll(t)
}

func TestPollFindsLateRows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		late time.Duration
		wait time.Duration // until the next poll, after the row has shown
		seen bool
	}{
		{late: 25 * time.Second, wait: time.Second, seen: true},
		{late: 9 * time.Minute, wait: time.Second, seen: false},
		{late: 9 * time.Minute, wait: time.Minute, seen: true},
		{late: 22 * time.Hour, wait: time.Minute, seen: false},
		{late: 22 * time.Hour, wait: time.Hour, seen: true},
		{late: 50 * time.Hour, wait: time.Hour, seen: false},
	} {
		t.Run(fmt.Sprintf("%v late, %v on", test.late, test.wait), func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, prefect.PollerConfig{Lookback: 60 * time.Hour})
			w.settle(t)
			row := w.endedTaskRun(w.now().Add(-test.late))
			w.pass(test.wait)
			s := w.poll(t)
			if seen := s.times[row] > 0; seen != test.seen {
				t.Errorf("seen: %v, want %v", seen, test.seen)
			}
		})
	}
}

// A row that was as late as a look back promises to find is found also when nothing was read for a long time.
func TestPollFindsLateRowsAfterAnOutage(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{9 * time.Minute, 22 * time.Hour} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, prefect.PollerConfig{Lookback: 60 * time.Hour})
			w.settle(t)
			row := w.endedTaskRun(w.now().Add(-late)) // shows when nobody looks
			w.pass(30 * time.Hour)
			w.poller = prefect.NewPoller(w.client, prefect.PollerConfig{})
			w.poll(t).want(t, prefect.Completed, row)
		})
	}
}

// Nor does it matter how far the position has come meanwhile, when the look back itself was not taken.
func TestPollFindsLateRowsAfterHalfACatchUp(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, prefect.PollerConfig{Lookback: 60 * time.Hour})
	w.settle(t)
	row := w.endedTaskRun(w.now().Add(-22 * time.Hour))
	stopped := w.cur
	w.pass(70 * time.Hour)
	if _, err := w.failPoll(t, 8); err == nil {
		t.Fatal("the poll didn't fail")
	}
	if w.cur.Ended.Sub(stopped.Ended) < 30*time.Hour || w.cur.SweptDay != stopped.SweptDay {
		t.Fatalf("the position went from %+v to %+v: the test is none", stopped, w.cur)
	}
	w.poller = prefect.NewPoller(w.client, prefect.PollerConfig{})
	w.poll(t).want(t, prefect.Completed, row)
}

func TestPollLooksBackAtItsTimes(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, prefect.PollerConfig{Lookback: 60 * time.Hour})
	w.settle(t)
	minutes, hours := 0, 0
	for range 2 * 60 * 4 { // two hours, a poll each 15 s
		w.pass(15 * time.Second)
		before := w.cur
		w.poll(t)
		if w.cur.Swept10m != before.Swept10m {
			minutes++
		}
		if w.cur.SweptDay != before.SweptDay {
			hours++
		}
	}
	if minutes != 2*60 || hours != 2 {
		t.Errorf("%d looks back over 10 minutes and %d over a day in two hours", minutes, hours)
	}
}

func TestPollSpreadsALongLookBack(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, prefect.PollerConfig{Lookback: 60 * time.Hour}, prefecttest.PageLimit(20))
	w.settle(t)
	w.poller = prefect.NewPoller(w.client, prefect.PollerConfig{SweepPages: 3})
	var rows []uuid.UUID
	for i := range 500 {
		rows = append(rows, w.endedTaskRun(w.now().Add(-time.Duration(i+20)*2*time.Minute)))
	}
	w.pass(time.Hour)
	found, polls := make(map[uuid.UUID]bool), 0
	for swept := w.cur.SweptDay; w.cur.SweptDay.Equal(swept); polls++ {
		if polls > 200 {
			t.Fatal("the look back never ends")
		}
		w.pass(2 * time.Second)
		fresh := w.endedTaskRun(w.now())
		var s *sight
		if polls%3 == 1 { // a poll that fails takes the look back no further
			failing := errorAfter(polls % 4)
			s, _ = w.failPoll(t, failing)
		} else {
			s = w.poll(t)
			s.want(t, prefect.Completed, fresh) // what is new doesn't wait
			if len(s.times) > 20*20 {
				t.Errorf("one poll brought %d rows", len(s.times))
			}
		}
		for id := range s.times {
			found[id] = true
		}
	}
	for _, id := range rows {
		if !found[id] {
			t.Fatalf("%s was passed over", id)
		}
	}
	if polls < 5 {
		t.Errorf("the look back took %d polls only", polls)
	}
}

type errorAfter int

func (e errorAfter) Error() string { return "the store is full" }

// failPoll polls with a taker who refuses the portion after so many.
func (w *world) failPoll(t *testing.T, after errorAfter) (*sight, error) {
	t.Helper()
	s := newSight()
	err := w.poller.Poll(t.Context(), w.cur, prefect.OpenRuns{}, func(_ context.Context, c prefect.Changes) error {
		if len(s.portions) == int(after) {
			return after
		}
		s.take(c)
		if c.Cursor != nil {
			w.cur = *c.Cursor
		}
		return nil
	})
	return s, err
}

func TestPollGoesByTheServersClock(t *testing.T) {
	t.Parallel()
	// The server's clock has nothing to do with ours: it is years off.
	for _, off := range []time.Duration{-20 * 365 * 24 * time.Hour, 10 * time.Minute, 3 * 365 * 24 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.pass(off)
			w.poll(t)
			w.pass(2 * time.Second)
			row := w.endedTaskRun(w.now())
			w.poll(t).want(t, prefect.Completed, row)
			if !w.cur.Ended.Equal(w.now()) {
				t.Errorf("the position is %v, the server's clock %v", w.cur.Ended, w.now())
			}
		})
	}
}

func TestPollIsNotPushedByClocksAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.poll(t)
	ahead := w.endedTaskRun(w.now().Add(7 * time.Minute))
	w.poll(t).want(t, prefect.Completed, ahead)
	if w.cur.Ended.After(w.now()) {
		t.Fatalf("the position went to %v, past the server's clock %v", w.cur.Ended, w.now())
	}
	w.pass(2 * time.Second)
	row := w.endedTaskRun(w.now())
	w.poll(t).want(t, prefect.Completed, row)
}

func TestPollFollowsAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, prefect.PollerConfig{Lookback: 60 * time.Hour})
	w.settle(t)

	// Replicas differ by a second or two: that moves nothing.
	w.pass(-2 * time.Second)
	before := w.cur
	w.poll(t)
	if w.cur.Ended.Before(before.Ended) {
		t.Errorf("the position went back from %v to %v", before.Ended, w.cur.Ended)
	}

	// A restored server, or one whose clock was wrong for a while.
	w.pass(-3 * time.Hour)
	missed := w.endedTaskRun(w.now().Add(-20 * time.Minute))
	w.poll(t).want(t, prefect.Completed, missed)
	if w.cur.Ended.After(w.now()) {
		t.Fatalf("the position stays at %v, past the server's clock %v", w.cur.Ended, w.now())
	}
	w.pass(2 * time.Second)
	row := w.endedTaskRun(w.now())
	w.poll(t).want(t, prefect.Completed, row)
}
