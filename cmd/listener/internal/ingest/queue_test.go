package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
)

// portionsOf are so many portions of one ended flow run each.
func portionsOf(r *rig, n int) shelf {
	var s shelf
	for i := range n {
		s = append(s, prefect.Changes{FlowRuns: []prefect.FlowRun{r.flowRun(fmt.Sprint("Flow ", i), i, i+1)}, Now: *at(100)})
	}
	return s
}

// Portions are stored in their order, however far reading is ahead of it.
func TestPortionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := ingest.Backfill{History: portionsOf(r, 20), Recorder: r.recorder}
	tally, err := b.Run(t.Context(), prefect.HistoryQuery{}, ingest.Mode{})
	if err != nil || tally.FlowRuns != 20 || tally.Events != 40 {
		t.Fatalf("counted %+v, %v", tally, err)
	}
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("START Flow ", i), fmt.Sprint("COMPLETE Flow ", i))
	}
	if got := r.ledger.events(); !slices.Equal(got, want) {
		t.Errorf("stored %q", got)
	}
}

// Once a portion could not be stored none after it is, and whoever reads hears of it.
func TestNothingIsStoredAfterAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	broken := errors.New("broken")
	stored := 0
	b := ingest.Backfill{
		History: portionsOf(r, 20), Recorder: r.recorder,
		Progress: func(ingest.Tally) { // after each portion
			if stored++; stored == 3 {
				r.ledger.mu.Lock()
				defer r.ledger.mu.Unlock()
				r.ledger.fail = broken
			}
		},
	}
	if _, err := b.Run(t.Context(), prefect.HistoryQuery{}, ingest.Mode{}); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if n := len(r.ledger.batches); n != 3 {
		t.Errorf("%d portions were stored, want the 3 before the failure", n)
	}
}

// A read that fails says so, and what was read before is stored.
func TestReadingFailsBehindStoredPortions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	broken := errors.New("broken off")
	b := ingest.Backfill{History: brokenOff{portionsOf(r, 5), broken}, Recorder: r.recorder}
	if _, err := b.Run(t.Context(), prefect.HistoryQuery{}, ingest.Mode{}); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if n := len(r.ledger.batches); n != 5 {
		t.Errorf("%d portions were stored, want all 5", n)
	}
}

type brokenOff struct {
	shelf
	err error
}

func (b brokenOff) Read(ctx context.Context, q prefect.HistoryQuery, yield func(context.Context, prefect.Changes) error) error {
	return errors.Join(b.shelf.Read(ctx, q, yield), b.err)
}
