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

// noteTimeless notes flow runs whose task runs may have ended without an end time, where the read of what ended doesn't
// show them: cached ones on servers before 3, those that timed out on an early 3.
func (r *round) noteTimeless(runs []FlowRun) {
	if r.known.taskEnd {
		return
	}
	for _, run := range runs {
		if !r.known.flowEnd || run.State != nil && run.State.Type.Terminal() {
			r.flowRuns.add(run.ID)
		}
	}
}

// readTimeless reads the task runs that ended without an end time, of the flow runs that were noted since the last time.
func (r *round) readTimeless(ctx context.Context) error {
	ids := r.flowRuns.ids
	r.flowRuns = newIDSet()
	since := span{from: r.cur.Since}
	tasks := taskRunKind(r.p.api)
	take := func(page Page[TaskRun]) error {
		page.Rows = keep(page.Rows, func(row TaskRun) bool { return row.EndTime == nil && since.holds(row.ended()) })
		return r.take(ctx, changesOf(tasks, page))
	}
	for some := range slices.Chunk(ids, flowRunsAtOnce) {
		var err error
		f := RunFilter{FlowRunID: &AnyID{Any: some}}
		if r.known.flowEnd {
			f.State = inState(Failed, Cancelled, Crashed)
			err = walkOffsets(ctx, tasks.pages(r.p.api), tasks.filter(Filter{}, f), byID(TaskRun.id), func(page Page[TaskRun]) (bool, error) {
				return true, take(page)
			})
		} else {
			err = readUnstarted(ctx, r.p.api, tasks, Filter{}, f, since, take)
		}
		if err != nil {
			return fmt.Errorf("finding task runs without an end time: %w", err)
		}
	}
	return nil
}
