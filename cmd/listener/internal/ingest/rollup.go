package ingest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// How the end of a flow run waits for its tasks where it is to carry their datasets. Their rows are written by a recorder
// of their own, and may come after the flow run's.
const (
	rollupSettle = 10 * time.Second // at least, after the flow run's end
	rollupSoon   = 2 * time.Second  // between two looks for tasks that have not ended, at first
	rollupSlow   = 30 * time.Second // and later
	rollupAtOnce = 20               // flow runs whose tasks are read together
	maxRollFlows = 5_000            // flow runs below one
	maxRolled    = 2_000            // flow runs of which the datasets are remembered
)

// ruleRollup is the rule of the warning that a flow run's end goes out with its own datasets alone.
const ruleRollup = "rollup-refused"

// gatherRollups reads what the tasks of ended flow runs read and wrote, once they have all ended.
func (p *portion) gatherRollups(ctx context.Context) error {
	if !p.adapter.RollsUp() {
		return nil
	}
	var roots []uuid.UUID
	for _, id := range sortedIDs(p.flows) {
		s, told := p.flows[id], p.known[id]
		if !p.adapter.WantsRollup(s) || told.Ruling.Silent() || !p.again[id] && !p.isNews(id, s) {
			continue
		}
		if p.mode.Live && !p.again[id] {
			wait, err := p.unsettled(ctx, s)
			if err != nil {
				return err
			}
			if wait > 0 {
				p.hold(id, p.changes.Now.Add(wait))
				continue
			}
		}
		roots = append(roots, id)
	}
	for len(roots) > 0 {
		n := min(rollupAtOnce, len(roots))
		if err := p.rollUp(ctx, roots[:n]); err != nil {
			return err
		}
		roots = roots[n:]
	}
	return nil
}

// unsettled says how long a flow run's end must at least wait for its tasks; 0: no more. It waits until all of them that
// the server shows have ended, at most the grace. Those of a crashed flow run end no more.
func (p *portion) unsettled(ctx context.Context, s prefect.Snapshot) (time.Duration, error) {
	run := s.FlowRun
	age := p.since(run.State)
	switch {
	case run.StartTime == nil || run.EndTime != nil && !run.StartTime.Before(*run.EndTime):
		return 0, nil // it never ran, and has no tasks
	case age < rollupSettle:
		return rollupSettle - age, nil
	case age >= p.adapter.Grace(), run.State.Type == prefect.Crashed:
		return 0, nil
	}
	open, any, err := p.reader.AnyOpenTaskRun(ctx, []uuid.UUID{run.ID})
	if err != nil || !any {
		return 0, err
	}
	if open.StartTime != nil && open.StartTime.After(run.State.Timestamp) {
		return 0, nil // it runs on its own
	}
	return min(max(rollupSoon, age/4), rollupSlow, p.adapter.Grace()-age+time.Second), nil
}

// rollUp reads the tasks of flow runs and of their subflows, and what they made.
func (p *portion) rollUp(ctx context.Context, roots []uuid.UUID) error {
	t := newTree()
	level := map[uuid.UUID][]uuid.UUID{}
	for _, root := range roots {
		t.rolls[root] = p.adapter.NewRollup()
		level[root] = []uuid.UUID{root}
		if began := p.flows[root].FlowRun.StartTime; began != nil && (t.since.IsZero() || began.Before(t.since)) {
			t.since = *began
		}
	}
	for depth := 0; len(level) > 0 && depth < maxAncestors && len(t.rootsOf) < maxRollFlows; depth++ {
		below, err := p.rollLevel(ctx, t, level)
		if err != nil {
			return err
		}
		level = below
	}
	if len(level) > 0 && len(roots) > 1 { // too many together
		for _, root := range roots {
			if err := p.rollUp(ctx, []uuid.UUID{root}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, above := range level {
		for _, root := range above {
			t.rolls[root].Overflow()
		}
	}
	if err := p.rollTables(ctx, t); err != nil {
		return err
	}
	if err := p.rollAssets(ctx, t); err != nil {
		return err
	}
	for root, roll := range t.rolls {
		if err := roll.Full(); err != nil {
			p.warnings = append(p.warnings, adapter.Warning{Rule: ruleRollup, Run: root,
				Message: fmt.Sprintf("flow run %s goes out without the datasets of its tasks: %v", root, err)})
			roll = nil
		}
		p.rollups[root] = roll
	}
	return nil
}

// rollLevel reads the task runs of one level and returns the subflows below it.
func (p *portion) rollLevel(ctx context.Context, t tree, level map[uuid.UUID][]uuid.UUID) (map[uuid.UUID][]uuid.UUID, error) {
	for id, roots := range level {
		t.rootsOf[id] = append(t.rootsOf[id], roots...)
	}
	if err := p.nameLevel(ctx, t, sortedIDs(level)); err != nil {
		return nil, err
	}
	for id, roots := range level {
		placeholder, ok := t.placeholders[id]
		if !ok || t.flows[id].silent() {
			continue
		}
		for _, root := range roots {
			t.rolls[root].AddSubflow(id, placeholder)
		}
	}
	below := map[uuid.UUID][]uuid.UUID{}
	err := p.reader.EachTaskRun(ctx, sortedIDs(level), func(rows []prefect.TaskRun) error {
		silent, err := p.silentTasks(ctx, t, rows)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.FlowRunID == nil {
				continue
			}
			roots := level[*row.FlowRunID]
			if child, ok := row.ChildFlowRun(); ok {
				t.placeholders[child] = row
				for _, root := range roots {
					if !slices.Contains(t.rootsOf[child], root) && !slices.Contains(below[child], root) {
						below[child] = append(below[child], root)
					}
				}
				continue
			}
			if silent[row.ID] {
				continue
			}
			for _, root := range roots {
				t.rolls[root].AddTask(row)
			}
		}
		return nil
	})
	return below, err
}

func (p *portion) rollTables(ctx context.Context, t tree) error {
	return p.reader.EachTable(ctx, sortedIDs(t.rootsOf), func(rows []prefect.Artifact) error {
		for _, row := range rows {
			if row.FlowRunID == nil {
				continue
			}
			for _, root := range t.rootsOf[*row.FlowRunID] {
				t.rolls[root].AddArtifact(row)
			}
		}
		return nil
	})
}

func (p *portion) rollAssets(ctx context.Context, t tree) error {
	if !p.assets.uses {
		return nil
	}
	found, bad, err := p.reader.AssetsOfFlowRuns(ctx, sortedIDs(t.rootsOf), t.since)
	if err = p.assetsRead(ctx, err); err != nil {
		return err
	}
	p.bad = append(p.bad, bad...)
	for _, task := range sortedIDs(found) {
		events := found[task]
		for _, root := range t.rootsOf[events[0].FlowRunID] {
			t.rolls[root].AddAssets(task, events)
		}
	}
	return nil
}
