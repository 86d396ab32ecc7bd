package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state"
)

// belongings are the guard's part of a store.
type belongings struct {
	mu    sync.Mutex
	owner state.Owner
	known []state.Acquaintance
}

func (b *belongings) Owner(context.Context) (state.Owner, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owner, nil
}

func (b *belongings) SetOwner(_ context.Context, owner state.Owner) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owner = owner
	return nil
}

// adopted lets the store go over to another Prefect, as a command beside the daemon does.
func (b *belongings) adopted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owner.Since = time.Now()
}

func (b *belongings) Acquaintances(_ context.Context, after time.Time, limit int) ([]state.Acquaintance, error) {
	var some []state.Acquaintance
	for _, run := range b.known {
		if run.Said.After(after) && len(some) < limit {
			some = append(some, run)
		}
	}
	return some, nil
}

// guardRig is a guard over a Prefect in memory, with a poller by script.
type guardRig struct {
	t        *testing.T
	prefect  *prefecttest.Server
	store    *belongings
	guard    *ingest.Guard
	poller   *poller
	logs     *observer.ObservedLogs
	registry *prometheus.Registry
	yielded  int
	cursor   prefect.Cursor
}

const hereAPI = "http://prefect/api"

func newGuard(t *testing.T, steps ...func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error)) *guardRig {
	t.Helper()
	if len(steps) == 0 {
		steps = append(steps, quiet)
	}
	core, logs := observer.New(zap.InfoLevel)
	r := &guardRig{
		t: t, prefect: prefecttest.New(t), store: &belongings{owner: state.Owner{API: hereAPI, Since: time.Now()}},
		poller: &poller{steps: steps}, logs: logs, registry: prometheus.NewRegistry(),
	}
	r.guard = &ingest.Guard{
		Poller: r.poller, Store: r.store, API: hereAPI, Metrics: ingest.NewMetrics(r.registry), Log: zap.New(core),
		Prefect: prefect.NewReader(r.prefect.Client(t), prefect.ReaderConfig{}),
	}
	return r
}

// tells adds flow runs to Prefect, the oldest first, and lets the store know them.
func (r *guardRig) tells(count int) (ids []uuid.UUID) {
	flow := r.prefect.AddFlow("Load")
	for range count {
		time.Sleep(time.Second)
		run := r.prefect.AddFlowRun(prefect.FlowRun{FlowID: flow.ID})
		ids = append(ids, run.ID)
		known := state.Acquaintance{ID: run.ID, Kind: adapter.FlowRun, FlowID: flow.ID, Said: time.Now()}
		r.store.known = append([]state.Acquaintance{known}, r.store.known...)
	}
	return ids
}

// reset takes everything out of Prefect's database.
func (r *guardRig) reset() {
	for _, run := range r.store.known {
		r.prefect.Delete(run.ID)
		r.prefect.Delete(run.FlowID)
	}
}

func (r *guardRig) poll() error {
	return r.guard.Poll(r.t.Context(), r.cursor, prefect.OpenRuns{}, func(_ context.Context, c prefect.Changes) error {
		r.yielded++
		if c.Cursor != nil {
			r.cursor = *c.Cursor
		}
		return nil
	})
}

// stranger wants a poll to end because Prefect is another one, with nothing read, and returns what it says.
func (r *guardRig) stranger() string {
	r.t.Helper()
	before := r.yielded
	err := r.poll()
	if _, ok := errors.AsType[*ingest.Stranger](err); !ok || r.yielded != before {
		r.t.Fatalf("the poll brought %d portions and ended with %v", r.yielded-before, err)
	}
	return err.Error()
}

