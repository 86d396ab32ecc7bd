package ingest

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// rolledRuns are the datasets that are known of the ends of flow runs, by flow run: a task run that is recorded after its
// flow run's end was told is news for that end only if it names others. It is kept in memory, since it only spares work.
// Nothing it can name is news for a flow run with a nil set, whose tasks are too many.
type rolledRuns map[uuid.UUID]map[adapter.Edge]bool

// place is a dataset and what it is to a run.
func place(e adapter.Edge) adapter.Edge {
	return adapter.Edge{Namespace: e.Namespace, Name: e.Name, Output: e.Output}
}

func (r rolledRuns) keep(run uuid.UUID, known map[adapter.Edge]bool) {
	if len(r) >= maxRolled {
		for id := range r { // any: who is forgotten is rolled up once more
			delete(r, id)
			break
		}
	}
	r[run] = known
}

// lacks says whether an end of the flow run may have known less than these.
func (r rolledRuns) lacks(run uuid.UUID, edges []adapter.Edge) bool {
	known, ok := r[run]
	if !ok {
		return true
	}
	return known != nil && slices.ContainsFunc(edges, func(e adapter.Edge) bool { return !known[place(e)] })
}

// keepRolled remembers what the ends told in this portion know.
func (p *portion) keepRolled() {
	for id, roll := range p.rollups {
		if p.known[id].Phase != adapter.Ended {
			continue
		}
		var known map[adapter.Edge]bool
		if roll != nil {
			known = map[adapter.Edge]bool{}
			for _, e := range slices.Concat(roll.Edges(), p.edges[id]) {
				known[place(e)] = true
			}
		}
		p.rolled.keep(id, known)
	}
}

// retellFlows tells ends of flow runs once more that were told before one of their tasks was recorded, with its datasets.
func (p *portion) retellFlows(ctx context.Context) error {
	if !p.adapter.RollsUp() || p.mode.again() {
		return nil
	}
	p.whenStored(p.keepRolled)
	late, err := p.lateFlows(ctx)
	if err != nil || len(late) == 0 {
		return err
	}
	rows, _, err := p.reader.FlowRunsByID(ctx, late)
	if err != nil {
		return fmt.Errorf("reading %d flow runs whose tasks came late: %w", len(late), err)
	}
	var list []prefect.FlowRun
	for _, id := range late {
		if row, ok := rows[id]; ok {
			list = append(list, row)
			p.again[id] = true
		}
	}
	snapshots, _, err := p.reader.Snapshots(ctx, list, nil, nil)
	if err != nil {
		return fmt.Errorf("reading the details of %d flow runs whose tasks came late: %w", len(list), err)
	}
	for _, s := range snapshots {
		p.flows[s.FlowRun.ID] = s
	}
	if err := p.gatherUpstreams(ctx); err != nil {
		return err
	}
	for _, s := range snapshots {
		if err := p.rollUpAgain(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// lateFlows returns the flow runs above this portion's task runs that were told before and may lack their datasets.
func (p *portion) lateFlows(ctx context.Context) ([]uuid.UUID, error) {
	var late []uuid.UUID
	seen := map[uuid.UUID]bool{}
	for _, s := range p.tasks {
		edges := p.edges[s.TaskRun.ID]
		if s.TaskRun.FlowRunID == nil || len(edges) == 0 {
			continue
		}
		id := *s.TaskRun.FlowRunID
		for depth := 0; depth < maxAncestors && id != uuid.Nil; depth++ {
			if err := p.recall(ctx, []uuid.UUID{id}); err != nil {
				return nil, err
			}
			told := p.known[id]
			_, rolledNow := p.rollups[id]
			if !seen[id] && !rolledNow && told.Phase == adapter.Ended && !told.Ruling.Silent() && p.rolled.lacks(id, edges) {
				seen[id] = true
				late = append(late, id)
			}
			id = told.FlowRunID
		}
	}
	return late, nil
}

func (p *portion) rollUpAgain(ctx context.Context, s prefect.Snapshot) error {
	if !p.adapter.WantsRollup(s) {
		return nil
	}
	id := s.FlowRun.ID
	if err := p.rollUp(ctx, []uuid.UUID{id}); err != nil {
		return err
	}
	last, err := p.lastOf(ctx, id, s)
	if err != nil {
		return err
	}
	p.tellOne(s, last)
	return nil
}
