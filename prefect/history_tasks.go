package prefect

import (
	"context"
	"slices"

	"github.com/google/uuid"
)

// Of how many flow runs the task runs are asked for in one request, to begin with and at most. Servers find task runs by
// flow run about twice as fast as by anything else.
const (
	flowRunsAtOnce     = 20
	mostFlowRunsAtOnce = 100
)

// withTaskRuns hands over flow runs, each before its task runs.
func (p *past) withTaskRuns(ctx context.Context, page Page[FlowRun], emit func(Changes) error) error {
	if err := emit(Changes{Bad: page.Bad, Now: page.Served}); err != nil {
		return err
	}
	for rows := page.Rows; len(rows) > 0; {
		some := rows[:min(p.tasksEach.next(), len(rows))]
		rows = rows[len(some):]
		if err := emit(Changes{FlowRuns: some, Now: page.Served}); err != nil {
			return err
		}
		ids := make([]uuid.UUID, 0, len(some))
		for _, run := range some {
			ids = append(ids, run.ID)
		}
		if err := p.taskRunsOf(ctx, ids, emit); err != nil {
			return err
		}
	}
	return nil
}

// taskRunsOf hands over the task runs of some flow runs that belong to the stretch.
func (p *past) taskRunsOf(ctx context.Context, flowRuns []uuid.UUID, emit func(Changes) error) error {
	tasks := taskRunKind(p.api)
	f := tasks.filter(Filter{}, RunFilter{FlowRunID: &AnyID{Any: flowRuns}})
	found := 0
	defer func() { p.tasksEach.got(len(flowRuns), found) }()
	return walkOffsets(ctx, tasks.pages(p.api), f, byID(TaskRun.id), func(page Page[TaskRun]) (bool, error) {
		found += len(page.Rows) + len(page.Bad)
		page.Rows = keep(page.Rows, func(row TaskRun) bool { return belongs(p.within, row) })
		slices.SortFunc(page.Rows, byStart[TaskRun])
		return true, emit(changesOf(tasks, page))
	})
}

// readStrays hands over the task runs of the stretch that come with none of its flow runs: background tasks, and
// those whose flow run began before the stretch and ended after it, or not at all, or ended before its task did.
func (p *past) readStrays(ctx context.Context, emit func(Changes) error) error {
	tasks := taskRunKind(p.api)
	strays := stretch[TaskRun]{
		api: p.api, of: tasks, filters: p.known.taskEnd, base: p.filter(), within: p.within,
		first: p.within.to.Sub(p.within.from), // there are few
	}
	yes, loose := true, strays
	loose.run.FlowRunID = &AnyID{IsNull: &yes}
	if err := loose.read(ctx, func(page Page[TaskRun]) error { return emit(changesOf(tasks, page)) }); err != nil {
		return err
	}
	for _, outside := range p.outside() {
		one := strays
		one.base.FlowRuns = outside
		err := one.read(ctx, func(page Page[TaskRun]) error {
			rows, err := p.withoutTheirs(ctx, page.Rows)
			if err != nil {
				return err
			}
			page.Rows = rows
			return emit(changesOf(tasks, page))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// outside are filters that together find the flow runs which neither started nor ended in the stretch. A server that
// can't filter flow runs by end time finds all: which ones lie outside is looked up.
func (p *past) outside() []*RunFilter {
	if !p.known.flowEnd {
		return []*RunFilter{nil}
	}
	yes := true
	before := &Window{Before: utc(p.within.from)}
	return []*RunFilter{
		{StartTime: before, EndTime: &Window{After: utc(p.within.to)}},
		{StartTime: before, EndTime: &Window{IsNull: &yes}},
		{EndTime: before},
	}
}

// withoutTheirs leaves out the task runs without a flow run and those whose flow run belongs to the stretch: they
// were handed over before.
func (p *past) withoutTheirs(ctx context.Context, rows []TaskRun) ([]TaskRun, error) {
	ids := newIDSet()
	for _, row := range rows {
		if row.FlowRunID != nil {
			ids.add(*row.FlowRunID)
		}
	}
	theirs := make(map[uuid.UUID]bool, len(ids.ids))
	_, err := gather(ctx, p.api, flowRunKind(p.api), ids.ids, func(c Changes) {
		for _, run := range c.FlowRuns {
			theirs[run.ID] = belongs(p.within, run)
		}
	})
	if err != nil {
		return nil, err
	}
	return keep(rows, func(row TaskRun) bool { return row.FlowRunID != nil && !theirs[*row.FlowRunID] }), nil
}