func (r *guardRig) fine() {
	r.t.Helper()
	if err := r.poll(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *guardRig) wantMissing(runs int) {
	r.t.Helper()
	want := fmt.Sprintf("# HELP prefect_openlineage_known_runs_missing How many of the newest flow runs that were told about Prefect doesn't have any more.\n"+
		"# TYPE prefect_openlineage_known_runs_missing gauge\nprefect_openlineage_known_runs_missing %d\n", runs)
	if err := testutil.GatherAndCompare(r.registry, strings.NewReader(want), "prefect_openlineage_known_runs_missing"); err != nil {
		r.t.Error(err)
	}
}

// in runs a test in a bubble of time.
func in(test func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	t.Run("knows its Prefect, and looks seldom", in(func(t *testing.T) {
		r := newGuard(t)
		r.tells(5)
		for range 10 * 30 { // ten minutes
			r.fine()
			time.Sleep(2 * time.Second)
		}
		if n := r.prefect.Count(""); n > 3 || r.yielded != 300 {
			t.Errorf("%d requests in ten minutes, %d portions", n, r.yielded)
		}
		r.wantMissing(0)
	}))
	t.Run("asks for nothing where nothing is known", in(func(t *testing.T) {
		r := newGuard(t)
		r.fine()
		if n := r.prefect.Count(""); n != 0 {
			t.Errorf("%d requests", n)
		}
	}))
	t.Run("holds at another database, until the store is let go over to it", in(func(t *testing.T) {
		r := newGuard(t)
		r.tells(5)
		r.reset()
		if said := r.stranger(); !strings.Contains(said, "LISTENER_STATE") || !strings.Contains(said, "listener adopt") ||
			!strings.Contains(said, hereAPI) {
			t.Errorf("it says %q", said)
		}
		time.Sleep(time.Second)
		r.stranger()
		r.store.owner.Since = time.Now() // as the command does
		r.fine()
	}))
	t.Run("holds at another address with another database", in(func(t *testing.T) {
		r := newGuard(t)
		r.tells(5)
		r.reset()
		r.store.owner.API = "http://elsewhere/api"
		if said := r.stranger(); !strings.Contains(said, "http://elsewhere/api") || !strings.Contains(said, hereAPI) {
			t.Errorf("it says %q", said)
		}
		if r.store.owner.API != "http://elsewhere/api" {
			t.Error("the store went over by itself")
		}
	}))
	t.Run("follows its Prefect to another address", in(func(t *testing.T) {
		r := newGuard(t)
		r.tells(5)
		since := r.store.owner.Since
		r.store.owner.API = "http://elsewhere/api"
		r.fine()
		if r.store.owner.API != hereAPI || !r.store.owner.Since.Equal(since) || r.logs.FilterMessageSnippet("another address").Len() != 1 {
			t.Errorf("the store belongs to %+v; the log: %v", r.store.owner, r.logs.All())
		}
	}))
	t.Run("knows it by task runs, and by flows", in(func(t *testing.T) {
		r := newGuard(t)
		r.tells(3)
		task := r.prefect.AddTaskRun(prefect.TaskRun{})
		r.store.known = append(r.store.known, state.Acquaintance{ID: task.ID, Kind: adapter.TaskRun, Said: time.Now().Add(time.Second)})
		for _, run := range r.store.known[:3] {
			r.prefect.Delete(run.ID)
		}
		r.prefect.Delete(r.store.known[0].FlowID)
		r.fine()
		r.prefect.Delete(task.ID)
		r.prefect.AddFlow("Load")
		time.Sleep(6 * time.Minute)
		r.fine()
		r.prefect.Delete(r.store.known[0].FlowID)
		time.Sleep(6 * time.Minute)
		r.stranger()
	}))
}

func TestGuardNoticesARestoredDatabase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		missing, warns int
	}{
		{"two runs were deleted", 2, 0},
		{"the newest four are missing", 4, 1},
		{"only the flows are left", 5, 1},
	} {
		t.Run(test.name, in(func(t *testing.T) {
			r := newGuard(t)
			ids := r.tells(5)
			r.fine()
			r.cursor = prefect.Cursor{Ended: time.Now(), Swept10m: time.Now(), SweptDay: time.Now()}
			for i := range test.missing {
				r.prefect.Delete(ids[len(ids)-1-i])
			}
			for range 3 {
				time.Sleep(6 * time.Minute)
				r.fine()
			}
			if n := r.logs.FilterMessageSnippet("restored from a copy").Len(); n != test.warns {
				t.Errorf("it was said %d times, not %d", n, test.warns)
			}
			again := 0
			for _, cur := range r.poller.cursors[1:] {
				if !cur.Ended.IsZero() && cur.SweptDay.IsZero() && cur.Swept10m.IsZero() {
					again++
				}
			}
			if again == 0 && test.warns > 0 {
				t.Error("nothing was read again")
			}
			r.wantMissing(test.missing)
		}))
	}
}

// A database that is reset while the listener runs is noticed before anything of it is recorded.
func TestGuardLooksWhenRunsAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error) {
			return prefect.Changes{Now: time.Now(), Gone: []uuid.UUID{uuid.New()}}, nil
		}
		r := newGuard(t, quiet, gone)
		r.tells(5)
		r.fine()
		r.reset()
		time.Sleep(2 * time.Minute)
		r.stranger()
	})
}

// Nor does it take a look's time when Prefect comes back from an outage.
func TestGuardLooksAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := &prefect.Error{Kind: prefect.ErrUnavailable, Reason: "connection"}
		r := newGuard(t, quiet, failing(away), quiet)
		r.tells(5)
		r.fine()
		if err := r.poll(); !errors.Is(err, prefect.ErrUnavailable) {
			t.Fatal(err)
		}
		r.reset()
		r.stranger()
		r.prefect.FaultAlways(prefecttest.Any(), prefecttest.Status(503))
		if err := r.poll(); !errors.Is(err, prefect.ErrUnavailable) {
			t.Errorf("a Prefect that does not answer is taken for another one: %v", err)
		}
	})
}

func TestGuardSaysThatTheClockWentBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newGuard(t)
		for _, ahead := range []time.Duration{0, 2 * time.Second, time.Hour} {
			r.cursor = prefect.Cursor{Ended: time.Now().Add(ahead)}
			r.fine()
		}
		if n := r.logs.FilterMessageSnippet("clock is behind").Len(); n != 1 {
			t.Errorf("it was said %d times, not once", n)
		}
	})
}

// The loop rests while Prefect is another one, says so, and goes on by itself.
func TestLoopRestsAtAnotherPrefect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t)
		g.tells(3)
		g.reset()
		r := newLoop(t, quiet)
		r.loop.Poller = g.guard
		time.AfterFunc(50*time.Second, g.store.adopted)
		_ = r.during(t, 70*time.Second)
		want := []string{"reading from Prefect is paused", "reading from Prefect is still paused", "reading from Prefect goes on"}
		if got := r.messages(); strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("the log says %q", got)
		}
		if got := strings.Join(r.report.lines, "; "); !strings.Contains(got, "paused: "+hereAPI) || strings.Contains(got, "failed") {
			t.Errorf("reported: %s", got)
		}
		if n := g.prefect.Count(""); n > 2*12 {
			t.Errorf("%d requests while it rested", n)
		}
	})
}
