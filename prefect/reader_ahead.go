package prefect

import (
	lru "container/list"
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

const (
	// stockBytes bounds what was read ahead and not asked for yet.
	stockBytes = 16 << 20
	// stockRow is what an artifact takes beside its data, about, in bytes.
	stockRow = 300
	// stockKeep is how long it is kept: whoever reads ahead comes for it in seconds.
	stockKeep = time.Minute
	// longEnded is how long a task run must have ended before its flow run's artifacts were read for all of its own to
	// be among them, whatever the clocks of the server and of the worker say.
	longEnded = 15 * time.Minute
)

// ReadAhead reads what Snapshots will be asked for in a moment, so that this overlaps with the work on what was read
// before.
func (r *Reader) ReadAhead(ctx context.Context, flowRuns []FlowRun, taskRuns []TaskRun) error {
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() error {
		refs := make(map[uuid.UUID]FlowRef, len(flowRuns))
		for _, run := range flowRuns {
			refs[run.ID] = refOf(run)
		}
		_, err := r.names(ctx, refs)
		return err
	})
	reading.Go(func() error {
		_, err := r.standIns(ctx, flowRuns, taskRuns)
		return err
	})
	reading.Go(func() error {
		tables, err := r.artifacts(ctx, flowRuns, taskRuns)
		if err != nil {
			return err
		}
		for _, run := range flowRuns {
			stockUp(r.stock, run, tables.ofFlowRuns[run.ID])
		}
		for _, run := range taskRuns {
			stockUp(r.stock, run, tables.ofTaskRuns[run.ID])
		}
		return nil
	})
	return reading.Wait()
}

// stock holds artifacts that were read before anybody asked for them, by run: those of a run as it was in one state, and
// those of all task runs of a flow run. What is not fetched goes after a while, or when there is too much of it.
type stock struct {
	mu    sync.Mutex
	byRun map[stockKey]*lru.Element
	order *lru.List // of *stocked, the oldest in front
	bytes int
}

type stockKey struct {
	run uuid.UUID
	all bool // of all of a flow run's task runs
}

type stocked struct {
	key   stockKey
	state time.Time // the run's when it was read, or when the flow run's artifacts were read
	rows  []Artifact
	tasks map[uuid.UUID][]Artifact
	since time.Time
	bytes int
}

func newStock() *stock { return &stock{byRun: make(map[stockKey]*lru.Element), order: lru.New()} }

// stockUp puts the artifacts of a run there, if it has ended.
func stockUp[T run](s *stock, row T, rows []Artifact) {
	if state := row.state(); state != nil && state.Type.Terminal() {
		s.put(&stocked{key: stockKey{run: row.id()}, state: state.Timestamp, rows: rows, bytes: weight(rows)})
	}
}

// putFlows puts the artifacts of flow runs' task runs there, where those may be asked for in a moment: in a catch-up.
func (s *stock) putFlows(flowRuns []FlowRun, own flowArtifacts) {
	for _, run := range flowRuns {
		if own.served.Sub(run.State.Timestamp) < longEnded {
			continue // none of its task runs has ended long ago
		}
		one := &stocked{key: stockKey{run.ID, true}, state: own.served, tasks: own.read[run.ID]}
		for _, rows := range one.tasks {
			one.bytes += weight(rows)
		}
		s.put(one)
	}
}

func weight(rows []Artifact) int {
	n := stockRow
	for _, row := range rows {
		n += stockRow + len(row.Data)
	}
	return n
}

func (s *stock) put(one *stocked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.byRun[one.key]; ok {
		s.drop(old)
	}
	one.since = time.Now()
	s.byRun[one.key] = s.order.PushBack(one)
	s.bytes += one.bytes
	s.tidy()
}

// tidy drops what is too old or too much.
func (s *stock) tidy() {
	for front := s.order.Front(); front != nil; front = s.order.Front() {
		if s.bytes <= stockBytes && time.Since(stockedOf(front).since) < stockKeep {
			return
		}
		s.drop(front)
	}
}

func (s *stock) drop(at *lru.Element) {
	one := stockedOf(at)
	delete(s.byRun, one.key)
	s.order.Remove(at)
	s.bytes -= one.bytes
}

func stockedOf(at *lru.Element) *stocked {
	one, _ := at.Value.(*stocked) // nothing else is ever put in
	return one
}

// takeStocked moves the artifacts of runs out of the stock into a map and returns the runs that it has none of.
func takeStocked[T run](s *stock, rows []T, into map[uuid.UUID][]Artifact) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tidy()
	return keep(rows, func(row T) bool {
		at, ok := s.byRun[stockKey{run: row.id()}]
		if !ok {
			return true
		}
		one := stockedOf(at)
		s.drop(at)
		if !one.state.Equal(row.state().Timestamp) {
			return true
		}
		into[row.id()] = one.rows
		return false
	})
}

// takeOfFlow returns the artifacts of a task run that came with its flow run's, if all of its own were there then.
func (s *stock) takeOfFlow(run TaskRun) ([]Artifact, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.byRun[stockKey{*run.FlowRunID, true}]
	if !ok {
		return nil, false
	}
	one := stockedOf(at)
	if one.state.Sub(run.State.Timestamp) < longEnded {
		return nil, false
	}
	rows := one.tasks[run.ID]
	delete(one.tasks, run.ID)
	return rows, true
}
