package ingest

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// patience is how long a live portion waits for something that a run refers to (its flow run, an upstream task run)
// to become readable. Rows reach the server out of order. It stays below the poller's shortest overlap, so that a run
// which was left out is seen again.
const patience = 20 * time.Second

// portion is one Changes on its way into the store.
type portion struct {
	*Recorder
	changes prefect.Changes
	mode    Mode

	// known are ledger entries and, from pinning on, those of runs first seen here.
	known map[uuid.UUID]adapter.Told
	// remembered are the runs of which something had been told before this portion.
	remembered map[uuid.UUID]bool
	// fresh are the entries that this portion made or changed.
	fresh map[uuid.UUID]bool
	// ruled are the flow runs that were told about before and whose ruling was made anew here.
	ruled map[uuid.UUID]bool
	// flows are snapshots of flow runs to tell about, ancestors that were read by id among them.
	flows map[uuid.UUID]prefect.Snapshot
	// tasks are snapshots of task runs to tell about, in the order of their rows.
	tasks []prefect.Snapshot
	// gone are flow runs that were asked for by id and are not there.
	gone map[uuid.UUID]bool
	// upstream holds, by the id that task inputs name, the entry of each upstream run.
	upstream map[uuid.UUID]adapter.Told

	// held are runs whose end waits for what belongs to it, again those whose last end is told once more if it names more
	// datasets by now.
	held, again map[uuid.UUID]bool
	// rollups are what the tasks of flow runs read and wrote; nil: too much.
	rollups map[uuid.UUID]*adapter.Rollup
	// goods are, by job, the completed runs of this portion that named datasets.
	goods map[[2]string][]good

	// decided says of the runs first seen here why they are told about or not.
	decided map[uuid.UUID]adapter.Decision

	events   []adapter.Event
	edges    map[uuid.UUID][]adapter.Edge
	warnings []adapter.Warning
	bad      []prefect.BadRow
	left     []uuid.UUID // runs that can't be told yet, or not wholly

	onStored []func() // what is remembered once the portion is stored, and not if it fails
}

func newPortion(r *Recorder, changes prefect.Changes, mode Mode) *portion {
	return &portion{
		Recorder: r, changes: changes, mode: mode,
		known: map[uuid.UUID]adapter.Told{}, fresh: map[uuid.UUID]bool{},
		remembered: map[uuid.UUID]bool{}, ruled: map[uuid.UUID]bool{},
		flows: map[uuid.UUID]prefect.Snapshot{}, gone: map[uuid.UUID]bool{},
		upstream: map[uuid.UUID]adapter.Told{}, edges: map[uuid.UUID][]adapter.Edge{},
		held: map[uuid.UUID]bool{}, again: map[uuid.UUID]bool{}, rollups: map[uuid.UUID]*adapter.Rollup{},
		goods:   map[[2]string][]good{},
		decided: map[uuid.UUID]adapter.Decision{}, bad: changes.Bad,
	}
}

// tell makes the events: flow runs in the order of their ids, then task runs. Order between runs is settled later. Runs
// that may have to repeat an earlier run's datasets come after all others: the earlier run may be among them.
func (p *portion) tell(ctx context.Context) error {
	var late []prefect.Snapshot
	one := func(s prefect.Snapshot) {
		if p.adapter.MayRepeat(s) {
			late = append(late, s)
			return
		}
		p.tellOne(s, nil)
	}
	for _, id := range sortedIDs(p.flows) {
		one(p.flows[id])
	}
	for _, s := range p.tasks {
		one(s)
	}
	for _, s := range late {
		last, err := p.lastOf(ctx, idOf(s), s)
		if err != nil {
			return err
		}
		p.tellOne(s, last)
	}
	return nil
}

// whenStored has something remembered once the portion is stored.
func (p *portion) whenStored(remember func()) { p.onStored = append(p.onStored, remember) }

func idOf(s prefect.Snapshot) uuid.UUID {
	if s.FlowRun != nil {
		return s.FlowRun.ID
	}
	return s.TaskRun.ID
}

func (p *portion) tellOne(s prefect.Snapshot, last []adapter.Edge) {
	id := idOf(s)
	told, pinned := p.known[id]
	if !pinned {
		return
	}
	if !p.again[id] && p.mustWait(s) {
		p.leave(id)
		return
	}
	before := told
	if p.mode.again() {
		told = untold(told)
	}
	telling := p.adapter.Tell(s, told, adapter.Beside{
		Upstream: p.upstream, Last: last, Rollup: p.rollups[id], Hold: p.held[id], Again: p.again[id],
	})
	if p.held[id] {
		p.leave(id)
	}
	if assets := s.Assets; p.mode.Live && !p.held[id] && len(assets) > 0 {
		p.whenStored(func() { p.assets.note(id, assets) })
	}
	p.warnings = append(p.warnings, telling.Warnings...)
	p.events = append(p.events, telling.Events...)
	if len(telling.Edges) > 0 {
		p.edges[id] = telling.Edges
	}
	p.noteGood(telling.Told, telling.Edges)
	if p.mode.again() && before.Phase != adapter.Unsaid {
		return
	}
	p.known[id] = telling.Told
	p.fresh[id] = true
}

// mustWait says whether a live run is better told at the next poll, because an upstream of it cannot be read yet.
func (p *portion) mustWait(s prefect.Snapshot) bool {
	if !p.young(s.State()) {
		return false
	}
	for _, id := range p.adapter.Upstreams(s) {
		if _, ok := p.upstream[id]; !ok {
			return true
		}
	}
	return false
}

// young says whether a state is so new that what belongs to it may not have reached the server's tables.
func (p *portion) young(s *prefect.State) bool {
	return p.mode.Live && s != nil && p.changes.Now.Sub(s.Timestamp) < patience
}

// untold is the entry with its pinned facts and nothing said.
func untold(t adapter.Told) adapter.Told {
	t.Phase, t.Start, t.EndType, t.End, t.Inferred, t.Named = adapter.Unsaid, time.Time{}, "", time.Time{}, false, 0
	return t
}

func (p *portion) batch() (state.Batch, error) {
	cursors, err := encodeCursor(p.changes.Cursor)
	if err != nil {
		return state.Batch{}, err
	}
	b := state.Batch{
		Events: chronological(p.events), Edges: p.edges, Cursors: cursors,
		Destinations: p.mode.Destinations, Resend: p.mode.Resend,
	}
	for _, id := range sortedIDs(p.fresh) {
		b.Told = append(b.Told, p.known[id])
	}
	for _, row := range p.bad {
		b.Quarantine = append(b.Quarantine, state.BadRow{
			Resource: row.Resource, ID: row.ID, Reason: row.Reason, Raw: row.Raw, Seen: p.changes.Now,
		})
	}
	return b, nil
}

func (p *portion) report(committed state.Committed, b state.Batch) {
	p.metrics.recorded(p.changes, b, committed, len(p.left))
	p.metrics.decided(p.decided)
	p.warn(p.warnings)
	for _, row := range p.bad {
		p.log.Warn("a row could not be read and is kept in quarantine",
			zap.String("resource", row.Resource), zap.String("id", row.ID), zap.String("reason", row.Reason))
	}
}

func (r *Recorder) warn(warnings []adapter.Warning) {
	for _, w := range warnings {
		r.metrics.warning(w.Rule, w.Times)
		r.log.Warn("odd data in Prefect", zap.String("rule", w.Rule), zap.Stringer("run", w.Run), zap.String("problem", w.Message))
	}
}
