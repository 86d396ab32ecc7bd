package prefect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// How many runs' artifacts are asked for at once to begin with, and at most. Flow runs count for more: with theirs come
// all of their task runs'.
const (
	artifactTaskRuns     = 100
	mostArtifactTaskRuns = 200
	artifactFlowRuns     = 20
	mostArtifactFlowRuns = 100
)

// Of how many task runs the artifacts are counted at once; of this few they are read with others instead.
const (
	countedTaskRuns = 600
	fewCounted      = 40
)

// artifacts are the table artifacts of some runs, by run.
type artifacts struct {
	ofFlowRuns, ofTaskRuns map[uuid.UUID][]Artifact
	bad                    []BadRow
}

// artifacts returns the table artifacts of the runs that have ended. With a flow run's artifacts come those of its task
// runs, which are not read a second time then.
func (r *Reader) artifacts(ctx context.Context, flowRuns []FlowRun, taskRuns []TaskRun) (artifacts, error) {
	all := artifacts{ofFlowRuns: make(map[uuid.UUID][]Artifact), ofTaskRuns: make(map[uuid.UUID][]Artifact)}
	flows := takeStocked(r.stock, ended(flowRuns), all.ofFlowRuns)
	tasks := takeStocked(r.stock, ended(taskRuns), all.ofTaskRuns)
	own, bad, err := r.artifactsOfFlows(ctx, flows)
	if err != nil {
		return artifacts{}, err
	}
	for _, run := range flows {
		all.ofFlowRuns[run.ID] = own.of(run.ID, uuid.Nil)
	}
	rest, err := r.coveredTasks(ctx, tasks, own, all.ofTaskRuns)
	if err != nil {
		return artifacts{}, err
	}
	badTasks, err := r.readArtifacts(ctx, rest, r.fits.tasks,
		func(ids []uuid.UUID) ArtifactQuery { return ArtifactQuery{TaskRunID: &AnyID{Any: ids}} },
		func(a Artifact, _ time.Time) {
			if a.TaskRunID != nil {
				all.ofTaskRuns[*a.TaskRunID] = append(all.ofTaskRuns[*a.TaskRunID], a)
			}
		})
	if err != nil {
		return artifacts{}, err
	}
	for _, of := range []map[uuid.UUID][]Artifact{all.ofFlowRuns, all.ofTaskRuns} {
		for _, rows := range of {
			slices.SortFunc(rows, byCreation)
		}
	}
	all.bad = slices.Concat(bad, badTasks)
	if len(bad) == 0 {
		r.stock.putFlows(flows, own)
	}
	return all, nil
}

// flowArtifacts are all artifacts of some flow runs: by flow run, and within it by task run, the zero id for those that
// the flow itself made.
type flowArtifacts struct {
	read   map[uuid.UUID]map[uuid.UUID][]Artifact
	served time.Time // the server's clock at the first answer; zero: it sent none
}

func (f flowArtifacts) of(flowRun, taskRun uuid.UUID) []Artifact { return f.read[flowRun][taskRun] }

// artifactsOfFlows reads all artifacts that name some flow runs.
func (r *Reader) artifactsOfFlows(ctx context.Context, flowRuns []FlowRun) (flowArtifacts, []BadRow, error) {
	found := flowArtifacts{read: make(map[uuid.UUID]map[uuid.UUID][]Artifact, len(flowRuns))}
	for _, run := range flowRuns {
		found.read[run.ID] = make(map[uuid.UUID][]Artifact)
	}
	bad, err := r.readArtifacts(ctx, idsOf(flowRuns), r.fits.flows,
		func(ids []uuid.UUID) ArtifactQuery { return ArtifactQuery{FlowRunID: &AnyID{Any: ids}} },
		func(a Artifact, served time.Time) {
			if found.served.IsZero() || served.Before(found.served) {
				found.served = served
			}
			if a.FlowRunID == nil || found.read[*a.FlowRunID] == nil {
				return
			}
			var task uuid.UUID
			if a.TaskRunID != nil {
				task = *a.TaskRunID
			}
			found.read[*a.FlowRunID][task] = append(found.read[*a.FlowRunID][task], a)
		})
	return found, bad, err
}

