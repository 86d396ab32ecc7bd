package prefect_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

var versions = []string{prefecttest.V2_20, prefecttest.V3_6, prefecttest.V3_9}

// haunted is a server whose list of what ended shows flow runs as they were.
type haunted struct {
	*prefect.Client
	ghosts []prefect.FlowRun
}

func (h *haunted) FlowRuns(ctx context.Context, f prefect.Filter) (prefect.Page[prefect.FlowRun], error) {
	page, err := h.Client.FlowRuns(ctx, f)
	if run := f.FlowRuns; run != nil && run.EndTime != nil && run.EndTime.After != nil {
		page.Rows = append(page.Rows, h.ghosts...)
	}
	return page, err
}

func TestPollOnEveryVersion(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, database := range []string{"SQLite", "PostgreSQL"} {
			t.Run(version+" on "+database, func(t *testing.T) {
				t.Parallel()
				options := []prefecttest.Option{prefecttest.Version(version), prefecttest.PageLimit(20)}
				if database == "PostgreSQL" {
					options = append(options, prefecttest.PostgreSQL())
				}
				testPollOnVersion(t, newWorldWith(t, prefect.PollerConfig{Lookback: 60 * time.Hour}, options...))
			})
		}
	}
}

func testPollOnVersion(t *testing.T, w *world) {
	for range 50 { // what has no end stands before or behind all that has
		w.AddFlowRun(prefect.FlowRun{FlowID: w.flow.ID})
		w.SetState(w.AddTaskRun(prefect.TaskRun{}).ID, prefect.State{Type: prefect.Pending})
	}
	w.settle(t)
	runs := w.away(20*time.Minute, 60, 2)
	s := w.poll(t)
	s.want(t, prefect.Completed, runs...)
	if len(s.states) != 60*3 {
		t.Errorf("%d runs were seen, want %d", len(s.states), 60*3)
	}

	late := w.endedTaskRun(w.now().Add(-9 * time.Minute))
	later := w.endedTaskRun(w.now().Add(-22 * time.Hour))
	w.pass(30 * time.Second)
	w.poll(t).wantNot(t, late, later)
	w.pass(31 * time.Second)
	s = w.poll(t)
	s.want(t, prefect.Completed, late)
	s.wantNot(t, later)
	w.pass(time.Hour)
	w.poll(t).want(t, prefect.Completed, later)
}

func TestPollAsksOncePerVersion(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, prefecttest.Version(version))
			w.poll(t)
			w.ForgetRequests()
			w.pass(2 * time.Second)
			w.poll(t)
			want := 4
			if version != prefecttest.V3_9 {
				want = 5 // flow runs that ended without a start are a list of their own
			}
			if n := w.Count(""); n != want {
				t.Errorf("the second poll made %d requests, want %d", n, want)
			}
			for _, f := range w.lists(t, "task_runs") {
				if version != prefecttest.V3_9 && f.TaskRuns.EndTime != nil {
					t.Error("task runs were asked for by end time again")
				}
			}
		})
	}
}

// moved is a server that can be replaced by another while it is read.
type moved struct{ *prefect.Client }

func TestPollAsksAnewAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		older, newer := newWorld(t, prefecttest.Version(prefecttest.V2_20)), newWorld(t)
		server := &moved{older.client}
		older.poller = prefect.NewPoller(server, prefect.PollerConfig{})
		older.poll(t)
		server.Client = newer.client
		time.Sleep(6 * time.Minute)
		older.poll(t)
		narrow := 0
		for _, f := range newer.lists(t, "task_runs") {
			if f.TaskRuns.EndTime != nil && f.TaskRuns.EndTime.After != nil {
				narrow++
			}
		}
		if narrow == 0 {
			t.Error("the new server's filter by end time is not used")
		}

		// A server that is set back to an older version refuses what it was thought to know: one poll fails.
		server.Client = older.client
		before := older.cur
		if _, err := older.tryPoll(t.Context()); err == nil || older.cur != before {
			t.Errorf("got %v, and the position %v", err, older.cur)
		}
		older.poll(t)
	})
}

// Runs that end without having started are found on every version, wherever the order by end time has them, and told
// from those that ended long ago.
func TestPollFindsWhatNeverStarted(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		for _, database := range []string{"SQLite", "PostgreSQL"} {
			t.Run(version+" on "+database, func(t *testing.T) {
				t.Parallel()
				options := []prefecttest.Option{prefecttest.Version(version), prefecttest.PageLimit(10)}
				if database == "PostgreSQL" {
					options = append(options, prefecttest.PostgreSQL())
				}
				testPollFindsWhatNeverStarted(t, newWorld(t, options...))
			})
		}
	}
}

