package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// probeAssets finds out for a read of history whether the server has events about assets at all.
func (p *portion) probeAssets(ctx context.Context) error {
	w := p.assets
	if len(p.tasks)+len(p.flows) == 0 || w.uses || !w.asked.IsZero() && p.changes.Now.Sub(w.asked) < probeFor {
		return nil
	}
	w.asked = p.changes.Now
	events, err := p.reader.NewestAssetEvents(ctx, time.Time{}, 1)
	if err = p.assetsRead(ctx, err); err != nil {
		return err
	}
	w.uses = len(events) > 0
	return nil
}

// sweepAssets looks for events about assets that nobody expected: of a job that made none so far, or such as came later
// than they were waited for. The ends of their runs are told once more, with all datasets. The first look finds out
// which jobs make assets.
func (p *portion) sweepAssets(ctx context.Context) error {
	w, now := p.assets, p.changes.Now
	first := w.swept.IsZero()
	if first && len(p.tasks) == 0 || !first && w.due.IsZero() || now.Before(w.due) {
		return nil
	}
	if p.AssetsQuiet != nil {
		quiet := p.AssetsQuiet()
		if quiet > 0 {
			w.ended = later(w.ended, now.Add(-quiet))
		}
		if w.needless(now, quiet) {
			w.plan(now)
			return nil
		}
	}
	recent := w.swept.Add(-sweepBack)
	if first {
		recent = w.unlooked(now)
	}
	w.due = now.Add(sweepEvery) // should this one come to nothing
	events, err := p.newestAssets(ctx, recent, first)
	if err = p.assetsRead(ctx, err); err != nil || w.broken != "" {
		return err
	}
	p.whenStored(func() {
		w.swept = now
		w.plan(now)
	})
	if len(events) == 0 {
		return nil
	}
	w.uses = true
	for id, seen := range w.seen {
		if seen.newest.Before(now.Add(-firstLook)) || len(w.seen) > maxAssetJobs {
			delete(w.seen, id) // a run that is looked at once more is told no more than once
		}
	}
	return p.surprises(ctx, events, recent)
}

// unlooked is since when an earlier process may have left out events.
func (w *assetWatch) unlooked(now time.Time) time.Time {
	since := now
	if !w.left.IsZero() {
		since = earlier(now, w.left)
	}
	return since.Add(-sweepBack - sweepAnyway)
}

// newestAssets returns the events since a time, the newest first. The first look takes older ones too, as many as are quickly
// read, to learn from.
func (p *portion) newestAssets(ctx context.Context, since time.Time, first bool) ([]prefect.AssetEvent, error) {
	if first {
		events, err := p.reader.NewestAssetEvents(ctx, earlier(since, p.changes.Now.Add(-firstLook)), firstPages)
		if err != nil || len(events) == 0 || !events[len(events)-1].Occurred.After(since) {
			return events, err
		}
	}
	return p.reader.NewestAssetEvents(ctx, since, sweepPages)
}

// plan makes the next look due, as long as task runs have ended lately. Where the looks after the last end were left out,
// there is one more.
func (w *assetWatch) plan(now time.Time) {
	switch enough := w.ended.Add(sweepFor); {
	case now.Before(enough):
		w.due = now.Add(sweepEvery)
	case w.swept.Before(enough):
		w.due = w.swept.Add(sweepAnyway)
	default:
		w.due = time.Time{}
	}
}

// needless says whether a look can be left out, since for so long no event told of what can be read some time later. After the
// last of them looks come at distances that double, the last one after sweepFor. The first look of all is never left out. A
// server searches all events for those about assets, which takes it the longer the busier it is.
func (w *assetWatch) needless(now time.Time, quiet time.Duration) bool {
	ago := now.Sub(w.swept)
	after := quiet - ago // from what was heard last to the last look; negative: it was heard since, or events can't be relied on
	switch {
	case ago >= sweepAnyway, after < 0:
		return false
	case after >= sweepFor:
		return true
	default:
		return quiet < sweepFor && ago < after
	}
}

// surprises finds the task runs that were told without some of these events. Older ones than since only teach which jobs
// make assets.
func (p *portion) surprises(ctx context.Context, events []prefect.AssetEvent, since time.Time) error {
	counts := map[uuid.UUID]int{}
	var ids []uuid.UUID
	recent := map[uuid.UUID]bool{}
	for _, e := range events {
		if e.TaskRunID == uuid.Nil {
			continue
		}
		if counts[e.TaskRunID]++; counts[e.TaskRunID] == 1 {
			ids = append(ids, e.TaskRunID)
		}
		recent[e.TaskRunID] = recent[e.TaskRunID] || e.Occurred.After(since)
	}
	entries, err := p.ledger.Told(ctx, ids)
	if err != nil {
		return fmt.Errorf("reading %d ledger entries: %w", len(ids), err)
	}
	here := map[uuid.UUID]bool{}
	for _, s := range p.tasks {
		here[s.TaskRun.ID] = true
	}
	var again []uuid.UUID
	for _, id := range ids {
		told, ok := entries[id]
		if !ok {
			continue
		}
		p.assets.learn(told.Run)
		if told.Phase != adapter.Ended || told.Ruling.Silent() || here[id] || !recent[id] || p.assets.seen[id].events >= counts[id] {
			continue
		}
		p.known[id], p.remembered[id] = told, true
		again = append(again, id)
	}
	return p.takeAgain(ctx, again)
}

// takeAgain reads task runs whose end was told, so that it is told once more.
func (p *portion) takeAgain(ctx context.Context, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	rows, bad, err := p.reader.TaskRunsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("reading %d task runs that made assets: %w", len(ids), err)
	}
	p.bad = append(p.bad, bad...)
	var list []prefect.TaskRun
	flowOf := map[uuid.UUID]prefect.FlowRef{}
	for _, id := range ids {
		row, ok := rows[id]
		if !ok {
			continue
		}
		list = append(list, row)
		p.again[id] = true
		if told := p.known[id]; row.FlowRunID != nil {
			flowOf[*row.FlowRunID] = prefect.FlowRef{FlowID: told.FlowID, DeploymentID: told.DeploymentID}
		}
	}
	snapshots, bad, err := p.reader.Snapshots(ctx, nil, list, flowOf)
	if err != nil {
		return fmt.Errorf("reading the details of %d task runs that made assets: %w", len(list), err)
	}
	p.bad = append(p.bad, bad...)
	p.tasks = append(p.tasks, snapshots...)
	return nil
}
