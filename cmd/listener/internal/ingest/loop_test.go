package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// poller answers each poll by a script; the last step stands for all later ones.
type poller struct {
	steps   []func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error)
	at      []time.Time
	cursors []prefect.Cursor
}

func (p *poller) Poll(ctx context.Context, cur prefect.Cursor, open prefect.OpenRuns, yield func(context.Context, prefect.Changes) error) error {
	step := p.steps[min(len(p.at), len(p.steps)-1)]
	p.at, p.cursors = append(p.at, time.Now()), append(p.cursors, cur)
	changes, err := step(cur, open)
	if err != nil {
		return err
	}
	return yield(ctx, changes)
}

func (p *poller) Stored(prefect.Changes, []uuid.UUID) {}

func quiet(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error) {
	now := time.Now()
	return prefect.Changes{Now: now, Cursor: &prefect.Cursor{Ended: now}}, nil
}

func failing(err error) func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error) {
	return func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error) { return prefect.Changes{}, err }
}

// positions are the loop's part of a store.
type positions struct {
	*ledger
	cursor  []byte
	open    []state.OpenRun
	checked []uuid.UUID
}

func (p *positions) Cursor(context.Context, string) ([]byte, error) { return p.cursor, nil }

func (p *positions) OpenRuns(context.Context, time.Time, int, func(uuid.UUID) bool) ([]state.OpenRun, error) {
	return p.open, nil
}

func (p *positions) MarkChecked(_ context.Context, ids []uuid.UUID, _ time.Time) error {
	p.checked = append(p.checked, ids...)
	return nil
}

func (p *positions) OpenTasksOfEndedFlows(context.Context, time.Time, int) ([]state.OrphanTask, error) {
	return nil, nil
}

type report struct{ lines []string }

func (r *report) PollSucceeded(time.Time)  { r.add("ok") }
func (r *report) PollsEvery(time.Duration) {}
func (r *report) PollFailed(err error)     { r.add("failed: " + err.Error()) }
func (r *report) Paused(reason string)     { r.add("paused: " + reason) }

// add keeps what is new: a poll's success that follows one is not.
func (r *report) add(line string) {
	if len(r.lines) == 0 || r.lines[len(r.lines)-1] != line {
		r.lines = append(r.lines, line)
	}
}

// room has a reason to pause for as long as it is set.
type room struct {
	mu     sync.Mutex
	reason string
}

func (r *room) Pause(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reason, nil
}

func (r *room) set(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = reason
}

type loopRig struct {
	loop   *ingest.Loop
	poller *poller
	store  *positions
	report *report
	room   *room
	logs   *observer.ObservedLogs
}

func newLoop(t *testing.T, steps ...func(prefect.Cursor, prefect.OpenRuns) (prefect.Changes, error)) *loopRig {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	a, err := adapter.New(adapter.Settings{Producer: "https://example.com/producer", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	r := &loopRig{poller: &poller{steps: steps}, store: &positions{ledger: newLedger()}, report: &report{}, room: &room{}, logs: logs}
	metrics := ingest.NewMetrics(prometheus.NewRegistry())
	r.loop = &ingest.Loop{
		Poller: r.poller, Store: r.store, Space: r.room, Report: r.report, Metrics: metrics, Log: zap.New(core),
		Recorder: ingest.NewRecorder(a, nil, r.store, zap.New(core), metrics, nil),
		Interval: 2 * time.Second, Grace: grace,
	}
	return r
}

// during runs the loop for a while of the bubble's time and returns its error.
func (r *loopRig) during(t *testing.T, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return r.loop.Run(ctx)
}

func (r *loopRig) messages() []string {
	var lines []string
	for _, e := range r.logs.All() {
		lines = append(lines, e.Message)
	}
	return lines
}

func TestLoopPollsAtTheInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet)
		if err := r.during(t, 9*time.Second); err != nil {
			t.Fatal(err)
		}
		if len(r.poller.at) != 5 {
			t.Errorf("%d polls in 9 s at an interval of 2 s", len(r.poller.at))
		}
		for i := 1; i < len(r.poller.cursors); i++ {
			if !r.poller.cursors[i].Ended.Equal(r.poller.at[i-1]) {
				t.Errorf("poll %d began at cursor %s, not where the last one ended", i, r.poller.cursors[i].Ended)
			}
		}
	})
}

func TestLoopGoesOnWhereTheStoreStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet)
		r.store.cursor = []byte(`{"ended":"2026-03-01T12:00:00Z"}`)
		_ = r.during(t, time.Second)
		if !r.poller.cursors[0].Ended.Equal(noon) {
			t.Errorf("the first poll began at %s", r.poller.cursors[0].Ended)
		}
	})
}

func TestLoopOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := &prefect.Error{Kind: prefect.ErrUnavailable, Reason: "connection"}
		r := newLoop(t, quiet)
		for range 6 {
			r.poller.steps = append(r.poller.steps, failing(refused))
		}
		r.poller.steps = append(r.poller.steps, quiet)
		if err := r.during(t, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		want := []string{"Prefect cannot be read; trying until it can", "Prefect can be read again"}
		if got := r.messages(); !slices.Equal(got, want) {
			t.Errorf("the log says %q, not one line each way", got)
		}
		for i := 1; i < len(r.poller.at); i++ {
			if wait := r.poller.at[i].Sub(r.poller.at[i-1]); wait < 2*time.Second || wait > 30*time.Second {
				t.Errorf("%s between polls %d and %d", wait, i-1, i)
			}
		}
		if got := fmt.Sprint(r.report.lines); !strings.HasPrefix(got, "[ok failed") || !strings.HasSuffix(got, "ok]") {
			t.Errorf("reported: %s", got)
		}
	})
}

func TestLoopHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, failing(&prefect.Error{Kind: prefect.ErrUnavailable, Reason: "status-429", RetryAfter: 45 * time.Second}), quiet)
		_ = r.during(t, time.Minute)
		if wait := r.poller.at[1].Sub(r.poller.at[0]); wait < 45*time.Second {
			t.Errorf("polled again after %s, 45 s were asked for", wait)
		}
	})
}

func TestLoopPausesForSpace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet)
		r.room.set("the outbox is full")
		began := time.Now()
		time.AfterFunc(65*time.Second, func() { r.room.set("") })
		_ = r.during(t, 70*time.Second)
		if len(r.poller.at) == 0 || r.poller.at[0].Sub(began) < 65*time.Second {
			t.Errorf("polled at %v while reading was to rest", r.poller.at)
		}
		want := []string{
			"reading from Prefect is paused", "reading from Prefect is still paused", "reading from Prefect is still paused",
			"reading from Prefect goes on",
		}
		if got := r.messages(); !slices.Equal(got, want) {
			t.Errorf("the log says %q", got)
		}
	})
}

// bigPoller brings so many portions in each poll.
type bigPoller struct {
	portions int
	yielded  []int // in each poll
}

func (p *bigPoller) Poll(ctx context.Context, _ prefect.Cursor, _ prefect.OpenRuns, yield func(context.Context, prefect.Changes) error) error {
	p.yielded = append(p.yielded, 0)
	for range p.portions {
		p.yielded[len(p.yielded)-1]++
		if err := yield(ctx, prefect.Changes{Now: time.Now()}); err != nil {
			return err
		}
	}
	return nil
}

func (p *bigPoller) Stored(prefect.Changes, []uuid.UUID) {}

// shrinking is a room that is full after so many looks, until it is emptied.
type shrinking struct{ looks atomic.Int64 }

func (s *shrinking) Pause(context.Context) (string, error) {
	if s.looks.Add(-1) < 0 {
		return "the outbox is full", nil
	}
	return "", nil
}

// The limit is reached in the middle of a poll, as after an outage: what is left of the poll waits as well.
func TestLoopPausesWithinAPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet)
		big, full := &bigPoller{portions: 100}, &shrinking{}
		full.looks.Store(4)
		r.loop.Poller, r.loop.Space = big, full
		time.AfterFunc(5*time.Second, func() { full.looks.Store(1000) })
		if err := r.during(t, 9*time.Second); err != nil {
			t.Fatal(err)
		}
		// Two more may have been read by the time that the fourth is stored.
		if len(big.yielded) != 3 || big.yielded[0] < 4 || big.yielded[0] > 6 || big.yielded[1] != 100 {
			t.Errorf("the polls took %v portions, not 4 to 6 and then all of them", big.yielded)
		}
		want := []string{"reading from Prefect is paused", "reading from Prefect goes on"}
		if got := r.messages(); !slices.Equal(got, want) {
			t.Errorf("the log says %q", got)
		}
		if got := fmt.Sprint(r.report.lines); got != "[ok paused: the outbox is full paused:  ok]" {
			t.Errorf("reported: %s", got)
		}
	})
}

func TestLoopPausesWhenTheStoreIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet)
		r.store.fail = fmt.Errorf("disk: %w", state.ErrFull)
		time.AfterFunc(5*time.Second, func() {
			r.store.mu.Lock()
			defer r.store.mu.Unlock()
			r.store.fail = nil
		})
		if err := r.during(t, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < 3; i++ {
			if !r.poller.cursors[i].Ended.IsZero() {
				t.Errorf("the cursor moved to %s though nothing could be stored", r.poller.cursors[i].Ended)
			}
		}
		if last := r.messages()[len(r.messages())-1]; last != "reading from Prefect goes on" {
			t.Errorf("the last line is %q", last)
		}
	})
}

func TestLoopEndsWhenTheDiskFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newLoop(t, quiet)
		r.store.fail = fmt.Errorf("disk: %w", state.ErrFatalIO)
		if err := r.during(t, time.Minute); !errors.Is(err, state.ErrFatalIO) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestLoopAsksForOpenRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		young, old, task := runID(1), runID(2), runID(3)
		var asked prefect.OpenRuns
		r := newLoop(t, func(c prefect.Cursor, open prefect.OpenRuns) (prefect.Changes, error) {
			asked = open
			return quiet(c, open)
		})
		r.store.open = []state.OpenRun{
			{ID: young, Kind: adapter.FlowRun, FirstSaid: time.Now()},
			{ID: old, Kind: adapter.FlowRun, FirstSaid: time.Now().Add(-2 * time.Hour)},
			{ID: task, Kind: adapter.TaskRun, FirstSaid: time.Now()},
		}
		_ = r.during(t, time.Second)
		if !slices.Equal(asked.FlowRuns, []uuid.UUID{young, old}) || !slices.Equal(asked.TaskRuns, []uuid.UUID{task}) {
			t.Errorf("asked for %+v", asked)
		}
		if !slices.Equal(r.store.checked, []uuid.UUID{old}) {
			t.Errorf("marked %v as checked: only runs that are not due at every poll need it", r.store.checked)
		}
	})
}
