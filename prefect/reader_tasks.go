package prefect

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// wholeFlowRuns is how many flow runs' rows are read at once where all that belongs to them is wanted.
const wholeFlowRuns = 20

// EachTaskRun reads all task runs of flow runs, placeholders of subflows among them, a page at a time. It ends with the
// first error that take returns.
func (r *Reader) EachTaskRun(ctx context.Context, flowRuns []uuid.UUID, take func([]TaskRun) error) error {
	of := taskRunKind(r.api)
	for some := range slices.Chunk(flowRuns, wholeFlowRuns) {
		f := of.filter(Filter{}, RunFilter{FlowRunID: &AnyID{Any: some}})
		err := walkOffsets(ctx, of.pages(r.api), f, byID(TaskRun.id), func(page Page[TaskRun]) (bool, error) {
			return true, take(page.Rows)
		})
		if err != nil {
			return fmt.Errorf("reading all task runs of %d flow runs: %w", len(some), err)
		}
	}
	return nil
}

// AnyOpenTaskRun returns some task run of these flow runs that has not ended; false: all that the server shows have.
func (r *Reader) AnyOpenTaskRun(ctx context.Context, flowRuns []uuid.UUID) (TaskRun, bool, error) {
	of := taskRunKind(r.api)
	for some := range slices.Chunk(flowRuns, MaxPage) {
		f := of.filter(Filter{Limit: 1}, RunFilter{FlowRunID: &AnyID{Any: some},
			State: inState(Scheduled, Pending, Running, Paused, Cancelling)})
		page, err := of.list(ctx, f)
		if err != nil {
			return TaskRun{}, false, fmt.Errorf("reading open task runs of %d flow runs: %w", len(some), err)
		}
		if len(page.Rows) > 0 {
			return page.Rows[0], true, nil
		}
	}
	return TaskRun{}, false, nil
}

// EachTable reads all table artifacts that flow runs and their task runs made, a page at a time. It ends with the first
// error that take returns.
func (r *Reader) EachTable(ctx context.Context, flowRuns []uuid.UUID, take func([]Artifact) error) error {
	src := newPages("artifacts", r.api.Artifacts, r.api.PageLimit())
	for some := range slices.Chunk(flowRuns, wholeFlowRuns) {
		q := ArtifactQuery{FlowRunID: &AnyID{Any: some}, Type: &AnyText{Any: []string{"table"}}}
		err := walkOffsets(ctx, src, Filter{Artifacts: &q}, byID(func(a Artifact) uuid.UUID { return a.ID }),
			func(page Page[Artifact]) (bool, error) {
				return true, take(page.Rows)
			})
		if err != nil {
			return fmt.Errorf("reading all artifacts of %d flow runs: %w", len(some), err)
		}
	}
	return nil
}
