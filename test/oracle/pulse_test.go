package oracle_test

import (
	"sync"
	"testing"
	"time"
)

// pulse watches, until the test ends, for how long the machine lets this process stand still: what is late by no more
// than that, nobody else need answer for. It returns the longest time so far.
func pulse(t *testing.T) func() time.Duration {
	t.Helper()
	const beat = 20 * time.Millisecond
	var mu sync.Mutex
	var longest time.Duration
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		last := time.Now()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
			now := time.Now()
			mu.Lock()
			longest = max(longest, now.Sub(last)-beat)
			mu.Unlock()
			last = now
		}
	})
	t.Cleanup(func() {
		close(quit)
		watching.Wait()
	})
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return longest
	}
}
