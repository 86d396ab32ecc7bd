package deliver_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

// hang answers only when the send is cancelled.
func hang(ctx context.Context, _ seen) error {
	<-ctx.Done()
	return &transport.Error{Reason: transport.ReasonCancelled, Err: context.Cause(ctx)}
}

func TestShutdownWithHangingSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: hang}
		r := newRig(t, to)
		r.outbox.add(separateRuns(10)...)
		r.start()
		wait(time.Second)
		claims := r.outbox.accessed("claim")
		began := time.Now()
		r.stop()
		if got := r.outbox.accessed("claim"); got != claims {
			t.Errorf("%d claims while stopping", got-claims)
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("stopping took %s, want 15s", took)
		}
		r.wantCounts("a", 20, 0, 0)
		for _, row := range r.outbox.lanes["a"].rows {
			if row.Attempts != 0 {
				t.Errorf("event %d has %d failed attempts though it was the listener that gave up", row.Seq, row.Attempts)
			}
		}
		if got := len(to.seen()); got != 4 {
			t.Errorf("%d attempts, want the 4 that were under way", got)
		}
	})
}

func TestHurryEndsTheWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: hang}
		r := newRig(t, to)
		r.outbox.add(separateRuns(10)...)
		r.start()
		wait(time.Second)
		began := time.Now()
		r.cancel()
		wait(3 * time.Second)
		r.deliverer.Hurry()
		r.deliverer.Hurry()
		r.stop()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("stopping took %s, want 3s", took)
		}
	})
}

func TestHurryAloneStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a", answer: hang})
		r.outbox.add(separateRuns(10)...)
		r.start()
		wait(time.Second)
		r.deliverer.Hurry()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	})
}

// Sends that end in time are settled, and nothing new is begun.
func TestShutdownLetsSendsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: func(context.Context, seen) error {
			time.Sleep(10 * time.Second)
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(separateRuns(10)...)
		r.start()
		wait(time.Second)
		began := time.Now()
		r.stop()
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("stopping took %s, want the 9s that the sends still needed", took)
		}
		r.wantCounts("a", 16, 4, 0)
	})
}

func TestShutdownTriesOnceMoreToSettle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		heals         bool
		wantDelivered int
	}{{"store is back", true, 1}, {"store stays full", false, 0}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &sink{name: "a"}
				r := newRigWith(t, 1, deliver.Options{}, to)
				var stopping bool
				r.outbox.fail = func(access string) error {
					r.outbox.mu.Lock()
					defer r.outbox.mu.Unlock()
					if access == "settle" && (!stopping || !tt.heals) {
						return state.ErrFull
					}
					return nil
				}
				r.outbox.add(separateRuns(1)...)
				r.start()
				wait(time.Minute)
				r.outbox.mu.Lock()
				stopping = true
				r.outbox.mu.Unlock()
				began := time.Now()
				r.stop()
				if took := time.Since(began); took > time.Second {
					t.Errorf("stopping took %s", took)
				}
				if _, delivered, _ := r.outbox.counts("a"); delivered != tt.wantDelivered {
					t.Errorf("%d delivered, want %d", delivered, tt.wantDelivered)
				}
			})
		})
	}
}

func TestRunWorksOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a"})
		r.start()
		wait(time.Second)
		if err := r.deliverer.Run(t.Context()); err == nil {
			t.Error("a second Run is no error")
		}
		r.stop()
	})
}

func TestNoDestinations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		wait(time.Minute)
		r.stop()
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	to := &sink{name: "a"}
	tests := []struct {
		name         string
		outbox       deliver.Outbox
		destinations []transport.Destination
	}{
		{"no outbox", nil, nil},
		{"no name", newFakeOutbox(), []transport.Destination{{Transport: to}}},
		{"no transport", newFakeOutbox(), []transport.Destination{{Name: "a"}}},
		{"one name twice", newFakeOutbox(), []transport.Destination{{Name: "a", Transport: to}, {Name: "a", Transport: to}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := deliver.New(deliver.Options{Outbox: tt.outbox, Destinations: tt.destinations}); err == nil {
				t.Error("no error")
			}
		})
	}
}

// While the store does not take what became of the sends, nothing more is sent; then all goes on, and nothing is sent
// twice.
func TestFullStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := time.Now().Add(5 * time.Minute)
		to := &sink{name: "a", answer: func(context.Context, seen) error {
			time.Sleep(time.Millisecond)
			return nil
		}}
		r := newRig(t, to)
		var sentBefore atomic.Int64 // before the first failure
		r.outbox.fail = func(access string) error {
			if access == "settle" && time.Now().Before(full) {
				sentBefore.CompareAndSwap(0, int64(len(to.seen())))
				return state.ErrFull
			}
			return nil
		}
		r.outbox.add(separateRuns(500)...)
		r.start()
		wait(time.Until(full) - time.Millisecond)
		sent := len(to.seen())
		if more := sent - int(sentBefore.Load()); more > 4 {
			t.Errorf("%d events sent after the store had failed", more)
		}
		if got := r.outbox.accessed("settle"); got > 5*60/15+10 {
			t.Errorf("%d tries to settle in five minutes", got)
		}
		wait(20 * time.Second)
		r.wantCounts("a", 0, 1000, 0)
		r.stop()
		if got := len(to.seen()); got != 1000 {
			t.Errorf("%d attempts for 1000 events", got)
		}
		if got := len(r.logs.All()); got > 2+5*60/30 {
			t.Errorf("%d lines: %q", got, r.messages())
		}
	})
}

func TestClaimFailsForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := time.Now().Add(time.Minute)
		r := newRig(t, &sink{name: "a"})
		r.outbox.fail = func(access string) error {
			if access == "claim" && time.Now().Before(broken) {
				return state.ErrBusy
			}
			return nil
		}
		r.outbox.add(separateRuns(5)...)
		r.start()
		wait(time.Minute + 16*time.Second)
		r.wantCounts("a", 0, 10, 0)
		r.stop()
	})
}

func TestFatalStore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		access string
		err    error
	}{
		{"settle", "settle", state.ErrFatalIO},
		{"claim", "claim", state.ErrFatalIO},
		{"damaged", "claim", state.ErrDamaged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, &sink{name: "a"}, &sink{name: "hanging", answer: hang})
				r.outbox.add(separateRuns(5)...)
				start := time.Now().Add(time.Second)
				r.outbox.fail = func(access string) error {
					if access == tt.access && !time.Now().Before(start) {
						return tt.err
					}
					return nil
				}
				r.start()
				wait(time.Second)
				r.outbox.add(separateRuns(20)[10:]...)
				r.deliverer.Wake()
				began := time.Now()
				err := <-r.ended
				if !errors.Is(err, tt.err) {
					t.Errorf("Run returned %v, want %v", err, tt.err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("ending took %s: nothing that is sent can be settled any more", took)
				}
				r.check()
			})
		})
	}
}
