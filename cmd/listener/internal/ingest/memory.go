package ingest

import (
	"context"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// MemoryLedger is a ledger for a preview: it remembers what was told and hands the events on
// instead of storing them.
type MemoryLedger struct {
	// Emit gets the events of one portion, in order.
	Emit func([]adapter.Event) error
	told map[uuid.UUID]adapter.Told
	good map[[2]string]good // by job
}

// Told returns what was committed of these runs.
func (m *MemoryLedger) Told(_ context.Context, ids []uuid.UUID) (map[uuid.UUID]adapter.Told, error) {
	found := map[uuid.UUID]adapter.Told{}
	for _, id := range ids {
		if told, ok := m.told[id]; ok {
			found[id] = told
		}
	}
	return found, nil
}

// Commit emits the batch's events in their order.
func (m *MemoryLedger) Commit(_ context.Context, batch state.Batch) (state.Committed, error) {
	if m.told == nil {
		m.told = map[uuid.UUID]adapter.Told{}
	}
	for _, told := range batch.Told {
		m.told[told.ID] = told
		m.keepGood(told, batch.Edges[told.ID])
	}
	if err := m.Emit(batch.Events); err != nil {
		return state.Committed{}, err
	}
	return state.Committed{Enqueued: len(batch.Events)}, nil
}

func (m *MemoryLedger) keepGood(told adapter.Told, edges []adapter.Edge) {
	job := [2]string{told.Run.Namespace, told.Run.Name}
	if told.EndType != adapter.Complete || len(edges) == 0 || told.End.Before(m.good[job].end) {
		return
	}
	if m.good == nil {
		m.good = map[[2]string]good{}
	}
	m.good[job] = good{told.End, edges}
}

// LastGoodEdges returns the datasets of the job's completed run that ended last.
func (m *MemoryLedger) LastGoodEdges(_ context.Context, job adapter.RunRef) ([]adapter.Edge, error) {
	return m.good[[2]string{job.Namespace, job.Name}].edges, nil
}
