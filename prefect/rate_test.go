package prefect_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func TestRateCap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.MaxRequestsPerSecond = 2 })
		begun := time.Now()
		for range 12 {
			if err := client.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != 5*time.Second { // two at once, then one each half second
			t.Errorf("12 requests at 2 a second took %s, want 5s", took)
		}
		// Tries count too.
		server.Fault(prefecttest.Any(), prefecttest.Status(500), prefecttest.Status(500))
		begun = time.Now()
		if err := client.Health(t.Context()); err != nil || time.Since(begun) < 1400*time.Millisecond {
			t.Errorf("three tries took %s: %v", time.Since(begun), err)
		}
		// A wait that would end after the caller's time is not begun.
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := client.Health(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no time left: %v", err)
		}
	})
}

func TestNoRateCap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := prefecttest.New(t).Client(t)
		begun := time.Now()
		for range 100 {
			if err := client.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("100 requests took %s", took)
		}
	})
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	for setting, want := range map[int]int64{0: prefect.DefaultMaxInFlight, 1: 1, 3: 3} {
		synctest.Test(t, func(t *testing.T) {
			server := prefecttest.New(t)
			var now, most atomic.Int64
			server.FaultAlways(prefecttest.Any(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				prefecttest.Slow(time.Second)(w, r, next)
			})
			client := newClient(t, server, func(cfg *prefect.Config) { cfg.MaxInFlight = setting })
			var all sync.WaitGroup
			for range 12 {
				all.Go(func() {
					if err := client.Health(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if got := most.Load(); got != want {
				t.Errorf("set to %d: %d requests at once, want %d", setting, got, want)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := client.Health(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled: %v", err)
			}
		})
	}
}

// TestWaitingForASlot: a caller who gives up while others are under way is not held.
func TestWaitingForASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		server.Fault(prefecttest.Any(), prefecttest.Slow(30*time.Second))
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.MaxInFlight = 1 })
		var first sync.WaitGroup
		first.Go(func() {
			if err := client.Health(t.Context()); err != nil {
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
		if got := server.Count("/health"); got != 1 {
			t.Errorf("%d requests were sent", got)
		}
	})
}

// TestIdleConnections: a connection is kept between polls, and given up before a server of 5 seconds closes it.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		var dialed atomic.Int64
		dial := server.Config().DialContext
		client := newClient(t, server, func(cfg *prefect.Config) {
			cfg.DialContext = countDials(dial, &dialed)
		})
		for i, step := range []struct {
			pause time.Duration
			want  int64
		}{{0, 1}, {3 * time.Second, 1}, {3 * time.Second, 1}, {4500 * time.Millisecond, 2}} {
			time.Sleep(step.pause)
			if err := client.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := dialed.Load(); got != step.want {
				t.Errorf("request %d after %s: %d connections so far, want %d", i, step.pause, got, step.want)
			}
		}
	})
}

// TestClose: a client that is closed leaves no connection behind.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		dial := server.Config().DialContext
		var open atomic.Int64
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.DialContext = countOpen(dial, &open) })
		if err := client.Health(t.Context()); err != nil || open.Load() != 1 {
			t.Fatalf("%d connections after a request: %v", open.Load(), err)
		}
		client.Close()
		synctest.Wait()
		if got := open.Load(); got != 0 {
			t.Errorf("%d connections are open after Close", got)
		}
	})
}
