package prefect_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// model is a world that changes at random, and what a listener that stores all it is given knows of it.
//
// What happens between polls is drawn. What happens between the pages of one comes of a drawn seed, because pages are
// read side by side.
type model struct {
	*world
	rt      *rapid.T
	mu      sync.Mutex      // the server's goroutines meddle
	pick    func(n int) int // one of the first n numbers
	version string
	made    int
	rows    []uuid.UUID // those that are there, in the order in which they were made
	tasks   map[uuid.UUID]bool
	ends    map[uuid.UUID]time.Time // of those that have ended
	moved   map[uuid.UUID]bool      // since the poll began
	polls   int                     // so far
	shown   map[uuid.UUID]int       // after how many polls a row moved last
	given   map[uuid.UUID]int       // at which poll a row was last given
	swept   [2]int                  // at which poll the looks back over 10 minutes and over a day last came round
	open    map[uuid.UUID]bool      // seen running, and no end seen since
	last    map[uuid.UUID]prefect.StateType
	stored  map[uuid.UUID]time.Time // the times of those states
}

// TestPollProperty lets rows be added, end, come alive again, be deleted and show late, between polls and between the
// pages of one, with polls that fail and listeners that start anew. After each poll that passes: what lies within its
// reach and held still was given; the position is never past the server's clock and never goes back. At the end,
// everything that showed in time has been given as it is.
func TestPollProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.SampledFrom(versions).Draw(rt, "version")
		page := rapid.IntRange(4, 20).Draw(rt, "page")
		m := &model{
			world: newWorld(t, prefecttest.Version(version), prefecttest.PageLimit(page)), rt: rt,
			tasks: make(map[uuid.UUID]bool), ends: make(map[uuid.UUID]time.Time), open: make(map[uuid.UUID]bool),
			last: make(map[uuid.UUID]prefect.StateType), shown: make(map[uuid.UUID]int), given: make(map[uuid.UUID]int),
			version: version, stored: make(map[uuid.UUID]time.Time),
		}
		few := rapid.IntRange(1, 4).Draw(rt, "few")
		m.poller.Few(few)
		m.pick = m.drawn
		m.OnRequest(func(prefecttest.Request) { m.meddle() })
		for range rapid.IntRange(3, 9).Draw(rt, "steps") {
			for range rapid.IntRange(0, 12).Draw(rt, "changes") {
				m.change()
			}
			m.pass(rapid.SampledFrom(strides).Draw(rt, "pass"))
			if rapid.IntRange(0, 9).Draw(rt, "restart") == 0 {
				m.poller = prefect.NewPoller(m.client, prefect.PollerConfig{}).Few(few)
			}
			m.pollAndCheck()
		}
		m.checkTheEnd()
	})
}

var strides = []time.Duration{0, time.Second, 2 * time.Second, 20 * time.Second, 70 * time.Second, 15 * time.Minute, 61 * time.Minute, 30 * time.Hour}

func (m *model) drawn(n int) int { return rapid.IntRange(0, n-1).Draw(m.rt, "pick") }

func pickOne[T any](m *model, of []T) T { return of[m.pick(len(of))] }

// change makes one thing happen.
func (m *model) change() {
	switch what := m.pick(10); {
	case what < 3 || len(m.rows) == 0:
		m.add()
	case what < 7:
		m.step(pickOne(m, m.rows))
	case what < 8:
		m.remove(pickOne(m, m.rows))
	default:
		m.showLate()
	}
}

func (m *model) add() uuid.UUID {
	m.made++
	id := prefecttest.ID(fmt.Sprint("run", m.made))
	if m.pick(2) == 1 {
		m.AddTaskRun(prefect.TaskRun{ID: id})
		m.tasks[id] = true
	} else {
		m.AddFlowRun(prefect.FlowRun{ID: id, FlowID: m.flow.ID})
	}
	m.rows = append(m.rows, id)
	m.set(id, prefect.Running, m.now())
	return id
}

func (m *model) set(id uuid.UUID, state prefect.StateType, at time.Time) {
	m.SetState(id, prefect.State{Type: state, Timestamp: at})
	delete(m.ends, id)
	if state.Terminal() {
		m.ends[id] = at.Truncate(time.Microsecond)
	}
	m.touch(id)
}

func (m *model) touch(id uuid.UUID) {
	m.shown[id] = m.polls
	if m.moved != nil {
		m.moved[id] = true
	}
}

