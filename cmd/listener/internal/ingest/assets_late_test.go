package ingest_test

import (
	"errors"
	"testing"

	"github.com/prefect-openlineage/listener/prefect"
)

// TestLateAssetsOfARunWithUpstreams tells an end again with all that it said before, though the runs it took inputs from
// are not in the portion.
func TestLateAssetsOfARunWithUpstreams(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]int{"young": 20, "older": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newAssetRig(t)
			flow := r.flowRun("Flow", 0, 0)
			up := r.taskRun(&flow.ID, "up", 0, 1)
			r.see(1, tasks(up))
			task := r.taskRun(&flow.ID, "make", 2, end, up.ID)
			r.made(task, "s3://lake/clean", 5)
			r.see(end+1, tasks(task))
			wantEnds(t, r.ledger.last(), "COMPLETE Flow.make")
			r.see(32, tasks())
			wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >clean")
			if n := len(r.ledger.last().Events); n == 1 && !containsAll(string(r.ledger.last().Events[0].Body), `"jobDependencies"`, up.ID.String()) {
				t.Errorf("the end that was told again has lost its dependencies: %s", r.ledger.last().Events[0].Body)
			}
		})
	}
}

// TestLateAssetsAfterAFailedCommit tells an end again though the first try to store it failed.
func TestLateAssetsAfterAFailedCommit(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	task := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(task, "s3://lake/clean", 5)
	r.see(3, tasks(task))
	r.ledger.fail = errors.New("disk full")
	r.now = *at(40)
	if _, err := r.recorder.Record(t.Context(), prefect.Changes{Now: r.now}, live); err == nil {
		t.Fatal("nothing failed")
	}
	r.ledger.fail = nil
	r.see(80, tasks())
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >clean")
}

// TestAssetsMuchLaterThanTheyAreWaitedFor looks for the assets of a job that is known to make some until they are there.
func TestAssetsMuchLaterThanTheyAreWaitedFor(t *testing.T) {
	t.Parallel()
	r := newAssetRig(t)
	flow := r.flowRun("Flow", 0, 0)
	first := r.taskRun(&flow.ID, "make", 1, 2)
	r.made(first, "s3://lake/a", 0)
	r.see(60, tasks(first))
	second := r.taskRun(&flow.ID, "make", 61, 62)
	r.made(second, "s3://lake/b", 45)
	r.see(70, tasks(second))
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make")
	for s := 72; s < 160 && len(r.ledger.last().Events) == 0 || s == 72; s += 2 {
		r.see(s, tasks())
	}
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.make >b")
}
