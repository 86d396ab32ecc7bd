package prefect

import (
	"bytes"
	"context"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// naming is the flows and deployments of some runs.
type naming struct {
	flows       map[uuid.UUID]*Flow
	deployments map[uuid.UUID]*Deployment
	bad         []BadRow
}

func (n naming) of(ref FlowRef) (*Flow, *Deployment) {
	return n.flows[ref.FlowID], n.deployments[ref.DeploymentID]
}

// Names reads the flow and the deployment of each flow run, as Snapshots does. What is not there is nil.
func (r *Reader) Names(ctx context.Context, of map[uuid.UUID]FlowRef) (map[uuid.UUID]Snapshot, error) {
	names, err := r.names(ctx, of) // a bad row among them was given with the flow run's snapshot
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]Snapshot, len(of))
	for id, ref := range of {
		var s Snapshot
		s.Flow, s.Deployment = names.of(ref)
		found[id] = s
	}
	return found, nil
}

// names reads the flows and deployments that refs name.
func (r *Reader) names(ctx context.Context, refs map[uuid.UUID]FlowRef) (naming, error) {
	flowIDs, deploymentIDs := newIDSet(), newIDSet()
	for _, ref := range refs {
		flowIDs.add(ref.FlowID)
		deploymentIDs.add(ref.DeploymentID)
	}
	var names naming
	var badFlows, badDeployments []BadRow
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() (err error) {
		src := newPages("flows", r.api.Flows, r.api.PageLimit())
		filter := func(ids []uuid.UUID) Filter { return Filter{Flows: &IDFilter{ID: &AnyID{Any: ids}}} }
		names.flows, badFlows, err = readThrough(ctx, r.flows, flowIDs.ids, src, filter, func(f Flow) uuid.UUID { return f.ID })
		return err
	})
	reading.Go(func() (err error) {
		src := newPages("deployments", r.api.Deployments, r.api.PageLimit())
		filter := func(ids []uuid.UUID) Filter { return Filter{Deployments: &IDFilter{ID: &AnyID{Any: ids}}} }
		names.deployments, badDeployments, err = readThrough(ctx, r.deployments, deploymentIDs.ids, src, filter, func(d Deployment) uuid.UUID { return d.ID })
		return err
	})
	if err := reading.Wait(); err != nil {
		return naming{}, err
	}
	names.bad = slices.Concat(badFlows, badDeployments)
	return names, nil
}

// FlowsThere counts how many of these flows the server has now, whatever is kept of them.
func (r *Reader) FlowsThere(ctx context.Context, ids []uuid.UUID) (int, error) {
	there := 0
	src := newPages("flows", r.api.Flows, r.api.PageLimit())
	filter := func(ids []uuid.UUID) Filter { return Filter{Flows: &IDFilter{ID: &AnyID{Any: ids}}} }
	err := fetchIDs(ctx, src, ids, filter, func(_ []uuid.UUID, page Page[Flow]) error {
		there += len(page.Rows) + len(page.Bad)
		return nil
	})
	return there, err
}

// standIns reads the task runs that stand in for subflows in their parents, by their own id.
func (r *Reader) standIns(ctx context.Context, flowRuns []FlowRun, taskRuns []TaskRun) (map[uuid.UUID]*TaskRun, error) {
	ids := newIDSet()
	for _, run := range flowRuns {
		if run.ParentTaskRunID != nil {
			ids.add(*run.ParentTaskRunID)
		}
	}
	for _, run := range taskRuns {
		if _, wanted := ids.seen[run.ID]; wanted {
			r.placeholders.put(run.ID, &run)
		}
	}
	src := taskRunKind(r.api).pages(r.api)
	filter := func(ids []uuid.UUID) Filter { return Filter{TaskRuns: &RunFilter{ID: &AnyID{Any: ids}}} }
	// A placeholder that can't be understood is given as a bad row where it is read as a task run.
	found, _, err := readThrough(ctx, r.placeholders, ids.ids, src, filter, TaskRun.id)
	return found, err
}

// readThrough returns rows by id, from the cache as far as it has them. Rows that aren't there are left out.
func readThrough[T any](ctx context.Context, kept *cache[T], ids []uuid.UUID, src *pages[T], filter func([]uuid.UUID) Filter, id func(T) uuid.UUID) (map[uuid.UUID]*T, []BadRow, error) {
	found := make(map[uuid.UUID]*T, len(ids))
	missing := keep(ids, func(id uuid.UUID) bool {
		row, known := kept.get(id)
		if row != nil {
			found[id] = row
		}
		return !known
	})
	// In one order, however the caller came by the ids: equal reads make equal requests.
	slices.SortFunc(missing, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	var bad []BadRow
	err := fetchIDs(ctx, src, missing, filter, func(asked []uuid.UUID, page Page[T]) error {
		for _, row := range page.Rows { // each a copy, so that one that is kept doesn't keep its page
			found[id(row)] = &row
		}
		bad = append(bad, page.Bad...)
		for _, id := range asked {
			kept.put(id, found[id])
		}
		return nil
	})
	return found, bad, err
}
