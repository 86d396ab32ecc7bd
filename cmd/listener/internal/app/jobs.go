package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// jobsEvery is how often the daemon looks for a backfill that a command has handed over.
const jobsEvery = time.Second

// backfillJobs does the backfills that commands hand to the daemon, one at a time and behind live reading.
type backfillJobs struct {
	store    *sqlite.Store
	client   *prefect.Client
	recorder *ingest.Recorder
	log      *zap.Logger
}

func (b *backfillJobs) run(ctx context.Context) error {
	for {
		job, found, err := b.store.NextBackfill(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, state.ErrFatalIO), errors.Is(err, state.ErrDamaged):
			return err
		case err != nil:
			b.log.Warn("the store could not be asked for backfills; trying again", zap.Error(err))
		case found:
			if err := b.do(ctx, job); err != nil {
				return err
			}
			continue
		}
		if wait(ctx, jobsEvery) != nil {
			return nil
		}
	}
}

// do runs one job and notes how it ended. A stop leaves it unfinished: the next start takes it up again.
func (b *backfillJobs) do(ctx context.Context, job state.Backfill) error {
	var request BackfillRequest
	failure := ""
	if err := json.Unmarshal(job.Request, &request); err != nil {
		failure = fmt.Sprintf("its request cannot be read: %v", err)
	} else {
		b.log.Info("backfill begins", zap.Int64("backfill", job.ID), zap.Time("since", request.Since))
		tally, err := b.tell(ctx, job.ID, request)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, state.ErrFatalIO), errors.Is(err, state.ErrDamaged):
			return err
		case err != nil:
			failure = err.Error()
			b.log.Warn("backfill failed", zap.Int64("backfill", job.ID), zap.Error(err))
		default:
			b.log.Info("backfill is in the outbox", zap.Int64("backfill", job.ID), zap.Int("events", tally.Events))
		}
	}
	if err := b.store.FinishBackfill(ctx, job.ID, failure); err != nil {
		b.log.Warn("the end of a backfill could not be noted; it will be done again", zap.Int64("backfill", job.ID), zap.Error(err))
		if wait(ctx, jobsEvery) != nil {
			return nil
		}
	}
	return nil
}

func (b *backfillJobs) tell(ctx context.Context, id int64, request BackfillRequest) (ingest.Tally, error) {
	job := ingest.Backfill{
		History:  prefect.NewHistory(b.client, prefect.HistoryConfig{}),
		Recorder: b.recorder,
		Pending:  func(ctx context.Context) (int64, error) { return b.shortestQueue(ctx, request.Destinations) },
		Progress: func(t ingest.Tally) {
			if err := b.store.ProgressBackfill(ctx, id, progressOf(t)); err != nil {
				b.log.Debug("the progress of a backfill could not be noted", zap.Error(err))
			}
		},
	}
	return job.Run(ctx, request.query(), request.mode())
}

func progressOf(t ingest.Tally) state.Progress {
	return state.Progress{
		Runs: int64(t.FlowRuns + t.TaskRuns), Enqueued: int64(t.Events), Repeated: int64(t.Repeated), LastSeq: t.LastSeq,
		Missing: t.Missing,
	}
}

// shortestQueue is what waits at the quickest destination: a dead one must not stop the backfill for the others.
func (b *backfillJobs) shortestQueue(ctx context.Context, only []string) (int64, error) {
	all, err := b.store.Status(ctx)
	if err != nil {
		return 0, err
	}
	shortest := int64(-1)
	for _, d := range all {
		if !d.Parked && chosen(only, d.Name) && (shortest < 0 || d.Pending < shortest) {
			shortest = d.Pending
		}
	}
	return max(shortest, 0), nil
}
