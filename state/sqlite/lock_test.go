package sqlite_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

func TestLocked(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	locked := func(want bool) {
		t.Helper()
		if got, err := sqlite.Locked(path); err != nil || got != want {
			t.Errorf("locked: %v, %v, want %v", got, err, want)
		}
	}
	locked(false)
	s := openDaemon(t, path, sqlite.Options{})
	locked(true)
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{Daemon: true}); !errors.Is(err, state.ErrLocked) {
		t.Errorf("a second daemon in the same process: %v", err)
	}
	locked(true)
	must(t, s.Close())
	locked(false)
}

// TestLookingTurnsNobodyAway starts a daemon again and again while commands look whether one runs.
func TestLookingTurnsNobodyAway(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	stop := make(chan struct{})
	var group sync.WaitGroup
	defer group.Wait()
	defer close(stop)
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				if _, err := sqlite.Locked(path); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 10 {
		must(t, openDaemon(t, path, sqlite.Options{}).Close())
	}
}
