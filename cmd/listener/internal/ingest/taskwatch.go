package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// taskWatchName is the name under which the habits of flows are stored.
const taskWatchName = "task-watch"

// What the watch goes by. Times are the server's.
const (
	watchFresh    = 30 * time.Minute // a run counts when it is read within this after its end
	watchShort    = time.Hour        // and when it took no longer: its task runs would be remembered
	watchPatience = 5 * time.Minute  // task runs may show so much later than their flow run
	watchMemory   = 2 * time.Hour    // above the sum of these
	watchRuns     = 50_000           // remembered at most
	watchBare     = 1000             // of these without task runs
	watchSave     = 10 * time.Minute

	bareRuns  = 3 // runs without task runs make the alarm, when no task run at all ran since the first
	bareFlows = 3 // or so many flows, each with
	bareTwice = 2 // so many runs, while others' task runs are seen
)

// TaskMemory keeps what the watch has learned.
type TaskMemory interface {
	Cursor(ctx context.Context, name string) ([]byte, error)
	Commit(ctx context.Context, batch state.Batch) (state.Committed, error)
}

// TaskWatch notices that flow runs come and their task runs don't. Prefect writes flow runs down itself, and task runs from
// events that the flows' processes send: where that channel is broken, flows run well and their task runs are nowhere to
// be read. Nothing says how many task runs a flow run had, so the watch goes by habit: by flows of which every run had
// some. It is safe for use by several goroutines. A nil TaskWatch notices nothing.
type TaskWatch struct {
	store   TaskMemory
	metrics *Metrics
	log     *zap.Logger

	mu       sync.Mutex
	habits   map[uuid.UUID]*habit
	began    time.Time               // runs that started earlier may have had task runs that this process has not seen
	seen     map[uuid.UUID]time.Time // flow runs with task runs, by when one was last read
	ended    map[uuid.UUID]endedRun  // completed flow runs that are not judged yet
	judged   map[uuid.UUID]time.Time
	lastTask time.Time // when a task run last ran
	bare     []endedRun
	alarm    time.Time          // since when; zero: none
	struck   map[uuid.UUID]bool // flows that had such runs since then
	changed  bool
	saved    time.Time
}

// endedRun is a completed flow run.
type endedRun struct {
	id, flow         uuid.UUID
	start, end, read time.Time
}

// NewTaskWatch makes one that has yet to load what was learned before.
func NewTaskWatch(store TaskMemory, metrics *Metrics, log *zap.Logger) *TaskWatch {
	return &TaskWatch{
		store: store, metrics: metrics, log: log,
		habits: map[uuid.UUID]*habit{}, seen: map[uuid.UUID]time.Time{}, ended: map[uuid.UUID]endedRun{}, judged: map[uuid.UUID]time.Time{},
	}
}

// load takes up what was learned before. What can't be read is learned anew.
func (w *TaskWatch) load(ctx context.Context) error {
	if w == nil {
		return nil
	}
	text, err := w.store.Cursor(ctx, taskWatchName)
	if err != nil {
		return fmt.Errorf("reading what is known of flows' task runs: %w", err)
	}
	if len(text) > 0 && json.Unmarshal(text, &w.habits) != nil {
		w.habits = map[uuid.UUID]*habit{}
	}
	return nil
}

// saw takes note of what was read.
func (w *TaskWatch) saw(c prefect.Changes) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = c.Now
	}
	for _, row := range c.TaskRuns {
		if _, placeholder := row.ChildFlowRun(); placeholder || row.State == nil {
			continue // the placeholder of a subflow is written down with the flow run
		}
		for _, at := range []*time.Time{row.StartTime, row.EndTime} {
			if at != nil && at.After(w.lastTask) {
				w.lastTask = *at
			}
		}
		if row.FlowRunID != nil {
			w.seen[*row.FlowRunID] = c.Now
		}
	}
	for _, row := range c.FlowRuns {
		if run, ok := w.counts(row, c.Now); ok {
			w.ended[run.id] = run
		}
	}
}

// counts says whether a flow run can tell something: it completed lately and is not judged, and whatever task runs it
// had would be remembered.
func (w *TaskWatch) counts(row prefect.FlowRun, now time.Time) (endedRun, bool) {
	if row.State == nil || row.State.Type != prefect.Completed || row.RunCount == 0 || row.StartTime == nil || row.EndTime == nil {
		return endedRun{}, false
	}
	run := endedRun{id: row.ID, flow: row.FlowID, start: *row.StartTime, end: *row.EndTime, read: now}
	_, waits := w.ended[row.ID]
	_, judged := w.judged[row.ID]
	return run, !waits && !judged && now.Sub(run.end) < watchFresh && run.end.Sub(run.start) < watchShort && !run.start.Before(w.began)
}

