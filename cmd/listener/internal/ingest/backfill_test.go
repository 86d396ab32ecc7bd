package ingest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
)

// shelf is a history of portions.
type shelf []prefect.Changes

func (s shelf) Read(ctx context.Context, _ prefect.HistoryQuery, yield func(context.Context, prefect.Changes) error) error {
	for _, c := range s {
		if err := yield(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func TestBackfillCountsAndKeepsTheCursor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	task := r.taskRun(&flow.ID, "work", 1, 2)
	var seen []ingest.Tally
	b := ingest.Backfill{
		Recorder: r.recorder,
		Progress: func(tally ingest.Tally) { seen = append(seen, tally) },
		History: shelf{
			{FlowRuns: []prefect.FlowRun{flow}, Now: *at(60), Cursor: &prefect.Cursor{Ended: *at(1)}},
			{TaskRuns: []prefect.TaskRun{task}, Now: *at(60)},
		},
	}
	tally, err := b.Run(t.Context(), prefect.HistoryQuery{}, ingest.Mode{})
	if err != nil || tally.FlowRuns != 1 || tally.TaskRuns != 1 || tally.Events != 4 || len(seen) != 2 {
		t.Errorf("counted %+v (%v), seen %v", tally, err, seen)
	}
	for _, batch := range r.ledger.batches {
		if batch.Cursors != nil {
			t.Error("a backfill moved the live position")
		}
	}
}

func TestBackfillGivesWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := ingest.Backfill{
			History: shelf{{Now: *at(60)}}, Recorder: r.recorder,
			Pending: func(context.Context) (int64, error) {
				if time.Since(began) < 5*time.Second {
					return 10_000, nil
				}
				return 3, nil
			},
		}
		if _, err := b.Run(t.Context(), prefect.HistoryQuery{}, ingest.Mode{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("went on after %s beside a long queue", took)
		}
	})
}

func TestBackfillStopsAtAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	r.ledger.fail = errors.New("broken")
	b := ingest.Backfill{History: shelf{{FlowRuns: []prefect.FlowRun{flow}, Now: *at(60)}}, Recorder: r.recorder}
	if _, err := b.Run(t.Context(), prefect.HistoryQuery{}, ingest.Mode{}); !errors.Is(err, r.ledger.fail) {
		t.Errorf("the error is %v", err)
	}
}
