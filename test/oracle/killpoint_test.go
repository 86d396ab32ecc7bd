package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state/sqlite"
	"github.com/prefect-openlineage/listener/test/oracle/judge"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Test 3. Killed between the moment at which the consumer has an event and the one at which the listener knows: what was
// under way comes once more, with the same bytes and in order.
func TestKilledBeforeSettled(t *testing.T) {
	t.Parallel()
	// A single run has one event under way, so exactly that one may come twice.
	for _, kind := range []string{"START", "COMPLETE"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			takes(t, light)
			w := newWorld(t, "a")
			w.killOn(w.consumer("a"), func(r transporttest.Request) bool { return r.Type == kind })
			w.past(shape{plain: true}, 1, time.Second, time.Now())
			w.daemon.launch()
			w.daemon.ended(20 * time.Second)
			w.daemon.start()
			w.caughtUp(20 * time.Second)
			w.consumer("a").copies = 1
			w.judge()
			if repeats := w.verdict(w.consumer("a"), w.told()).Repeats; repeats != 1 {
				t.Errorf("%d events came twice, not one", repeats)
			}
			w.fresh()
		})
	}
	t.Run("many", func(t *testing.T) {
		t.Parallel()
		takes(t, heavy)
		w := newWorld(t, "a", "b")
		w.past(shape{tasks: 10}, 40, 10*time.Second, time.Now())
		kills := []int{1, 100, 300, 500, 700} // of 880 events
		for _, at := range kills {
			w.killOn(w.consumer("a"), func(r transporttest.Request) bool { return r.N >= at })
			w.daemon.launch()
			w.daemon.ended(30 * time.Second)
		}
		w.consumer("a").Script(nil)
		w.daemon.start()
		w.caughtUp(30 * time.Second)
		for _, c := range w.consumers {
			c.copies = len(kills) * inFlight
		}
		w.fresh()
		w.judge()
	})
}

// killOn kills the listener when the consumer has taken the first event that a condition is true of, before the answer.
func (w *world) killOn(c *consumer, is func(transporttest.Request) bool) {
	var once sync.Once
	c.Script(func(r transporttest.Request) transporttest.Reply {
		if is(r) {
			once.Do(w.daemon.kill)
		}
		return transporttest.OK()
	})
}

// Test 4. Killed between the moment at which pages have been read and the one at which their events are stored: nothing
// is half stored, and the next start reads the same again, so that no consumer notices.
func TestKilledBeforeStored(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	// The artifacts are the last thing that is read of a portion. The first one of a start is killed, then the second.
	for round := range 4 {
		w.past(shape{tasks: 10}, 10, 2*time.Second, time.Now())
		seen, nth := 0, round%2+1
		var once sync.Once
		w.server.OnRequest(func(r prefecttest.Request) {
			if strings.HasPrefix(r.Path, "/artifacts/") {
				if seen++; seen == nth {
					once.Do(w.daemon.kill)
				}
			}
		})
		before := w.stored(w.told())
		w.daemon.launch()
		w.daemon.ended(20 * time.Second)
		w.server.OnRequest(nil)
		if after := w.stored(w.told()); nth == 1 && after != before {
			t.Errorf("round %d: the store held %s and then %s", round, before, after)
		}
		w.daemon.start()
		w.caughtUp(20 * time.Second)
		w.daemon.stop() // so that nothing is under way at the next kill
	}
	w.daemon.start()
	w.fresh()
	w.judge()
}

// holding is what the store of a listener that does not run holds of a history.
type holding struct {
	told   int // runs that something was said of
	events int64
}

func (h holding) String() string { return fmt.Sprintf("%d runs and %d events", h.told, h.events) }

// hasStore says whether the listener has made its store yet.
func (d *daemon) hasStore() bool {
	_, err := os.Stat(d.state)
	return !errors.Is(err, fs.ErrNotExist)
}

// open opens the store of a listener that does not run, as a command would.
func (d *daemon) open() *sqlite.Store {
	d.t.Helper()
	store, err := sqlite.Open(context.Background(), d.state, sqlite.Options{})
	if err != nil {
		d.t.Fatalf("opening the store: %v", err)
	}
	return store
}

// stored looks into the store of a listener that does not run.
func (w *world) stored(told []judge.Event) holding {
	w.t.Helper()
	if !w.daemon.hasStore() {
		return holding{}
	}
	store := w.daemon.open()
	defer store.Close()
	ids := map[uuid.UUID]bool{}
	for _, e := range told {
		ids[uuid.MustParse(e.Run.ID)] = true
	}
	entries, err := store.Told(context.Background(), slices.Collect(maps.Keys(ids)))
	if err != nil {
		w.t.Fatal(err)
	}
	var h holding
	for _, entry := range entries {
		if entry.Phase != adapter.Unsaid {
			h.told++
		}
	}
	size, err := store.Size(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	h.events = size.Events
	return h
}
