package ingest

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// rolledRuns are the datasets that ends of flow runs named, by flow run: a task run that is recorded after its flow run's
// end was told is news for that end only if it names others. It is kept in memory, since it only spares work.
type rolledRuns map[uuid.UUID]map[adapter.Edge]bool

func (r rolledRuns) keep(run uuid.UUID, edges []adapter.Edge) {
	if len(r) >= maxRolled {
		for id := range r { // any: who is forgotten is rolled up once more
			delete(r, id)
			break
		}
	}
	named := make(map[adapter.Edge]bool, len(edges))
	for _, e := range edges {
		named[adapter.Edge{Namespace: e.Namespace, Name: e.Name}] = true
	}
	r[run] = named
}

// lacks says whether an end of the flow run may have named less than these.
func (r rolledRuns) lacks(run uuid.UUID, edges []adapter.Edge) bool {
	named, ok := r[run]
	if !ok {
		return true
	}
	for _, e := range edges {
		if !named[adapter.Edge{Namespace: e.Namespace, Name: e.Name}] {
			return true
		}
	}
	return false
}

// retellFlows tells ends of flow runs once more that were told before one of their tasks was recorded, with its datasets.
func (p *portion) retellFlows(ctx context.Context) error {
	if !p.adapter.RollsUp() || p.mode.again() {
		return nil
	}
	for id := range p.rollups {
		p.rolled.keep(id, p.edges[id])
	}
	var late []uuid.UUID
	seen := map[uuid.UUID]bool{}
	for _, s := range p.tasks {
		edges := p.edges[s.TaskRun.ID]
		if s.TaskRun.FlowRunID == nil || len(edges) == 0 {
			continue
		}
		for id := *s.TaskRun.FlowRunID; id != uuid.Nil && !seen[id]; id = p.known[id].FlowRunID {
			if err := p.recall(ctx, []uuid.UUID{id}); err != nil {
				return err
			}
			if told := p.known[id]; told.Phase == adapter.Ended && !told.Ruling.Silent() && p.rolled.lacks(id, edges) {
				seen[id] = true
				late = append(late, id)
			}
		}
	}
	if len(late) == 0 {
		return nil
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
		if err := p.rollUpAgain(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *portion) rollUpAgain(ctx context.Context, s prefect.Snapshot) error {
	id := s.FlowRun.ID
	p.flows[id] = s
	if !p.adapter.WantsRollup(s) {
		return nil
	}
	if err := p.rollUp(ctx, []uuid.UUID{id}); err != nil {
		return err
	}
	last, err := p.lastOf(ctx, id, s)
	if err != nil {
		return err
	}
	p.tellOne(s, last)
	if edges, ok := p.edges[id]; ok {
		p.rolled.keep(id, edges)
	} else {
		p.rolled.keep(id, p.rollups[id].Edges())
	}
	return nil
}
