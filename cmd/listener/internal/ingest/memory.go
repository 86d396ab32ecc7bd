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
	}
	if err := m.Emit(batch.Events); err != nil {
		return state.Committed{}, err
	}
	return state.Committed{Enqueued: len(batch.Events)}, nil
}
