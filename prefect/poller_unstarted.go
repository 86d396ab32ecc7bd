package prefect

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// How long before a stretch of time a flow run that ended in it without having started may have been expected to start.
// Whoever cancels scheduled runs does so before they start, or soon after; the looks back find the others.
const (
	unstartedReach    = time.Hour
	unstartedReach10m = 24 * time.Hour
)

// readUnstartedFlows reads the flow runs that ended in a stretch without having started, where the read of what ended
// doesn't show them. A poll asks for few; the longer ago the stretch begins, the more.
func (r *round) readUnstartedFlows(ctx context.Context, in span, emit func(Changes) error) error {
	if r.known.unstartedEnd() {
		return nil
	}
	var f RunFilter
	switch age := r.now.Sub(in.from); {
	case age <= 2*Overlap:
		f.ExpectedStartTime = &Window{After: utc(in.from.Add(-unstartedReach))}
	case age <= 2*Overlap10m:
		f.ExpectedStartTime = &Window{After: utc(in.from.Add(-unstartedReach10m))}
	}
	flows := flowRunKind(r.p.api)
	err := readUnstarted(ctx, r.p.api, flows, Filter{}, f, in, func(page Page[FlowRun]) error { return emit(changesOf(flows, page)) })
	if err != nil {
		return fmt.Errorf("finding flow runs that ended without a start: %w", err)
	}
	return nil
}

// noteUnstarted notes flow runs whose task runs may have ended without having started.
func (r *round) noteUnstarted(runs []FlowRun) {
	if r.known.unstartedEnd() {
		return
	}
	for _, run := range runs {
		r.flowRuns.add(run.ID)
	}
}

// readUnstartedTasks reads the task runs that ended without having started, such as cached ones, of the flow runs that
// were noted since the last time.
func (r *round) readUnstartedTasks(ctx context.Context) error {
	ids := r.flowRuns.ids
	r.flowRuns = newIDSet()
	tasks := taskRunKind(r.p.api)
	for some := range slices.Chunk(ids, flowRunsAtOnce) {
		f := RunFilter{FlowRunID: &AnyID{Any: some}}
		err := readUnstarted(ctx, r.p.api, tasks, Filter{}, f, span{}, func(page Page[TaskRun]) error {
			return r.take(ctx, changesOf(tasks, page))
		})
		if err != nil {
			return fmt.Errorf("finding task runs that ended without a start: %w", err)
		}
	}
	return nil
}