// judge looks at the runs whose task runs had their time to show. It comes after a whole poll: within one, task runs may
// come in a later portion than their flow run.
func (w *TaskWatch) judge(ctx context.Context, now time.Time) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range w.due(now) {
		w.judgeRun(run, now)
	}
	w.forget(now)
	w.ring(now)
	return w.save(ctx, now)
}

// due are the runs to judge, by their ends.
func (w *TaskWatch) due(now time.Time) []endedRun {
	var due []endedRun
	for id, run := range w.ended {
		if _, seen := w.seen[id]; seen || now.Sub(run.read) >= watchPatience {
			due = append(due, run)
		}
	}
	slices.SortFunc(due, func(a, b endedRun) int { return a.end.Compare(b.end) })
	return due
}

func (w *TaskWatch) judgeRun(run endedRun, now time.Time) {
	delete(w.ended, run.id)
	w.judged[run.id] = now
	h := w.habits[run.flow]
	if h == nil {
		h = &habit{}
		w.habits[run.flow] = h
	}
	w.changed = true
	if _, seen := w.seen[run.id]; seen {
		h.tasked(now, !w.alarm.IsZero())
		return
	}
	if h.bareRun(now) {
		w.bare = append(w.bare[max(0, len(w.bare)-watchBare):], run)
	}
}

// ring raises the alarm or ends it, each with a line.
func (w *TaskWatch) ring(now time.Time) {
	w.bare = slices.DeleteFunc(w.bare, func(r endedRun) bool { return w.habits[r.flow] == nil || w.habits[r.flow].Bare == 0 })
	silent := slices.DeleteFunc(slices.Clone(w.bare), func(r endedRun) bool { return !r.start.After(w.lastTask) })
	flows, twice := map[uuid.UUID]bool{}, 0
	for _, run := range w.bare {
		if !flows[run.flow] && w.habits[run.flow].Bare >= bareTwice {
			twice++
		}
		flows[run.flow] = true
	}
	on := len(silent) >= bareRuns || twice >= bareFlows
	switch {
	case on && w.alarm.IsZero():
		w.alarm, w.struck = now, map[uuid.UUID]bool{}
		w.log.Warn("flow runs complete and none of their task runs is seen, though these flows always had some: Prefect may not write task runs down",
			zap.Int("flow_runs", len(w.bare)), zap.Int("flows", len(flows)), zap.Stringer("flow_run", w.bare[len(w.bare)-1].id))
	case !on && !w.alarm.IsZero():
		w.log.Info("task runs are seen again", zap.Duration("after", now.Sub(w.alarm).Round(time.Second)))
		for flow := range w.struck {
			if h := w.habits[flow]; h != nil {
				h.forgive(len(w.struck) == 1)
			}
		}
		w.alarm, w.bare = time.Time{}, nil
	}
	if on {
		maps.Copy(w.struck, flows)
	}
	w.metrics.tasksUnseen(on)
}

// forget lets go of what tells nothing any more.
func (w *TaskWatch) forget(now time.Time) {
	for _, known := range []map[uuid.UUID]time.Time{w.seen, w.judged} {
		for id, at := range known {
			if now.Sub(at) > watchMemory {
				delete(known, id)
			}
		}
	}
	if len(w.seen)+len(w.judged) > watchRuns {
		clear(w.seen)
		clear(w.ended)
		clear(w.judged)
		w.began = now
	}
	for flow, h := range w.habits {
		if h.old(now) {
			delete(w.habits, flow)
		}
	}
}

// save keeps the habits, now and then.
func (w *TaskWatch) save(ctx context.Context, now time.Time) error {
	if !w.changed || now.Sub(w.saved) < watchSave {
		return nil
	}
	text, err := json.Marshal(w.habits)
	if err != nil {
		return fmt.Errorf("encoding what is known of flows' task runs: %w", err)
	}
	if _, err := w.store.Commit(ctx, state.Batch{Cursors: map[string][]byte{taskWatchName: text}}); err != nil {
		return fmt.Errorf("storing what is known of flows' task runs: %w", err)
	}
	w.changed, w.saved = false, now
	return nil
}
