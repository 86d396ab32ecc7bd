package deliver_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/state"
)

func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		to := &sink{name: "a", answer: func(context.Context, seen) error {
			if mended.Load() {
				return nil
			}
			return unauthorized()
		}}
		r := newRig(t, to)
		r.outbox.add(separateRuns(500)...)
		r.start()
		wait(10*time.Minute + time.Second)
		if got := len(to.seen()); got > 4+20 {
			t.Errorf("%d attempts in ten minutes of 401", got)
		}
		r.wantCounts("a", 1000, 0, 0)
		if s := r.state("a"); s.State != deliver.Held || s.Reason != "auth" || s.Status != 401 {
			t.Errorf("state %+v", s)
		}
		mended.Store(true)
		wait(30 * time.Second)
		r.wantCounts("a", 0, 1000, 0)
		r.stop()
		want := []string{
			"error destination held: nothing can pass until its settings or rights are mended; events are kept",
			"warn destination still held", // a reminder after ten minutes
			"info destination takes events again",
		}
		if got := r.messages(); !slices.Equal(got, want) {
			t.Errorf("lines %q", got)
		}
	})
}

func TestRecheckProbesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		to := &sink{name: "a", answer: func(context.Context, seen) error {
			if mended.Load() {
				return nil
			}
			return unauthorized()
		}}
		r := newRig(t, to)
		r.outbox.add(separateRuns(10)...)
		r.start()
		wait(5 * time.Second)
		before := len(to.seen())
		r.deliverer.Recheck() // still wrong
		wait(time.Second)
		if got := len(to.seen()); got != before+1 {
			t.Errorf("%d probes on a recheck, want 1", got-before)
		}
		mended.Store(true)
		r.deliverer.Recheck()
		wait(100 * time.Millisecond)
		r.wantCounts("a", 0, 20, 0)
		r.stop()
	})
}

func TestPermanentAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := runID(3).String()
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			if a.event.RunID == bad && a.event.Type == "START" {
				return badRequest()
			}
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(separateRuns(10)...)
		r.start()
		wait(time.Second)
		r.stop()
		r.wantCounts("a", 0, 19, 1)
		row := r.outbox.row("a", 7)
		if row.status != 400 || row.reason != "status-400" || row.answer != "no such facet" || row.Attempts != 0 {
			t.Errorf("dead letter %+v", row)
		}
		entries := r.logs.FilterMessage("dead letter: the destination refused the event").All()
		if len(entries) != 1 {
			t.Fatalf("%d lines about one dead letter: %q", len(entries), r.messages())
		}
		fields := entries[0].ContextMap()
		if fields["run"] != bad || fields["job"] != "default/job" || fields["status"] != int64(400) || fields["destination"] != "a" {
			t.Errorf("fields %v", fields)
		}
	})
}

// A destination that refuses everything is at fault itself: it is held, what it refused is put back, and once it takes
// events again all of them arrive in order.
func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		to := &sink{name: "a", answer: func(context.Context, seen) error {
			time.Sleep(10 * time.Millisecond)
			if mended.Load() {
				return nil
			}
			return badRequest()
		}}
		r := newRig(t, to)
		full := time.Now().Add(time.Minute)
		r.outbox.fail = func(access string) error {
			if access == "replay" && time.Now().Before(full) {
				return state.ErrFull
			}
			return nil
		}
		r.outbox.add(family(0, 50)...)
		r.outbox.add(separateRuns(200)[200:]...)
		r.start()
		wait(time.Hour)
		r.wantCounts("a", 302, 0, 0)
		if s := r.state("a"); s.State != deliver.Held || s.Status != 400 {
			t.Errorf("state %+v", s)
		}
		mended.Store(true)
		wait(31 * time.Second)
		r.wantCounts("a", 0, 302, 0)
		r.stop()
		if got := r.logs.FilterMessage("dead letters put back into the outbox, since the destination refused everything").Len(); got != 1 {
			t.Errorf("lines %q", r.messages())
		}
	})
}

// Twenty events that are really wrong, at the head of the outbox, must not stop what stands behind them.
func TestBreakerLetsTheGuiltyGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := map[string]bool{}
		for i := range 30 {
			bad[runID(i).String()] = true
		}
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			if bad[a.event.RunID] {
				return badRequest()
			}
			return nil
		}}
		r := newRig(t, to)
		for i := range 30 {
			r.outbox.add(runEvents(runID(i), uuid.Nil, fmt.Sprintf("bad-%d", i))[:1]...)
		}
		r.outbox.add(separateRuns(100)[60:]...)
		r.start()
		wait(30 * time.Minute)
		r.wantCounts("a", 0, 140, 30)
		r.stop()
	})
}

// Nineteen runs are not twenty: each is a dead letter, and an event that follows goes out at once.
func TestBreakerCountsRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: func(context.Context, seen) error { return badRequest() }}
		r := newRig(t, to)
		r.outbox.add(separateRuns(19)...)
		r.start()
		wait(time.Minute)
		r.wantCounts("a", 0, 0, 38)
		if s := r.state("a"); s.State != deliver.Delivering {
			t.Errorf("state %+v", s)
		}
		r.stop()
	})
}

// The letters of the streak are found among many others.
func TestBreakerFindsItsLettersAmongMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var misled, mended atomic.Bool
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			bad := a.event.Name == "bad"
			if bad || misled.Load() && !mended.Load() {
				return badRequest()
			}
			return nil
		}}
		r := newRig(t, to)
		for i := range 1300 {
			r.outbox.add(runEvents(runID(i), uuid.Nil, []string{"good", "bad"}[i%2])[:1]...)
		}
		r.start()
		wait(time.Minute)
		r.outbox.add(runEvents(runID(4000), uuid.Nil, "good")...) // ends any streak
		r.deliverer.Wake()
		wait(time.Minute)
		r.wantCounts("a", 0, 652, 650)
		misled.Store(true)
		for i := range 100 {
			r.outbox.add(runEvents(runID(5000+i), uuid.Nil, "good")...)
		}
		r.deliverer.Wake()
		wait(time.Minute)
		r.wantCounts("a", 200, 652, 650)
		mended.Store(true)
		wait(time.Minute)
		r.wantCounts("a", 0, 852, 650)
		r.stop()
	})
}
