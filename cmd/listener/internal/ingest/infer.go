package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// InferEnds tells the ends of task runs that Prefect left RUNNING though their flow run ended long ago. Each is read
// once more before, since its end may just have come: such a one is told as any other. What is gone by then is left to
// the second miss.
func (r *Recorder) InferEnds(ctx context.Context, now time.Time, orphans []state.OrphanTask) error {
	flows := make(map[uuid.UUID]adapter.Told, len(orphans))
	ids := make([]uuid.UUID, len(orphans))
	for i, o := range orphans {
		ids[i] = o.Task.ID
		flows[o.Task.ID] = o.Flow
	}
	rows, _, err := r.reader.TaskRunsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("reading %d task runs that were left running: %w", len(ids), err)
	}
	var left []prefect.TaskRun
	moved := prefect.Changes{Now: now}
	for _, id := range ids {
		row, ok := rows[id]
		switch {
		case !ok:
		case row.State != nil && !row.State.Type.Terminal():
			left = append(left, row) // RUNNING, or waiting for a try that nobody makes any more
		default:
			moved.TaskRuns = append(moved.TaskRuns, row)
		}
	}
	if len(moved.TaskRuns) > 0 {
		if _, err := r.Record(ctx, moved, Mode{Live: true}); err != nil {
			return err
		}
	}
	return r.inferEnds(ctx, left, flows)
}

func (r *Recorder) inferEnds(ctx context.Context, rows []prefect.TaskRun, flows map[uuid.UUID]adapter.Told) error {
	if len(rows) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	snapshots, _, err := r.reader.Snapshots(ctx, nil, rows, nil)
	if err != nil {
		return fmt.Errorf("reading the details of %d task runs that were left running: %w", len(rows), err)
	}
	voice, err := r.inferring(ctx)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	known, err := r.ledger.Told(ctx, ids) // again, under the lock
	if err != nil {
		return fmt.Errorf("reading %d ledger entries: %w", len(ids), err)
	}
	batch := state.Batch{Edges: map[uuid.UUID][]adapter.Edge{}}
	var warnings []adapter.Warning
	for _, s := range snapshots {
		last, err := r.lastGood(ctx, known[s.TaskRun.ID])
		if err != nil {
			return err
		}
		telling := voice.InferEndSeen(s, known[s.TaskRun.ID], flows[s.TaskRun.ID], last)
		if len(telling.Events) == 0 {
			continue
		}
		batch.Told = append(batch.Told, telling.Told)
		batch.Events = append(batch.Events, telling.Events...)
		batch.Edges[s.TaskRun.ID] = telling.Edges
		warnings = append(warnings, telling.Warnings...)
	}
	if len(batch.Events) == 0 {
		return nil
	}
	if _, err := r.ledger.Commit(ctx, batch); err != nil {
		return fmt.Errorf("storing %d inferred ends: %w", len(batch.Events), err)
	}
	r.warn(warnings)
	r.metrics.events(batch.Events)
	r.metrics.inferred(len(batch.Events))
	r.stored()
	return nil
}

// inferring is the adapter for ends that are made without a row, which still name the server's version.
func (r *Recorder) inferring(ctx context.Context) (*adapter.Adapter, error) {
	server, err := r.reader.Server(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the server's version: %w", err)
	}
	return r.adapter.WithServer(server), nil
}
