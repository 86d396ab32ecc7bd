package ingest

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// mostFamiliar bounds the rows that are known to be kept. When there are more, all are kept and spoken of once more.
const mostFamiliar = 10_000

// retryAtOnce bounds the rows in quarantine that a start tries again.
const retryAtOnce = 1000

// familiar are the rows that this process has put into quarantine as they are. A row that can't be read shows at each
// look back, for a day and longer: it is kept, counted and logged once.
type familiar struct {
	seed maphash.Seed
	rows map[uint64]struct{}
}

func newFamiliar() *familiar {
	return &familiar{seed: maphash.MakeSeed(), rows: map[uint64]struct{}{}}
}

func (f *familiar) key(row prefect.BadRow) uint64 {
	var hash maphash.Hash
	hash.SetSeed(f.seed)
	for _, part := range [][]byte{[]byte(row.Resource), []byte(row.ID), row.Raw} {
		_, _ = hash.Write(part) // it never fails
		_ = hash.WriteByte(0)
	}
	return hash.Sum64()
}

// without returns the rows that are not familiar.
func (f *familiar) without(rows []prefect.BadRow) []prefect.BadRow {
	fresh := rows[:0:0]
	for _, row := range rows {
		if _, known := f.rows[f.key(row)]; !known {
			fresh = append(fresh, row)
		}
	}
	return fresh
}

// add notes rows that are stored.
func (f *familiar) add(rows []prefect.BadRow) {
	if len(f.rows)+len(rows) > mostFamiliar {
		clear(f.rows)
	}
	for _, row := range rows {
		f.rows[f.key(row)] = struct{}{}
	}
}

// Quarantine is the part of the store that keeps what could not be read.
type Quarantine interface {
	Quarantined(ctx context.Context, limit int) ([]state.BadRow, error)
	Release(ctx context.Context, resource, id string) error
}

// Retry reads the runs in quarantine once more, by id, at a time of the server's: a newer version may understand what an
// older one did not, and a newer server may write it otherwise. What can be read is told about and leaves the quarantine.
// Artifacts stay: their runs' ends are told, and a backfill tells them again.
func (r *Recorder) Retry(ctx context.Context, from Quarantine, now time.Time) error {
	kept, err := from.Quarantined(ctx, retryAtOnce)
	if err != nil {
		return fmt.Errorf("reading the quarantine: %w", err)
	}
	ids := map[string][]uuid.UUID{}
	for _, row := range kept {
		if id, err := uuid.Parse(row.ID); err == nil {
			ids[row.Resource] = append(ids[row.Resource], id)
		}
	}
	flowRuns, _, err := r.reader.FlowRunsByID(ctx, ids["flow_runs"])
	if err != nil {
		return fmt.Errorf("reading the flow runs in quarantine: %w", err)
	}
	taskRuns, _, err := r.reader.TaskRunsByID(ctx, ids["task_runs"])
	if err != nil {
		return fmt.Errorf("reading the task runs in quarantine: %w", err)
	}
	if len(flowRuns)+len(taskRuns) == 0 {
		return nil
	}
	changes := prefect.Changes{Now: now}
	for _, id := range sortedIDs(flowRuns) {
		changes.FlowRuns = append(changes.FlowRuns, flowRuns[id])
	}
	for _, id := range sortedIDs(taskRuns) {
		changes.TaskRuns = append(changes.TaskRuns, taskRuns[id])
	}
	if _, err := r.Record(ctx, changes, Mode{Live: true}); err != nil {
		return err
	}
	for _, id := range sortedIDs(flowRuns) {
		if err := from.Release(ctx, "flow_runs", id.String()); err != nil {
			return err
		}
	}
	for _, id := range sortedIDs(taskRuns) {
		if err := from.Release(ctx, "task_runs", id.String()); err != nil {
			return err
		}
	}
	return nil
}