// coveredTasks answers the task runs whose artifacts came with their flow runs', now or a moment ago, and returns the
// ids of the others. An artifact may name its task run alone: only where as many are there as came does it count.
func (r *Reader) coveredTasks(ctx context.Context, taskRuns []TaskRun, own flowArtifacts, into map[uuid.UUID][]Artifact) ([]uuid.UUID, error) {
	var rest []uuid.UUID
	var covered []TaskRun
	came := make(map[uuid.UUID][]Artifact)
	for _, run := range taskRuns {
		rows, ok := r.cover(run, own)
		if !ok {
			rest = append(rest, run.ID)
			continue
		}
		covered = append(covered, run)
		came[run.ID] = rows
	}
	if len(covered) <= fewCounted && len(rest) > 0 {
		return append(rest, idsOf(covered)...), nil
	}
	for some := range slices.Chunk(covered, countedTaskRuns) {
		ids, n := idsOf(some), 0
		for _, id := range ids {
			n += len(came[id])
		}
		there, known, err := r.countArtifacts(ctx, ids)
		switch {
		case err != nil:
			return nil, err
		case !known || there != n:
			rest = append(rest, ids...)
			continue
		}
		for _, id := range ids {
			into[id] = came[id]
		}
	}
	return rest, nil
}

// cover returns the artifacts of a task run where its flow run's were read after it had ended.
func (r *Reader) cover(run TaskRun, own flowArtifacts) ([]Artifact, bool) {
	if run.FlowRunID == nil {
		return nil, false
	}
	if _, now := own.read[*run.FlowRunID]; now {
		return own.of(*run.FlowRunID, run.ID), true
	}
	return r.stock.takeOfFlow(run)
}

// countArtifacts returns how many table artifacts name some task runs; not known: the server doesn't count them.
func (r *Reader) countArtifacts(ctx context.Context, taskRuns []uuid.UUID) (n int, known bool, err error) {
	n, err = r.api.CountArtifacts(ctx, ArtifactQuery{TaskRunID: &AnyID{Any: taskRuns}, Type: tables()})
	if refusal, ok := errors.AsType[*Error](err); ok && refusal.Status >= 400 && refusal.Status < 500 {
		return 0, false, nil // what is wrong with the other requests shows there
	}
	if err != nil {
		return 0, false, fmt.Errorf("counting artifacts of task runs: %w", err)
	}
	return n, true, nil
}

// readArtifacts reads all table artifacts of some runs, however many pages they fill.
func (r *Reader) readArtifacts(ctx context.Context, ids []uuid.UUID, size *fit, query func([]uuid.UUID) ArtifactQuery, take func(Artifact, time.Time)) ([]BadRow, error) {
	src := newPages("artifacts", r.api.Artifacts, r.api.PageLimit())
	var batches [][]uuid.UUID
	for n := size.next(); len(ids) > 0; {
		batches = append(batches, ids[:min(n, len(ids))])
		ids = ids[min(n, len(ids)):]
	}
	pages := make([][]Page[Artifact], len(batches))
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(artifactsAtOnce)
	for i, some := range batches {
		reading.Go(func() error {
			q := query(some)
			q.Type = tables()
			rows := 0
			err := walkOffsets(ctx, src, Filter{Artifacts: &q}, byID(func(a Artifact) uuid.UUID { return a.ID }), func(page Page[Artifact]) (bool, error) {
				pages[i] = append(pages[i], page)
				rows += len(page.Rows) + len(page.Bad)
				return true, nil
			})
			if err != nil {
				return fmt.Errorf("reading artifacts of runs: %w", err)
			}
			size.got(len(some), rows)
			return nil
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	var bad []BadRow
	for _, page := range slices.Concat(pages...) {
		for _, row := range page.Rows {
			take(row, page.Served)
		}
		bad = append(bad, page.Bad...)
	}
	return bad, nil
}

// artifactsAtOnce is how many requests for artifacts are under way at once: while the server makes one answer, the one
// before it is on its way and is understood.
const artifactsAtOnce = 2

func tables() *AnyText { return &AnyText{Any: []string{"table"}} }

// ended returns the runs that have ended, each once.
func ended[T run](rows []T) []T {
	seen := newIDSet()
	return keep(rows, func(row T) bool {
		state := row.state()
		if state == nil || !state.Type.Terminal() {
			return false
		}
		before := len(seen.ids)
		seen.add(row.id())
		return len(seen.ids) > before
	})
}

func idsOf[T run](rows []T) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.id()
	}
	return ids
}

func byCreation(a, b Artifact) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}
