package ingest

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// gatherUpstreams finds the entries of all runs that the portion's runs take inputs from. Most are in the ledger by
// then; the others are read by id and named without being told about.
func (p *portion) gatherUpstreams(ctx context.Context) error {
	wanted := p.wantedUpstreams()
	if err := p.recall(ctx, wanted); err != nil {
		return err
	}
	unknown := p.settleKnown(wanted)
	if len(unknown) == 0 {
		return nil
	}
	rows, bad, err := p.reader.TaskRunsByID(ctx, unknown)
	if err != nil {
		return fmt.Errorf("reading %d upstream task runs: %w", len(unknown), err)
	}
	p.bad = append(p.bad, bad...)
	// A placeholder stands for the subflow's flow run; an id that is no task run may be a flow run's.
	standsFor := map[uuid.UUID]uuid.UUID{}
	var flowRuns []uuid.UUID
	for _, id := range unknown {
		row, ok := rows[id]
		switch child, placeholder := row.ChildFlowRun(); {
		case !ok:
			standsFor[id] = id
			flowRuns = append(flowRuns, id)
		case placeholder:
			standsFor[id] = child
			flowRuns = append(flowRuns, child)
		case row.FlowRunID != nil:
			flowRuns = append(flowRuns, *row.FlowRunID)
		}
	}
	if err := p.nameFlows(ctx, flowRuns); err != nil {
		return err
	}
	for _, id := range unknown {
		if flowRun, ok := standsFor[id]; ok {
			if told := p.pinFlow(flowRun, 0); told != nil {
				p.upstream[id] = *told
			}
			continue
		}
		row := rows[id]
		told, _ := p.adapter.Pin(prefect.Snapshot{TaskRun: &row}, p.flowEntry(&row))
		p.upstream[id] = told
	}
	return nil
}

// wantedUpstreams are the ids in the task inputs of every run of the portion, each once.
func (p *portion) wantedUpstreams() []uuid.UUID {
	seen := map[uuid.UUID]bool{}
	var ids []uuid.UUID
	add := func(s prefect.Snapshot) {
		for _, id := range p.adapter.Upstreams(s) {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	for _, id := range sortedIDs(p.flows) {
		add(p.flows[id])
	}
	for _, s := range p.tasks {
		add(s)
	}
	return ids
}

// settleKnown answers the ids whose entries are at hand and returns the others.
func (p *portion) settleKnown(ids []uuid.UUID) []uuid.UUID {
	var unknown []uuid.UUID
	for _, id := range ids {
		if told, ok := p.known[id]; ok && told.Run.Name != "" {
			p.upstream[id] = told
		} else {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

// nameFlows makes the entries of these flow runs available, reading what the ledger does not know. What is read here
// is told about as well: it is a flow run that belongs to the same story.
func (p *portion) nameFlows(ctx context.Context, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	before := len(p.flows)
	rows, err := p.unknownFlows(ctx, nil, ids)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		if err := p.gatherFlows(ctx, rows, nil); err != nil {
			return err
		}
	}
	if len(p.flows) > before {
		for _, id := range sortedIDs(p.flows) {
			p.pinFlow(id, 0)
		}
	}
	return nil
}