// step takes a run on: a running one ends, an ended one comes alive, another goes on.
func (m *model) step(id uuid.UUID) {
	state := prefect.Running
	if _, ended := m.ends[id]; !ended {
		state = pickOne(m, []prefect.StateType{prefect.Completed, prefect.Failed, prefect.Cancelled, prefect.Paused, prefect.Running})
	}
	m.set(id, state, m.now())
}

func (m *model) remove(id uuid.UUID) {
	m.Delete(id)
	m.rows = slices.DeleteFunc(m.rows, func(row uuid.UUID) bool { return row == id })
	delete(m.ends, id)
	m.touch(id)
}

// showLate adds a run that ended a while ago, or ahead of the server's clock, as late as the look back that is next
// can still find it.
func (m *model) showLate() {
	late := pickOne(m, []time.Duration{-5 * time.Minute, -time.Second, 0, 20 * time.Second, 8 * time.Minute, 20 * time.Hour})
	m.set(m.add(), prefect.Completed, m.now().Add(-late))
}

// meddle changes things while a poll goes on.
func (m *model) meddle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.moved != nil && m.pick(4) == 0 {
		m.change()
	}
}

var errStore = errors.New("the store is full")

// pollAndCheck polls as a listener that stores what it is given, and checks what came.
func (m *model) pollAndCheck() {
	open := m.openRuns()
	began, before := m.now(), m.cur
	m.polls++
	fail := rapid.IntRange(-6, 4).Draw(m.rt, "fails after")
	m.startMeddling()
	s := newSight()
	err := m.poller.Poll(context.Background(), m.cur, open, func(_ context.Context, c prefect.Changes) error {
		if fail > 0 && len(s.portions) == fail-1 {
			return errStore
		}
		s.take(c)
		m.know(c)
		m.poller.Stored(c, nil)
		return nil
	})
	moved := m.stopMeddling()
	if err != nil && !errors.Is(err, errStore) {
		m.rt.Fatalf("polling: %v", err)
	}
	if err == nil {
		m.checkReach(s, before, began, moved)
		m.checkOpen(s, open, moved)
	}
}

func (m *model) startMeddling() {
	seed := rapid.Uint64().Draw(m.rt, "meddling")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moved, m.pick = make(map[uuid.UUID]bool), rand.New(rand.NewPCG(seed, 0)).IntN
}

func (m *model) stopMeddling() (moved map[uuid.UUID]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	moved, m.moved, m.pick = m.moved, nil, m.drawn
	return moved
}

// know stores a portion.
func (m *model) know(c prefect.Changes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	learn := func(id uuid.UUID, state *prefect.State) {
		m.last[id], m.given[id], m.stored[id] = state.Type, m.polls, state.Timestamp
		m.open[id] = !state.Type.Terminal()
	}
	for _, run := range c.FlowRuns {
		learn(run.ID, run.State)
	}
	for _, run := range c.TaskRuns {
		learn(run.ID, run.State)
	}
	for _, id := range c.Gone {
		delete(m.open, id)
		if slices.Contains(m.rows, id) {
			m.rt.Fatalf("%s is there and was given as gone", id)
		}
	}
	if c.Cursor == nil {
		return
	}
	if c.Cursor.Ended.After(m.now()) {
		m.rt.Fatalf("the position is %v, past the server's clock %v", c.Cursor.Ended, m.now())
	}
	if c.Cursor.Ended.Before(m.cur.Ended) || c.Cursor.Swept10m.Before(m.cur.Swept10m) || c.Cursor.SweptDay.Before(m.cur.SweptDay) {
		m.rt.Fatalf("the position went back from %+v to %+v", m.cur, *c.Cursor)
	}
	m.cur = *c.Cursor
}

