package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// tree is the flow runs below some roots, each with the roots that it belongs to.
type tree struct {
	rootsOf map[uuid.UUID][]uuid.UUID
	rolls   map[uuid.UUID]*adapter.Rollup // by root
	flows   map[uuid.UUID]treeFlow
	// placeholders are the task runs that stand in for subflows, by the subflow's run.
	placeholders map[uuid.UUID]prefect.TaskRun
	since        time.Time
}

func newTree() tree {
	return tree{
		rootsOf: map[uuid.UUID][]uuid.UUID{}, rolls: map[uuid.UUID]*adapter.Rollup{},
		flows: map[uuid.UUID]treeFlow{}, placeholders: map[uuid.UUID]prefect.TaskRun{},
	}
}

// treeFlow is what decides about the tasks of a flow run.
type treeFlow struct {
	told       *adapter.Told // nil: the flow run is gone
	flow       *prefect.Flow
	deployment *prefect.Deployment
}

func (f treeFlow) silent() bool { return f.told == nil || f.told.Ruling.Silent() }

// nameLevel finds out what decides about the tasks of these flow runs, whose parents are in the tree. Those that were not
// seen before are read by id and not told about here.
func (p *portion) nameLevel(ctx context.Context, t tree, ids []uuid.UUID) error {
	if err := p.recall(ctx, ids); err != nil {
		return err
	}
	var unknown []uuid.UUID
	refs := map[uuid.UUID]prefect.FlowRef{}
	for _, id := range ids {
		if s, ok := p.flows[id]; ok {
			t.flows[id] = treeFlow{p.pinFlow(id, 0), s.Flow, s.Deployment}
		} else if told, ok := p.known[id]; ok && told.Run.Name != "" {
			t.flows[id] = treeFlow{told: &told}
			refs[id] = p.flowRef(id)
		} else {
			unknown = append(unknown, id)
		}
	}
	named, err := p.reader.Names(ctx, refs)
	if err != nil {
		return fmt.Errorf("reading the names of %d flow runs: %w", len(refs), err)
	}
	for id, s := range named {
		t.flows[id] = treeFlow{t.flows[id].told, s.Flow, s.Deployment}
	}
	return p.nameUnknown(ctx, t, unknown)
}

func (p *portion) nameUnknown(ctx context.Context, t tree, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	rows, _, err := p.reader.FlowRunsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("reading %d subflow runs: %w", len(ids), err)
	}
	var list []prefect.FlowRun
	for _, id := range ids {
		if row, ok := rows[id]; ok {
			list = append(list, row)
		}
	}
	snapshots, _, err := p.reader.Snapshots(ctx, list, nil, nil)
	if err != nil {
		return fmt.Errorf("reading the details of %d subflow runs: %w", len(list), err)
	}
	for _, s := range snapshots {
		var parent *adapter.Told
		if above, ok := parentFlowRun(s); ok {
			parent = t.flows[above].told
		}
		told, _ := p.adapter.Pin(s, parent)
		t.flows[s.FlowRun.ID] = treeFlow{&told, s.Flow, s.Deployment}
	}
	return nil
}

// silentTasks says which task runs are not told about: neither are their datasets.
func (p *portion) silentTasks(ctx context.Context, t tree, rows []prefect.TaskRun) (map[uuid.UUID]bool, error) {
	var ids []uuid.UUID
	for _, row := range rows {
		if _, ok := p.known[row.ID]; !ok {
			ids = append(ids, row.ID)
		}
	}
	entries, err := p.ledger.Told(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("reading %d ledger entries: %w", len(ids), err)
	}
	silent := map[uuid.UUID]bool{}
	for _, row := range rows {
		told, ok := p.known[row.ID]
		if !ok {
			told, ok = entries[row.ID]
			ok = ok && !p.decidesAnew(told)
		}
		ruling := told.Ruling
		if !ok {
			var above treeFlow
			if row.FlowRunID != nil {
				above = t.flows[*row.FlowRunID]
			}
			ruling = p.adapter.Decide(prefect.Snapshot{TaskRun: &row, Flow: above.flow, Deployment: above.deployment}, above.told).Ruling
		}
		silent[row.ID] = ruling.Silent()
	}
	return silent, nil
}
