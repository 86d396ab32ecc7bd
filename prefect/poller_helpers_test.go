package prefect_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// noon is when the worlds of these tests begin.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// world is a Prefect server with a clock that the test moves, and a reader that goes on from poll to poll.
type world struct {
	*prefecttest.Server
	clock  *atomic.Pointer[time.Time]
	client *prefect.Client
	poller *prefect.Poller
	cur    prefect.Cursor
	flow   prefect.Flow
}

func newWorld(t *testing.T, options ...prefecttest.Option) *world {
	t.Helper()
	return newWorldWith(t, prefect.PollerConfig{}, options...)
}

func newWorldWith(t *testing.T, cfg prefect.PollerConfig, options ...prefecttest.Option) *world {
	t.Helper()
	clock := new(atomic.Pointer[time.Time])
	start := noon
	clock.Store(&start)
	now := func() time.Time { return *clock.Load() }
	server := prefecttest.New(t, append([]prefecttest.Option{prefecttest.Clock(now)}, options...)...)
	w := &world{Server: server, clock: clock, client: server.Client(t), flow: server.AddFlow("Load")}
	w.poller = prefect.NewPoller(w.client, cfg)
	return w
}

func (w *world) now() time.Time { return *w.clock.Load() }

func (w *world) pass(d time.Duration) {
	later := w.now().Add(d)
	w.clock.Store(&later)
}

// flowRun adds a flow run that runs since some time.
func (w *world) flowRun(since time.Time) uuid.UUID {
	run := w.AddFlowRun(prefect.FlowRun{FlowID: w.flow.ID, Created: since})
	w.SetState(run.ID, prefect.State{Type: prefect.Running, Timestamp: since})
	return run.ID
}

func (w *world) taskRun(flowRun uuid.UUID, since time.Time) uuid.UUID {
	run := prefect.TaskRun{Created: since}
	if flowRun != uuid.Nil {
		run.FlowRunID = &flowRun
	}
	id := w.AddTaskRun(run).ID
	w.SetState(id, prefect.State{Type: prefect.Running, Timestamp: since})
	return id
}

func (w *world) end(id uuid.UUID, at time.Time) {
	w.SetState(id, prefect.State{Type: prefect.Completed, Timestamp: at})
}

// endedTaskRun adds a task run that shows only now, though it ended at some time.
func (w *world) endedTaskRun(at time.Time) uuid.UUID {
	id := w.taskRun(uuid.Nil, at.Add(-time.Second))
	w.end(id, at)
	return id
}

// sight is what a poll brought.
type sight struct {
	portions []prefect.Changes
	states   map[uuid.UUID]prefect.StateType // as seen last
	times    map[uuid.UUID]int
	gone     map[uuid.UUID]bool
	bad      []prefect.BadRow
}

func newSight() *sight {
	return &sight{states: make(map[uuid.UUID]prefect.StateType), times: make(map[uuid.UUID]int), gone: make(map[uuid.UUID]bool)}
}

func (s *sight) take(c prefect.Changes) {
	s.portions = append(s.portions, c)
	for _, run := range c.FlowRuns {
		s.states[run.ID] = run.State.Type
		s.times[run.ID]++
	}
	for _, run := range c.TaskRuns {
		s.states[run.ID] = run.State.Type
		s.times[run.ID]++
	}
	for _, id := range c.Gone {
		s.gone[id] = true
	}
	s.bad = append(s.bad, c.Bad...)
}

// poll polls once. The position moves as the portions say, also when the poll fails.
func (w *world) poll(t *testing.T, open ...prefect.OpenRuns) *sight {
	t.Helper()
	s, err := w.tryPoll(t.Context(), open...)
	if err != nil {
		t.Fatalf("polling: %v", err)
	}
	if last := s.portions[len(s.portions)-1]; last.Cursor == nil {
		t.Fatal("the last portion carries no position")
	}
	return s
}

func (w *world) tryPoll(ctx context.Context, open ...prefect.OpenRuns) (*sight, error) {
	var runs prefect.OpenRuns
	if len(open) > 0 {
		runs = open[0]
	}
	s := newSight()
	err := w.poller.Poll(ctx, w.cur, runs, func(_ context.Context, c prefect.Changes) error {
		s.take(c)
		if c.Cursor != nil {
			w.cur = *c.Cursor
		}
		w.poller.Stored(c, nil)
		return nil
	})
	return s, err
}

// want fails the test unless each of these runs was seen, in this state at last.
func (s *sight) want(t *testing.T, state prefect.StateType, ids ...uuid.UUID) {
	t.Helper()
	missing := 0
	for _, id := range ids {
		if s.states[id] != state {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d runs were not seen as %s", missing, len(ids), state)
	}
}

func (s *sight) wantNot(t *testing.T, ids ...uuid.UUID) {
	t.Helper()
	for _, id := range ids {
		if s.times[id] > 0 {
			t.Errorf("%s was seen, as %s", id, s.states[id])
		}
	}
}

// lists returns the bodies of the list calls so far for a resource.
func (w *world) lists(t *testing.T, resource string) []prefect.Filter {
	t.Helper()
	var filters []prefect.Filter
	for _, r := range w.Requests() {
		if r.Path != "/"+resource+"/filter" {
			continue
		}
		var f prefect.Filter
		if err := json.Unmarshal(r.Body, &f); err != nil {
			t.Fatal(err)
		}
		filters = append(filters, f)
	}
	return filters
}
