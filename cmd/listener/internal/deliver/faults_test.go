package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

// A transport that panics over one event must not end the daemon, and costs the others nothing.
func TestPanickingTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := runID(0).String()
		to := &sink{name: "a"}
		to.answer = func(_ context.Context, a seen) error {
			if a.event.RunID == bad {
				to.mu.Lock()
				to.under--
				to.mu.Unlock()
				panic("token s3cret")
			}
			return nil
		}
		r := newRig(t, to)
		r.outbox.add(runEvents(runID(0), uuid.Nil, "bad")...)
		r.start()
		for n := 1; n <= 1000; n++ {
			r.outbox.add(runEvents(runID(n), uuid.Nil, "good")...)
			r.deliverer.Wake()
			wait(5 * time.Second)
		}
		r.stop()
		r.wantCounts("a", 0, 2000, 2)
		for _, entry := range r.logs.All() {
			if text := fmt.Sprint(entry.Message, entry.ContextMap()); strings.Contains(text, "s3cret") {
				t.Errorf("a secret in the log: %s", text)
			}
		}
	})
}

// The text of an error that breaks the contract may hold a secret.
func TestUnclassifiedError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: func(_ context.Context, a seen) error {
			if a.try <= 5 { // for long enough to be told of
				return errors.New("https://user:s3cret@host is not there")
			}
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(separateRuns(2)...)
		r.start()
		wait(3 * time.Minute)
		r.stop()
		r.wantCounts("a", 0, 4, 0)
		if got := r.messages(); len(got) == 0 || got[0] != "warn an event could not be delivered, trying again" {
			t.Errorf("lines %q", got)
		}
		for _, entry := range r.logs.All() {
			if text := fmt.Sprint(entry.Message, entry.ContextMap()); strings.Contains(text, "s3cret") {
				t.Errorf("a secret in the log: %s", text)
			}
		}
	})
}

// A transport without a time limit of its own is not waited for without end.
func TestSendTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: func(ctx context.Context, a seen) error {
			if a.try == 1 {
				<-ctx.Done()
				return fmt.Errorf("posting: %w", ctx.Err())
			}
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(separateRuns(1)...)
		r.start()
		wait(10 * time.Minute)
		r.stop()
		r.wantCounts("a", 0, 2, 0)
		if row := r.outbox.row("a", 1); row.Attempts != 1 {
			t.Errorf("%d failed attempts, want 1", row.Attempts)
		}
	})
}
