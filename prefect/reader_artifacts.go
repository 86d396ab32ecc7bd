package prefect

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// How many runs' artifacts are asked for at once. Flow runs count for more: with theirs come all of their task runs'.
const (
	artifactTaskRuns = 100
	artifactFlowRuns = 20
)

// artifacts are the table artifacts of some runs, by run.
type artifacts struct {
	ofFlowRuns, ofTaskRuns map[uuid.UUID][]Artifact
	bad                    []BadRow
}

// artifacts reads the table artifacts of the runs that have ended.
func (r *Reader) artifacts(ctx context.Context, flowRuns []FlowRun, taskRuns []TaskRun) (artifacts, error) {
	all := artifacts{ofFlowRuns: make(map[uuid.UUID][]Artifact), ofTaskRuns: make(map[uuid.UUID][]Artifact)}
	var badFlows, badTasks []BadRow
	reading, ctx := errgroup.WithContext(ctx)
	reading.Go(func() (err error) {
		badFlows, err = r.readArtifacts(ctx, endedIDs(flowRuns), artifactFlowRuns,
			func(ids []uuid.UUID) ArtifactQuery { return ArtifactQuery{FlowRunID: &AnyID{Any: ids}} },
			func(a Artifact) {
				// What a task made names its flow run too, but belongs to the task run.
				if a.FlowRunID != nil && a.TaskRunID == nil {
					all.ofFlowRuns[*a.FlowRunID] = append(all.ofFlowRuns[*a.FlowRunID], a)
				}
			})
		return err
	})
	reading.Go(func() (err error) {
		badTasks, err = r.readArtifacts(ctx, endedIDs(taskRuns), artifactTaskRuns,
			func(ids []uuid.UUID) ArtifactQuery { return ArtifactQuery{TaskRunID: &AnyID{Any: ids}} },
			func(a Artifact) {
				if a.TaskRunID != nil {
					all.ofTaskRuns[*a.TaskRunID] = append(all.ofTaskRuns[*a.TaskRunID], a)
				}
			})
		return err
	})
	if err := reading.Wait(); err != nil {
		return artifacts{}, err
	}
	for _, of := range []map[uuid.UUID][]Artifact{all.ofFlowRuns, all.ofTaskRuns} {
		for _, rows := range of {
			slices.SortFunc(rows, byCreation)
		}
	}
	all.bad = slices.Concat(badFlows, badTasks)
	return all, nil
}

// readArtifacts reads all table artifacts of some runs, however many pages they fill.
func (r *Reader) readArtifacts(ctx context.Context, ids []uuid.UUID, batch int, query func([]uuid.UUID) ArtifactQuery, take func(Artifact)) ([]BadRow, error) {
	var bad []BadRow
	src := newPages("artifacts", r.api.Artifacts, r.api.PageLimit())
	for some := range slices.Chunk(ids, batch) {
		q := query(some)
		q.Type = &AnyText{Any: []string{"table"}}
		err := walkOffsets(ctx, src, Filter{Artifacts: &q}, byID(func(a Artifact) uuid.UUID { return a.ID }), func(page Page[Artifact]) (bool, error) {
			for _, row := range page.Rows {
				take(row)
			}
			bad = append(bad, page.Bad...)
			return true, nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading artifacts of runs: %w", err)
		}
	}
	return bad, nil
}

func endedIDs[T run](rows []T) []uuid.UUID {
	ids := newIDSet()
	for _, row := range rows {
		if state := row.state(); state != nil && state.Type.Terminal() {
			ids.add(row.id())
		}
	}
	return ids.ids
}

func byCreation(a, b Artifact) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}
