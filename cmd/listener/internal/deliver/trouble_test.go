package deliver_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/transport"
)

// An outage has one line where it begins and one where it ends; trouble short of one has a line only when it stays.
func TestLinesOfTrouble(t *testing.T) {
	t.Parallel()
	const (
		tryingAgain = "warn an event could not be delivered, trying again"
		isDown      = "warn destination down; events are kept"
		isBack      = "info destination takes events again"
	)
	tests := map[string]struct {
		trouble func() error
		runs    int
		lasts   time.Duration
		want    []string
	}{
		"an outage that one run sees":   {refused, 1, 5 * time.Minute, []string{isDown, isBack}},
		"an outage that many runs see":  {unavailable, 20, 5 * time.Minute, []string{isDown, isBack}},
		"over at the next try":          {unavailable, 1, 500 * time.Millisecond, nil},
		"over soon":                     {unavailable, 1, 5 * time.Second, nil},
		"one run's trouble that stays":  {unavailable, 1, 2 * time.Minute, []string{tryingAgain, isBack}},
		"four runs' trouble that stays": {unavailable, 4, 2 * time.Minute, []string{tryingAgain, isBack}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				over := time.Now().Add(tt.lasts)
				to := &sink{name: "a", answer: func(context.Context, seen) error {
					if time.Now().Before(over) {
						return tt.trouble()
					}
					return nil
				}}
				r := newRig(t, to)
				r.outbox.add(separateRuns(tt.runs)...)
				r.start()
				wait(tt.lasts + 2*time.Minute)
				r.stop()
				r.wantCounts("a", 0, 2*tt.runs, 0)
				if got := r.messages(); !slices.Equal(got, tt.want) {
					t.Errorf("lines %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// The line comes when the trouble has lasted, not at the next failure, which may be far away.
func TestLineOfTroubleIsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: func(context.Context, seen) error { return unavailable() }}
		r := newRig(t, to)
		r.outbox.add(separateRuns(1)...)
		r.start()
		wait(9500 * time.Millisecond)
		if got := r.messages(); len(got) > 0 {
			t.Errorf("lines %q after less than ten seconds", got)
		}
		wait(2 * time.Second) // tries are at 0, 1, 3, 7 and 15 seconds
		if got := r.messages(); len(got) != 1 {
			t.Errorf("lines %q after more than ten seconds", got)
		}
		r.stop()
	})
}

// silence is a sink's answer that takes ten seconds not to come, for the first event of one run.
func silence(ctx context.Context, a seen) error {
	if a.event.RunID != runID(0).String() || a.event.Type != "START" {
		return nil
	}
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	return fault(transport.Retry, transport.ReasonTimeout, 0)
}

// An event that takes the consumer too long keeps nobody waiting, however rare others are.
func TestLoneTimeoutDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a", answer: silence})
		r.outbox.add(runEvents(runID(0), uuid.Nil, "slow")...)
		r.start()
		for n := 1; n <= 20; n++ {
			wait(7*time.Minute + time.Duration(n)*time.Second) // it was tried many times, and nothing else was there
			r.outbox.add(runEvents(runID(n), uuid.Nil, "good")...)
			r.deliverer.Wake()
			wait(time.Second)
			if _, delivered, _ := r.outbox.counts("a"); delivered < 2*n {
				t.Errorf("run %d waits", n)
			}
			if s := r.state("a"); s.State != deliver.Delivering {
				t.Errorf("run %d: the destination is %s", n, s.State)
			}
		}
		r.stop()
		r.wantCounts("a", 0, 41, 1) // a dozen tries with others between
		if row := r.outbox.row("a", 1); row.reason != transport.ReasonTimeout {
			t.Errorf("dead for %q", row.reason)
		}
	})
}

// A lone event's trouble is told of soon, and once, though others pass all the time.
func TestLoneFailureIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a", answer: silence})
		r.outbox.add(runEvents(runID(0), uuid.Nil, "slow")...)
		r.start()
		for n := range 60 {
			r.outbox.add(runEvents(runID(n+1), uuid.Nil, "good")...)
			r.deliverer.Wake()
			wait(time.Second)
		}
		r.stop()
		if got := r.messages(); !slices.Equal(got, []string{"warn an event could not be delivered, trying again"}) {
			t.Errorf("lines %q", got)
		}
	})
}
