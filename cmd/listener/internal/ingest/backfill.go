package ingest

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// History reads what ran in a stretch of time.
type History interface {
	Read(ctx context.Context, query prefect.HistoryQuery, yield func(context.Context, prefect.Changes) error) error
}

// Tally counts what a backfill has done so far.
type Tally struct {
	FlowRuns int `json:"flow_runs"`
	TaskRuns int `json:"task_runs"`
	Events   int `json:"events"`   // put into the outbox
	Repeated int `json:"repeated"` // told before and left out
	// Missing are runs that were asked for by id and that Prefect doesn't have.
	Missing []uuid.UUID `json:"missing,omitempty"`
	// LastSeq is the last place in the outbox that one of the events took; 0: none.
	LastSeq int64 `json:"-"`
}

// How a backfill beside live reading keeps out of its way: its events stand behind no more than this many others, so
// that a live event never waits long.
const (
	backfillLead = 500
	leadRecheck  = 200 * time.Millisecond
)

// Backfill records history through the same recorder as live reading.
type Backfill struct {
	History  History
	Recorder *Recorder
	// Pending counts the events that wait at the quickest of the destinations that the backfill goes to. Nil: the
	// backfill takes no heed of them.
	Pending func(ctx context.Context) (int64, error)
	// Progress is called after each portion. Nil: nobody looks.
	Progress func(Tally)
}

// Run records all that the query names and returns the count. It stops at the first error; what was recorded stays.
func (b *Backfill) Run(ctx context.Context, query prefect.HistoryQuery, mode Mode) (Tally, error) {
	var tally Tally
	mode.Live = false
	portions := newQueue(b.Recorder, mode, func(ctx context.Context, changes prefect.Changes) error {
		if err := b.giveWay(ctx); err != nil {
			return err
		}
		committed, err := b.Recorder.Record(ctx, changes, mode)
		if err != nil {
			return err
		}
		tally.FlowRuns += len(changes.FlowRuns)
		tally.TaskRuns += len(changes.TaskRuns)
		tally.Events += committed.Enqueued
		tally.Repeated += committed.Repeated
		tally.Missing = append(tally.Missing, changes.Gone...)
		tally.LastSeq = max(tally.LastSeq, committed.LastSeq)
		if b.Progress != nil {
			b.Progress(tally)
		}
		return nil
	})
	err := b.History.Read(ctx, query, func(ctx context.Context, changes prefect.Changes) error {
		changes.Cursor = nil // history never moves the live position
		return portions.put(ctx, changes)
	})
	if err := cmp.Or(portions.wait(), err); err != nil {
		return tally, fmt.Errorf("reading history: %w", err)
	}
	return tally, nil
}

func (b *Backfill) giveWay(ctx context.Context) error {
	if b.Pending == nil {
		return nil
	}
	for {
		waiting, err := b.Pending(ctx)
		if err != nil {
			return fmt.Errorf("counting waiting events: %w", err)
		}
		if waiting < backfillLead {
			return nil
		}
		if !sleep(ctx, leadRecheck) {
			return ctx.Err()
		}
	}
}
