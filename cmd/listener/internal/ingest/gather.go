package ingest

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// maxAncestors bounds the climb from a subflow to its root: Prefect sets no limit, a loop in its data must not hang us.
const maxAncestors = 64

// gather collects all that the events of this portion stand on, in a few batched reads.
func (p *portion) gather(ctx context.Context) error {
	if err := p.recall(ctx, p.rowIDs()); err != nil {
		return err
	}
	flowRows, taskRows := p.news()
	if err := p.gatherFlows(ctx, flowRows, taskRows); err != nil {
		return err
	}
	if err := p.gatherTasks(ctx, taskRows); err != nil {
		return err
	}
	for _, id := range sortedIDs(p.flows) {
		p.pinFlow(id, 0)
	}
	p.pinTasks()
	if err := p.gatherAssets(ctx); err != nil { // first, since it may find runs that are told once more
		return err
	}
	if err := p.gatherUpstreams(ctx); err != nil {
		return err
	}
	return p.gatherRollups(ctx)
}

func (p *portion) rowIDs() []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(p.changes.FlowRuns)+len(p.changes.TaskRuns)+len(p.changes.Gone))
	for _, r := range p.changes.FlowRuns {
		ids = append(ids, r.ID)
	}
	for _, r := range p.changes.TaskRuns {
		ids = append(ids, r.ID)
	}
	return append(ids, p.changes.Gone...)
}

