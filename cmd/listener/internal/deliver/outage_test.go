package deliver_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
)

func TestLaneBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: func(context.Context, seen) error { return unavailable() }}
		r := newRig(t, to)
		r.outbox.add(separateRuns(1)...)
		r.start()
		wait(5 * time.Minute)
		r.stop()

		var gaps []time.Duration
		attempts := to.seen()
		for i := range attempts[1:] {
			gaps = append(gaps, attempts[i+1].at.Sub(attempts[i].at).Round(time.Second))
		}
		want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 30}
		for i := range want {
			want[i] *= time.Second
		}
		if len(gaps) < len(want) || !slices.Equal(gaps[:len(want)], want) {
			t.Errorf("gaps %v, want %v", gaps, want)
		}
	})
}

func TestOutage(t *testing.T) {
	t.Parallel()
	tests := map[string]func() error{"no answer": refused, "503": unavailable}
	for name, trouble := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testOutage(t, trouble) })
		})
	}
}

func testOutage(t *testing.T, trouble func() error) {
	const outage = 6 * time.Hour
	back := time.Now().Add(outage)
	to := &sink{name: "a", answer: func(context.Context, seen) error {
		time.Sleep(10 * time.Millisecond)
		if time.Now().Before(back) {
			return trouble()
		}
		return nil
	}}
	r := newRig(t, to)
	r.outbox.add(family(0, 100)...)
	r.outbox.add(separateRuns(300)[400:]...)
	r.start()
	wait(time.Hour)
	if s := r.state("a"); s.State != deliver.Down || s.OK() {
		t.Errorf("an hour into the outage the destination is %s", s.State)
	}
	wait(time.Until(back))
	during := to.seen()
	if limit := 16 + int(outage/(30*time.Second)) + 6; len(during) > limit {
		t.Errorf("%d attempts during the outage, want at most %d", len(during), limit)
	}
	checkProbes(t, during)
	r.wantCounts("a", 202+200, 0, 0)

	wait(31 * time.Second)
	if s := r.state("a"); s.State != deliver.Delivering {
		t.Errorf("half a minute after the outage the destination is %s", s.State)
	}
	wait(30 * time.Second) // the lanes that failed before it was found to be down
	r.wantCounts("a", 0, 202+200, 0)
	r.stop()
	got := r.messages()
	warned := slices.Index(got, "warn an event could not be delivered, trying again")
	if len(got) < 2 || got[0] != "warn destination down; events are kept" || warned >= 0 ||
		got[len(got)-1] != "info destination takes events again" || len(got) > 2+6*6 {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

// checkProbes checks that probes rotate over runs and never overlap, once the destination was found to be down.
func checkProbes(t *testing.T, attempts []seen) {
	t.Helper()
	probes := attempts[len(attempts)-100:]
	runs := map[string]int{}
	for i, a := range probes {
		runs[a.event.RunID]++
		if i > 0 && a.at.Sub(probes[i-1].at) < 29*time.Second {
			t.Errorf("probe %d came %s after the one before", i, a.at.Sub(probes[i-1].at))
		}
	}
	if len(runs) < 50 {
		t.Errorf("100 probes used only %d runs", len(runs))
	}
}

// A single run must not make a destination look down when the trouble is the run's own: others are tried at once.
func TestLoneFailureDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := runID(0).String()
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			if a.event.RunID == bad {
				return unavailable()
			}
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(runEvents(runID(0), uuid.Nil, "bad")...)
		r.start()
		wait(10 * time.Minute) // it has failed many times by now, and nothing else was there
		r.wantCounts("a", 2, 0, 0)
		r.outbox.add(runEvents(runID(1), uuid.Nil, "good")...)
		r.deliverer.Wake()
		wait(100 * time.Millisecond)
		r.wantCounts("a", 2, 2, 0)
		r.stop()
	})
}

func TestLoneFailureBecomesDeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := runID(0).String()
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			if a.event.RunID == bad && a.event.Type == "START" {
				return unavailable()
			}
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(runEvents(runID(0), uuid.Nil, "bad")...)
		r.start()
		for n := 1; n <= 300; n++ { // others pass all the time
			r.outbox.add(runEvents(runID(n), uuid.Nil, "good")...)
			r.deliverer.Wake()
			wait(5 * time.Second)
		}
		r.stop()
		r.wantCounts("a", 0, 601, 1)
		if row := r.outbox.row("a", 1); row.status != 503 || row.Attempts < 11 || row.Attempts > 13 || row.reason != "status-503" {
			t.Errorf("dead after %d tries before, with %q, %d", row.Attempts, row.reason, row.status)
		}
		want := "warn dead letter: the event alone failed again and again while others passed"
		if got := r.messages(); !slices.Contains(got, want) {
			t.Errorf("lines %q", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		asked time.Duration
		want  time.Duration
	}{
		{"honoured", 120 * time.Second, 120 * time.Second},
		{"capped", 24 * time.Hour, 15 * time.Minute},
		{"none", 0, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
					if a.n == 1 {
						return slowDown(tt.asked)
					}
					return nil
				}}
				r := newRigWith(t, 1, deliver.Options{}, to)
				r.outbox.add(separateRuns(1)...)
				r.start()
				wait(time.Hour)
				r.stop()
				attempts := to.seen()
				got := attempts[1].at.Sub(attempts[0].at)
				if got < tt.want-time.Millisecond || got > tt.want+50*time.Millisecond {
					t.Errorf("tried again after %s, want %s", got, tt.want)
				}
				r.wantCounts("a", 0, 2, 0)
			})
		})
	}
}

// "Come later" is said to the sender, not about an event: no other event is sent before.
func TestRetryAfterIsForTheWholeDestination(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		to := &sink{name: "a", answer: func(context.Context, seen) error {
			if left := 2*time.Minute - time.Since(began); left > 0 {
				return slowDown(left)
			}
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(separateRuns(50)...)
		r.start()
		wait(2*time.Minute - time.Second)
		if got := len(to.seen()); got > 4 {
			t.Errorf("%d attempts before the two minutes were over", got)
		}
		wait(3 * time.Second)
		r.wantCounts("a", 0, 100, 0)
		r.stop()
	})
}

// A clock that goes back must not make anything wait for the time in between.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		now := func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) }
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			if a.n <= 20 {
				return refused()
			}
			return nil
		}}
		offset.Store(int64(24 * time.Hour))
		r := newRigWith(t, 4, deliver.Options{Now: now}, to)
		r.outbox.add(separateRuns(10)...)
		r.start()
		wait(20 * time.Second)
		if s := r.state("a"); s.State != deliver.Down {
			t.Fatalf("the destination is %s", s.State)
		}
		offset.Store(0)
		r.outbox.forgetDues() // the real store does not trust a due time so far ahead either
		wait(10 * time.Minute)
		r.wantCounts("a", 0, 20, 0)
		r.stop()
	})
}