func testPollFindsWhatNeverStarted(t *testing.T, w *world) {
	var old []uuid.UUID
	for range 15 {
		old = append(old, w.cancelled(w.now().Add(-50*time.Hour)))
	}
	w.away(3*time.Hour, 40, 1)
	w.poll(t).wantNot(t, old...)

	running, done := w.flowRun(w.now()), w.flowRun(w.now())
	w.pass(10 * time.Second)
	cached := []uuid.UUID{w.cached(running), w.cached(done)}
	fresh, late := w.cancelled(w.now().Add(-time.Minute)), w.cancelled(w.now().Add(-5*time.Hour))
	ahead, ancient := w.cancelled(w.now().Add(48*time.Hour)), w.cancelled(w.now().Add(-50*time.Hour))
	w.end(done, w.now())
	s := w.poll(t)
	s.want(t, prefect.Completed, cached...)
	s.want(t, prefect.Cancelled, fresh, ahead)
	seen := newSight()
	for range 70 {
		w.pass(time.Minute)
		for _, portion := range w.poll(t).portions {
			seen.take(portion)
		}
	}
	seen.wantNot(t, old...)
	if s.times[late]+seen.times[late] == 0 || s.times[ancient]+seen.times[ancient] == 0 {
		t.Error("a flow run that was cancelled long after it should have started was not found")
	}
}

// cancelled adds a flow run that was to start at some time and is cancelled now.
func (w *world) cancelled(expected time.Time) uuid.UUID {
	at := w.now()
	if expected.Before(at.Add(-24*time.Hour)) && w.cur.Ended.IsZero() {
		at = expected
	}
	run := w.AddFlowRun(prefect.FlowRun{FlowID: w.flow.ID, Created: expected.Add(-time.Hour), ExpectedStartTime: &expected})
	w.SetState(run.ID, prefect.State{Type: prefect.Cancelled, Timestamp: at})
	return run.ID
}

// cached adds a task run whose result was there before it began.
func (w *world) cached(flowRun uuid.UUID) uuid.UUID {
	run := w.AddTaskRun(prefect.TaskRun{FlowRunID: &flowRun, Created: w.now()})
	w.SetState(run.ID, prefect.State{Type: prefect.Completed, Name: "Cached", Timestamp: w.now()})
	return run.ID
}

// An early 3 leaves the end time off a task run that timed out. Where nobody saw it run, it is found with its flow run.
func TestPollFindsWhatTimedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prefecttest.Version(prefecttest.V3_6), prefecttest.PageLimit(10))
	w.away(3*time.Hour, 40, 1)
	w.poll(t)
	flow, start := w.flowRun(w.now()), w.now()
	w.pass(10 * time.Second)
	timedOut := w.AddTaskRun(prefect.TaskRun{
		FlowRunID: &flow, RunCount: 1, StartTime: &start, Created: start,
		State: &prefect.State{Type: prefect.Failed, Name: "TimedOut", Timestamp: w.now()},
	}).ID
	w.end(flow, w.now())
	w.poll(t).want(t, prefect.Failed, timedOut)
}

// Before version 3, a run's name can still change for a moment after it shows as running.
func TestPollWaitsForNamesToSettle(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, prefecttest.Version(version))
			w.poll(t)
			w.pass(10 * time.Second)
			flow := w.flowRun(w.now().Add(-500 * time.Millisecond))
			task := w.taskRun(flow, w.now())
			open := prefect.OpenRuns{FlowRuns: []uuid.UUID{flow}, TaskRuns: []uuid.UUID{task}}
			s := w.poll(t, open)
			if len(s.gone) > 0 {
				t.Errorf("gone: %v", s.gone)
			}
			if version != prefecttest.V2_20 {
				s.want(t, prefect.Running, flow, task)
				return
			}
			s.wantNot(t, flow, task)
			w.pass(2 * time.Second)
			w.poll(t, open).want(t, prefect.Running, flow, task)
			w.end(task, w.now())
			w.poll(t, open).want(t, prefect.Completed, task) // an end waits for nothing
		})
	}
}

// A server that overlooks filters it doesn't know must not pass for one that knows them.
func TestPollNoticesAnOverlookedFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prefecttest.PageLimit(20))
	w.settle(t)
	w.poller = prefect.NewPoller(overlooking{w.client}, prefect.PollerConfig{})
	var rows []uuid.UUID
	for i := range 70 {
		rows = append(rows, w.endedTaskRun(w.now().Add(time.Duration(-i)*time.Second/3)))
	}
	w.poll(t).want(t, prefect.Completed, rows...)
}

type overlooking struct{ *prefect.Client }

func (o overlooking) TaskRuns(ctx context.Context, f prefect.Filter) (prefect.Page[prefect.TaskRun], error) {
	run := *f.TaskRuns
	run.EndTime, f.TaskRuns = nil, &run
	return o.Client.TaskRuns(ctx, f)
}