// checkReach checks that a poll gave all that runs, and all that ended since its position less the look back. A look back
// may take several polls, and give a row that shows behind it the next time only: what it gives for certain in one of them
// is what has stood still since it last came round.
func (m *model) checkReach(s *sight, before prefect.Cursor, began time.Time, moved map[uuid.UUID]bool) {
	reach, still := before.Ended.Add(-prefect.Overlap), m.polls
	switch {
	case before.Ended.IsZero():
		reach = m.cur.Since
	case m.cur.SweptDay != before.SweptDay:
		reach, still = before.Ended.Add(-prefect.OverlapDay), m.swept[1]
	case m.cur.Swept10m != before.Swept10m:
		reach, still = before.Ended.Add(-prefect.Overlap10m), m.swept[0]
	}
	if reach.Before(m.cur.Since) {
		reach = m.cur.Since
	}
	overlap := later(before.Ended.Add(-prefect.Overlap), m.cur.Since)
	defer m.sweptNow(before)
	for _, id := range m.rows {
		if moved[id] {
			continue
		}
		state := m.stateOf(id)
		end, ended := m.ends[id]
		young := m.young(id, began)
		seen := s.states[id]
		switch {
		case state.Type == prefect.Running && !young, ended && !end.Before(overlap):
		case ended && !end.Before(reach) && m.shown[id] <= still:
			if m.given[id] > still {
				seen = m.last[id]
			}
		default:
			continue
		}
		if ended && m.stored[id].Equal(state.Timestamp.Truncate(time.Microsecond)) {
			seen = m.last[id] // it need not be given again
		}
		if seen != state.Type {
			m.rt.Fatalf("%s, %s is %s since %v and was seen as %q; the poll began at %v and reached back to %v", m.version, id, state.Type, state.Timestamp, seen, began, reach)
		}
	}
}

// sweptNow notes which looks back have come round in this poll.
func (m *model) sweptNow(before prefect.Cursor) {
	if m.cur.Swept10m != before.Swept10m {
		m.swept[0] = m.polls
	}
	if m.cur.SweptDay != before.SweptDay {
		m.swept[1] = m.polls
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// checkOpen checks that each open run was seen, or is gone.
func (m *model) checkOpen(s *sight, open prefect.OpenRuns, moved map[uuid.UUID]bool) {
	for _, id := range slices.Concat(open.FlowRuns, open.TaskRuns) {
		if moved[id] {
			continue
		}
		there := slices.Contains(m.rows, id)
		if there == s.gone[id] || there && s.times[id] == 0 && !m.young(id, m.now()) {
			m.rt.Fatalf("the open run %s is there: %v, was given as gone: %v, and %d times", id, there, s.gone[id], s.times[id])
		}
	}
}

// young says whether a run runs since so short a time that an old server may still rename it.
func (m *model) young(id uuid.UUID, now time.Time) bool {
	return m.stateOf(id).Type == prefect.Running && now.Sub(m.stateOf(id).Timestamp) < 3*time.Second
}

func (m *model) stateOf(id uuid.UUID) prefect.State {
	if m.tasks[id] {
		return *m.TaskRun(id).State
	}
	return *m.FlowRun(id).State
}

// checkTheEnd lets the world rest until every look back has come round, and checks that nothing is missing.
func (m *model) checkTheEnd() {
	m.OnRequest(nil)
	for _, d := range []time.Duration{3 * time.Second, time.Minute, time.Hour} {
		m.pass(d)
		for polls := 0; ; polls++ {
			before := m.cur
			m.pollInPeace()
			if m.cur != before || polls > 50 {
				break
			}
		}
	}
	for _, id := range m.rows {
		state := m.stateOf(id).Type
		end, ended := m.ends[id]
		if (state == prefect.Running || ended && !end.Before(m.cur.Since)) && m.last[id] != state {
			m.rt.Fatalf("%s is %s and was last seen as %q (it ended at %v)", id, state, m.last[id], m.ends[id])
		}
	}
	for id := range m.open {
		if m.open[id] && !slices.Contains(m.rows, id) {
			m.rt.Fatalf("%s is gone and was not given as gone", id)
		}
	}
}

// pollInPeace polls with nothing going wrong.
func (m *model) pollInPeace() {
	err := m.poller.Poll(context.Background(), m.cur, m.openRuns(), func(_ context.Context, c prefect.Changes) error {
		m.know(c)
		m.poller.Stored(c, nil)
		return nil
	})
	if err != nil {
		m.rt.Fatalf("polling: %v", err)
	}
}

// openRuns are the runs of which an end is awaited.
func (m *model) openRuns() prefect.OpenRuns {
	var open prefect.OpenRuns
	for _, id := range sorted(m.open) {
		if m.tasks[id] {
			open.TaskRuns = append(open.TaskRuns, id)
		} else {
			open.FlowRuns = append(open.FlowRuns, id)
		}
	}
	return open
}

// sorted returns the ids that are in the set, in one order.
func sorted(set map[uuid.UUID]bool) []uuid.UUID {
	var ids []uuid.UUID
	for id, in := range set {
		if in {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}
