package prefect

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// Read reads runs by id, as Poll would show them: what has no state yet, or may still be renamed, is left out. So is
// what isn't there, which means nothing for a run that was only just named. It may be called while Poll is at work.
func (p *Poller) Read(ctx context.Context, ids OpenRuns) (Changes, error) {
	known, err := p.prober.get(ctx)
	if err != nil {
		return Changes{}, err
	}
	var flows, tasks Changes
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() (err error) { flows, err = readNamed(ctx, p.api, flowRunKind(p.api), ids.FlowRuns); return err })
	reading.Go(func() (err error) { tasks, err = readNamed(ctx, p.api, taskRunKind(p.api), ids.TaskRuns); return err })
	if err := reading.Wait(); err != nil {
		return Changes{}, err
	}
	c := Changes{Bad: append(flows.Bad, tasks.Bad...), Now: later(flows.Now, tasks.Now)}
	c.FlowRuns = keep(flows.FlowRuns, func(r FlowRun) bool { return known.tellable(r.State, c.Now) })
	c.TaskRuns = keep(tasks.TaskRuns, func(r TaskRun) bool { return known.tellable(r.State, c.Now) })
	return c, nil
}

// tellable says whether a row with this state, which was served then, can be told.
func (f features) tellable(state *State, served time.Time) bool {
	return state != nil && (!f.namesMove() || state.Type != Running || served.Sub(state.Timestamp) >= settled)
}

// readNamed reads runs of one kind by id.
func readNamed[T run](ctx context.Context, api RunLister, of kind[T], ids []uuid.UUID) (Changes, error) {
	var c Changes
	err := readIDs(ctx, api, of, ids, func(page Changes) error {
		c.FlowRuns = append(c.FlowRuns, page.FlowRuns...)
		c.TaskRuns = append(c.TaskRuns, page.TaskRuns...)
		c.Bad = append(c.Bad, page.Bad...)
		c.Now = later(c.Now, page.Now)
		return nil
	})
	if err != nil {
		return Changes{}, fmt.Errorf("reading %d runs that events named: %w", len(ids), err)
	}
	return c, nil
}