// recall adds the ledger's entries of these runs to the known ones.
func (p *portion) recall(ctx context.Context, ids []uuid.UUID) error {
	var ask []uuid.UUID
	for _, id := range ids {
		if _, ok := p.known[id]; !ok {
			ask = append(ask, id)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	entries, err := p.ledger.Told(ctx, ask)
	if err != nil {
		return fmt.Errorf("reading %d ledger entries: %w", len(ask), err)
	}
	for id, told := range entries {
		if p.decidesAnew(told) {
			continue
		}
		p.known[id] = told
		if told.Phase != adapter.Unsaid {
			p.remembered[id] = true
		}
	}
	return nil
}

// decidesAnew says whether a run that was kept back is decided about once more: who sends again may have changed the
// rules for it.
func (p *portion) decidesAnew(told adapter.Told) bool { return p.mode.Resend && told.Ruling.Silent() }

// news picks the rows of which there may be something to tell.
func (p *portion) news() ([]prefect.FlowRun, []prefect.TaskRun) {
	var flowRows []prefect.FlowRun
	for _, row := range p.changes.FlowRuns {
		if !p.resting(row.ID, row.State) && p.isNews(row.ID, prefect.Snapshot{FlowRun: &row}) {
			flowRows = append(flowRows, row)
		}
	}
	var taskRows []prefect.TaskRun
	for _, row := range p.changes.TaskRuns {
		if !p.resting(row.ID, row.State) && p.isNews(row.ID, prefect.Snapshot{TaskRun: &row}) {
			taskRows = append(taskRows, row)
		}
	}
	return flowRows, taskRows
}

func (p *portion) isNews(id uuid.UUID, row prefect.Snapshot) bool {
	told := p.known[id]
	if p.mode.again() {
		told = untold(told)
	}
	return p.adapter.News(row, told)
}

// gatherFlows reads the snapshots of these flow runs, of the flow runs of these task runs and of all their ancestors,
// as far as the ledger does not know them. One round of reads serves one level of all the trees.
func (p *portion) gatherFlows(ctx context.Context, flowRows []prefect.FlowRun, taskRows []prefect.TaskRun) error {
	var parents []uuid.UUID
	for _, t := range taskRows {
		if t.FlowRunID != nil {
			parents = append(parents, *t.FlowRunID)
		}
	}
	for range maxAncestors {
		rows, err := p.unknownFlows(ctx, flowRows, parents)
		if err != nil {
			return err
		}
		flowRows = append(flowRows, rows...)
		if len(flowRows) == 0 {
			return nil
		}
		snapshots, bad, err := p.reader.Snapshots(ctx, flowRows, nil, nil)
		if err != nil {
			return fmt.Errorf("reading the details of %d flow runs: %w", len(flowRows), err)
		}
		p.bad = append(p.bad, bad...)
		parents, flowRows = nil, nil
		for _, s := range snapshots {
			p.flows[s.FlowRun.ID] = s
			if parent, ok := parentFlowRun(s); ok {
				parents = append(parents, parent)
			}
		}
	}
	return nil
}

// unknownFlows reads by id those of the wanted flow runs that are neither at hand nor told about. An entry of which
// nothing was said yet counts as unknown: its first event must go out with its child's.
func (p *portion) unknownFlows(ctx context.Context, atHand []prefect.FlowRun, wanted []uuid.UUID) ([]prefect.FlowRun, error) {
	if err := p.recall(ctx, wanted); err != nil {
		return nil, err
	}
	skip := map[uuid.UUID]bool{}
	for _, row := range atHand {
		skip[row.ID] = true
	}
	var ask []uuid.UUID
	for _, id := range wanted {
		_, have := p.flows[id]
		told, known := p.known[id]
		if skip[id] || have || p.gone[id] || (known && (told.Phase != adapter.Unsaid || told.Ruling.Silent())) {
			continue
		}
		skip[id] = true
		ask = append(ask, id)
	}
	if len(ask) == 0 {
		return nil, nil
	}
	found, bad, err := p.reader.FlowRunsByID(ctx, ask)
	if err != nil {
		return nil, fmt.Errorf("reading %d flow runs by id: %w", len(ask), err)
	}
	p.bad = append(p.bad, bad...)
	var rows []prefect.FlowRun
	for _, id := range ask {
		if row, ok := found[id]; ok {
			rows = append(rows, row)
		} else {
			p.gone[id] = true
		}
	}
	return rows, nil
}

func parentFlowRun(s prefect.Snapshot) (uuid.UUID, bool) {
	if s.Placeholder == nil || s.Placeholder.FlowRunID == nil {
		return uuid.UUID{}, false
	}
	return *s.Placeholder.FlowRunID, true
}

// gatherTasks reads the snapshots of the task runs.
func (p *portion) gatherTasks(ctx context.Context, rows []prefect.TaskRun) error {
	ready := rows[:0:0]
	flowOf := map[uuid.UUID]prefect.FlowRef{}
	for _, row := range rows {
		if row.FlowRunID != nil {
			if p.gone[*row.FlowRunID] && p.young(row.State) {
				p.leave(row.ID) // its flow run may not have reached the tables yet
				continue
			}
			flowOf[*row.FlowRunID] = p.flowRef(*row.FlowRunID)
		}
		ready = append(ready, row)
	}
	if len(ready) == 0 {
		return nil
	}
	snapshots, bad, err := p.reader.Snapshots(ctx, nil, ready, flowOf)
	if err != nil {
		return fmt.Errorf("reading the details of %d task runs: %w", len(ready), err)
	}
	p.tasks = snapshots
	p.bad = append(p.bad, bad...)
	return nil
}

func (p *portion) flowRef(id uuid.UUID) prefect.FlowRef {
	if s, ok := p.flows[id]; ok {
		ref := prefect.FlowRef{FlowID: s.FlowRun.FlowID}
		if s.FlowRun.DeploymentID != nil {
			ref.DeploymentID = *s.FlowRun.DeploymentID
		}
		return ref
	}
	told := p.known[id]
	return prefect.FlowRef{FlowID: told.FlowID, DeploymentID: told.DeploymentID}
}

// pinFlow fixes a flow run's facts after those of its ancestors and returns its entry; nil: not to be had.
func (p *portion) pinFlow(id uuid.UUID, depth int) *adapter.Told {
	told, known := p.known[id]
	known = known && told.Run.Name != ""
	s, ok := p.flows[id]
	if known && (!ok || !p.mode.Resend || p.fresh[id] || p.ruled[id]) {
		return &told
	}
	if !ok {
		return nil
	}
	var parent *adapter.Told
	if above, ok := parentFlowRun(s); ok && depth < maxAncestors {
		parent = p.pinFlow(above, depth+1)
	}
	if known {
		return p.rule(told, s, parent)
	}
	return p.pin(id, s, parent)
}

// rule decides anew, for this portion, about what runs inside a flow run that was told about and is sent again: its tasks
// may have been kept back by mistake. What was told stays told.
func (p *portion) rule(told adapter.Told, s prefect.Snapshot, parent *adapter.Told) *adapter.Told {
	if d := p.adapter.Decide(s, parent); !d.Ruling.Silent() {
		told.Ruling = d.Ruling
	}
	p.known[told.ID], p.ruled[told.ID] = told, true
	return &told
}

func (p *portion) pinTasks() {
	for _, s := range p.tasks {
		if told, ok := p.known[s.TaskRun.ID]; ok && told.Run.Name != "" {
			continue
		}
		p.pin(s.TaskRun.ID, s, p.flowEntry(s.TaskRun))
	}
}

func (p *portion) flowEntry(t *prefect.TaskRun) *adapter.Told {
	if t.FlowRunID == nil {
		return nil
	}
	return p.pinFlow(*t.FlowRunID, 0)
}

func (p *portion) pin(id uuid.UUID, s prefect.Snapshot, parent *adapter.Told) *adapter.Told {
	told, warnings := p.adapter.Pin(s, parent)
	p.warnings = append(p.warnings, warnings...)
	p.known[id] = told
	p.fresh[id] = true
	p.decided[id] = p.adapter.Decide(s, parent)
	return &told
}
