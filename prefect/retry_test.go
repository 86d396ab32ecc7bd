package prefect_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// TestRetryAfter: a short wait is sat out, a long one is the caller's, and none can stop the reading for a day.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value string
		sits  time.Duration // how long the client waits before it succeeds; 0: it hands the wait on
		hands time.Duration
	}{
		{value: "3", sits: 3 * time.Second},
		{value: "2.5", sits: 2500 * time.Millisecond},
		{value: "60", sits: time.Minute},
		{value: "61", hands: 61 * time.Second},
		{value: "86400", hands: prefect.MaxRetryAfter},
		{value: "1e300", hands: prefect.MaxRetryAfter},
		{value: "Fri, 01 May 2026 12:00:30 GMT", sits: 30 * time.Second},
		{value: "Fri, 01 May 2026 12:05:00 GMT", hands: 5 * time.Minute},
	} {
		t.Run(test.value, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// The server's clock is not the client's: dates count from the server's.
				served := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
				server := prefecttest.New(t, prefecttest.Clock(func() time.Time { return served }))
				server.Fault(prefecttest.Any(), prefecttest.RetryAfter(429, test.value))
				begun := time.Now()
				_, err := server.Client(t).Flows(t.Context(), one)
				took := time.Since(begun)
				if test.sits > 0 {
					if err != nil || took < test.sits || took > test.sits+200*time.Millisecond {
						t.Errorf("it waited %s, want %s and a bit: %v", took, test.sits, err)
					}
					return
				}
				if fault := faultOf(t, err); fault.RetryAfter != test.hands || took != 0 || !errors.Is(err, prefect.ErrUnavailable) {
					t.Errorf("after %s it asks for %s, want %s at once: %v", took, fault.RetryAfter, test.hands, err)
				}
			})
		})
	}
}

// TestRetryAfterNonsense: what is no wait is none.
func TestRetryAfterNonsense(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "-5", "NaN", "soon", "0", "Fri, 01 May 2026 11:59:00 GMT"} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				served := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
				server := prefecttest.New(t, prefecttest.Clock(func() time.Time { return served }))
				server.Fault(prefecttest.Any(), prefecttest.RetryAfter(503, value))
				begun := time.Now()
				_, err := server.Client(t).Flows(t.Context(), one)
				if took := time.Since(begun); err != nil || took > time.Second {
					t.Errorf("it waited %s: %v", took, err)
				}
			})
		})
	}
}

// TestRetryAfterHoldsAll: limits count for an account, so a refusal of one request holds the others back too.
func TestRetryAfterHoldsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		client := server.Client(t)
		server.Fault(prefecttest.Path("/flows/"), prefecttest.RetryAfter(429, "20"))
		done := make(chan error)
		go func() {
			_, err := client.Flows(t.Context(), one)
			done <- err
		}()
		synctest.Wait()
		begun := time.Now()
		if err := client.Health(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 20*time.Second {
			t.Errorf("another request waited %s, want 20s", took)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestSlowAnswerThatStalls: the time for a request counts to the end of the body.
func TestSlowAnswerThatStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		server.FaultAlways(prefecttest.Any(), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("[{"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.RequestTimeout = 5 * time.Second })
		begun := time.Now()
		if _, err := client.Flows(t.Context(), one); !errors.Is(err, prefect.ErrTimeout) || time.Since(begun) != 5*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

// TestGivingUpWhileHeld: a caller who can't wait for the end of another request's pause is let go.
func TestGivingUpWhileHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		client := server.Client(t)
		server.Fault(prefecttest.Path("/flows/"), prefecttest.RetryAfter(429, "20"))
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := client.Flows(t.Context(), one); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := client.Health(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		first.Wait()
		if got := server.Count("/health"); got != 0 {
			t.Errorf("%d requests were sent in spite of the pause", got)
		}
	})
}
