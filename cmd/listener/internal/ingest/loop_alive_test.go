package ingest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
)

// Whatever becomes of a poll, the loop says that it lives before it, at each portion, and how long it rests then: nobody who
// waits so long takes it for stuck.
func TestLoopTellsThatItLives(t *testing.T) {
	t.Parallel()
	const took = 40 * time.Second
	slow := func(cur prefect.Cursor, open prefect.OpenRuns) (prefect.Changes, error) {
		time.Sleep(took)
		return quiet(cur, open)
	}
	away := func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error) {
		return prefect.Changes{}, &prefect.Error{Kind: prefect.ErrUnavailable, Reason: "503", RetryAfter: 5 * time.Minute}
	}
	broken := func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error) {
		return prefect.Changes{}, errors.New("no rows")
	}
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet, slow, away, broken, quiet)
		var signs, longest = 0, time.Duration(0)
		until := time.Now()
		r.loop.Alive = func(rest time.Duration) {
			longest = max(longest, time.Since(until))
			signs, until = signs+1, time.Now().Add(rest)
		}
		if err := r.during(t, 30*time.Minute); err != nil {
			t.Fatal(err)
		}
		if longest > took || signs < 3*len(r.poller.at)-2 {
			t.Errorf("%d signs in %d polls, and none for %s", signs, len(r.poller.at), longest)
		}
	})
}

// A loop that rests because of the store lives too.
func TestLoopThatRestsLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet)
		r.room.set("full")
		signs := 0
		r.loop.Alive = func(time.Duration) { signs++ }
		_ = r.during(t, time.Minute)
		if signs < 20 {
			t.Errorf("%d signs in a minute", signs)
		}
	})
}
