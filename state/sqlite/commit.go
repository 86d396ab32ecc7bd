package sqlite

import (
	"context"
	"fmt"

	"github.com/prefect-openlineage/listener/state"
)

// Commit writes the batch in one transaction: all of it or nothing. After state.ErrFull or state.ErrBusy the same
// batch may be tried again.
func (s *Store) Commit(ctx context.Context, batch state.Batch) (state.Committed, error) {
	var committed state.Committed
	err := s.write(ctx, "storing a batch", func(t *tx) error {
		if err := t.findLanes(batch); err != nil {
			return fmt.Errorf("numbers of runs: %w", err)
		}
		if err := t.putTold(batch.Told); err != nil {
			return err
		}
		if err := t.putEdges(batch); err != nil {
			return fmt.Errorf("dataset edges: %w", err)
		}
		if err := t.putJobs(); err != nil {
			return err
		}
		var err error
		if committed, err = t.enqueue(batch); err != nil {
			return err
		}
		for _, row := range batch.Quarantine {
			if err := t.quarantine(row); err != nil {
				return fmt.Errorf("quarantined row %s %s: %w", row.Resource, row.ID, err)
			}
		}
		return t.putCursors(batch.Cursors)
	})
	if err != nil {
		return state.Committed{}, err
	}
	if len(batch.Cursors) > 0 {
		s.saveMarker(ctx, false)
	}
	return committed, nil
}

func (t *tx) putCursors(cursors map[string][]byte) error {
	for name, value := range cursors {
		if _, err := t.exec(`INSERT INTO cursors (name, value, changed) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed = excluded.changed`,
			name, notNil(value), t.now); err != nil {
			return fmt.Errorf("cursor %s: %w", name, err)
		}
	}
	return nil
}

// Cursor returns the reading position of that name; nil: none was stored yet.
func (s *Store) Cursor(ctx context.Context, name string) ([]byte, error) {
	var value []byte
	if _, err := s.get(ctx, `SELECT value FROM cursors WHERE name = ?`, []any{name}, &value); err != nil {
		return nil, fmt.Errorf("reading cursor %s: %w", name, err)
	}
	return value, nil
}
