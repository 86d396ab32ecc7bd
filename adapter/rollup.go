package adapter

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// Bounds of a rollup, so that a flow run with very many tasks costs no more memory than others.
const (
	MaxRolledTasks    = 50_000
	MaxRolledDatasets = 2_000
)

// errRollup says that a flow run has more than a rollup takes.
var errRollup = errors.New("its tasks or subflows are too many, or name too many datasets")

// Rollup collects what the task runs of one flow run and of its subflows read and wrote. Rows may come in any order. It
// holds the datasets and a few words for each task run, and is used by one goroutine.
type Rollup struct {
	adapter  *Adapter
	tasks    map[uuid.UUID]*rolledTask
	subflows map[uuid.UUID]uuid.UUID // by flow run, the placeholder that is its task
	reads    map[datasetID]*rolled
	writes   map[datasetID]*rolled
	recorded bool // some of it by the tasks themselves, as found.recorded has it
	full     bool
}

type rolledTask struct {
	start, end time.Time // zero: unknown
	upstream   []uuid.UUID
}

// said is what artifacts, or assets, said of a dataset.
type said struct {
	facets openlineage.Facets
	at     time.Time
}

// rolled is one dataset that tasks read, or wrote.
type rolled struct {
	assets, tables said
	tasks          map[uuid.UUID]struct{}
}

// facets are what was said of the dataset. As in a task's own end, what a table says counts before what an asset says.
func (r *rolled) facets() openlineage.Facets { return r.assets.facets.Merge(r.tables.facets) }

// WantsRollup says whether the end of this run is to carry what its tasks read and wrote.
func (a *Adapter) WantsRollup(s prefect.Snapshot) bool {
	return a.settings.FlowDatasets == FlowDatasetsRollup && s.FlowRun != nil &&
		s.FlowRun.State != nil && s.FlowRun.State.Type.Terminal()
}

// RollsUp says whether ends of flow runs carry what their tasks read and wrote.
func (a *Adapter) RollsUp() bool { return a.settings.FlowDatasets == FlowDatasetsRollup }

// NewRollup returns a rollup of nothing yet.
func (a *Adapter) NewRollup() *Rollup {
	return &Rollup{
		adapter: a, tasks: make(map[uuid.UUID]*rolledTask), subflows: make(map[uuid.UUID]uuid.UUID),
		reads: make(map[datasetID]*rolled), writes: make(map[datasetID]*rolled),
	}
}

// AddTask adds a task run that is told about. What it read and wrote counts only once it was added.
func (r *Rollup) AddTask(t prefect.TaskRun) {
	if len(r.tasks) >= MaxRolledTasks {
		r.full = true
		return
	}
	task := &rolledTask{upstream: upstreams(prefect.Snapshot{TaskRun: &t})}
	if t.StartTime != nil {
		task.start = *t.StartTime
	}
	if t.EndTime != nil {
		task.end = *t.EndTime
	}
	r.tasks[t.ID] = task
}

// AddSubflow adds a subflow's run that is told about, by its placeholder: what its body reads and writes is done by one
// of the tasks of the flow run above.
func (r *Rollup) AddSubflow(flowRun uuid.UUID, placeholder prefect.TaskRun) {
	r.AddTask(placeholder)
	r.subflows[flowRun] = placeholder.ID
}

// Overflow notes that there is more than was added: the rollup is of no use then.
func (r *Rollup) Overflow() { r.full = true }

// AddArtifact adds an artifact that a task run or a subflow's body made.
func (r *Rollup) AddArtifact(artifact prefect.Artifact) {
	var task uuid.UUID
	switch {
	case artifact.TaskRunID != nil:
		task = *artifact.TaskRunID
	case artifact.FlowRunID != nil:
		task = r.subflows[*artifact.FlowRunID]
	}
	tables := func(d *rolled) *said { return &d.tables }
	r.add(task, prefect.Snapshot{Artifacts: []prefect.Artifact{artifact}}, artifact.Created, tables)
}

// AddAssets adds the asset events of a task run.
func (r *Rollup) AddAssets(task uuid.UUID, events []prefect.AssetEvent) {
	if len(events) > 0 {
		assets := func(d *rolled) *said { return &d.assets }
		r.add(task, prefect.Snapshot{Assets: events}, events[len(events)-1].Occurred, assets)
	}
}

// Full says whether there was more than a rollup takes: it is of no use then.
func (r *Rollup) Full() error {
	if r.full {
		return errRollup
	}
	return nil
}

// add adds what was said at a time, to that part of what is known of each dataset.
func (r *Rollup) add(id uuid.UUID, s prefect.Snapshot, at time.Time, part func(*rolled) *said) {
	if _, told := r.tasks[id]; !told {
		return
	}
	s.TaskRun = &prefect.TaskRun{ID: id}
	f := r.adapter.datasets(s, Told{ID: id, Kind: TaskRun}) // its warnings were given with the task's own end
	r.recorded = r.recorded || f.recorded
	r.note(r.reads, id, f.inputs, at, part)
	r.note(r.writes, id, f.outputs, at, part)
	if len(r.reads)+len(r.writes) > MaxRolledDatasets {
		r.full = true
	}
}

func (r *Rollup) note(in map[datasetID]*rolled, task uuid.UUID, datasets []openlineage.Dataset, at time.Time, part func(*rolled) *said) {
	for _, d := range datasets {
		key := datasetID{d.Namespace, d.Name}
		if in[key] == nil {
			in[key] = &rolled{tasks: make(map[uuid.UUID]struct{})}
		}
		in[key].tasks[task] = struct{}{}
		part(in[key]).hear(d.Facets, at)
	}
}

// hear takes in facets; of two that say the same thing the later one counts.
func (s *said) hear(facets openlineage.Facets, at time.Time) {
	if at.Before(s.at) {
		s.facets = facets.Merge(s.facets)
		return
	}
	s.facets, s.at = s.facets.Merge(facets), at
}

// into adds what was collected to a flow run's own datasets. What the flow's body itself says counts before it.
func (r *Rollup) into(f *found) {
	inputs, outputs := make(datasetSet), make(datasetSet)
	for id, read := range r.reads {
		if r.fromOutside(id, read) {
			inputs.add(id, read.facets(), openlineage.Facets{})
		}
	}
	for id, write := range r.writes {
		outputs.add(id, write.facets(), openlineage.Facets{})
	}
	inputs.merge(setOf(f.inputs))
	outputs.merge(setOf(f.outputs))
	f.inputs, f.outputs = inputs.sorted(), outputs.sorted()
	f.recorded = f.recorded || r.recorded
}

// Edges are the datasets that were collected, whatever they are to the flow run. A nil Rollup has none.
func (r *Rollup) Edges() []Edge {
	if r == nil {
		return nil
	}
	var edges []Edge
	for id := range r.reads {
		edges = append(edges, Edge{Namespace: id.namespace, Name: id.name})
	}
	for id := range r.writes {
		edges = append(edges, Edge{Namespace: id.namespace, Name: id.name, Output: true})
	}
	return edges
}

// fromOutside says whether any of the tasks that read a dataset found it as it was before the run.
func (r *Rollup) fromOutside(id datasetID, read *rolled) bool {
	written := r.writes[id]
	if written == nil {
		return true
	}
	// The two that had written it first: a reader that wrote it too is no source for itself.
	var first, second uuid.UUID
	for task := range written.tasks {
		switch {
		case first == uuid.Nil || r.endsBefore(task, first):
			first, second = task, first
		case second == uuid.Nil || r.endsBefore(task, second):
			second = task
		}
	}
	for reader := range read.tasks {
		source := first
		if source == reader {
			source = second
		}
		if !r.before(source, reader) && !r.waitedFor(reader, written) {
			return true
		}
	}
	return false
}

func (r *Rollup) endsBefore(a, b uuid.UUID) bool {
	x, y := r.tasks[a].end, r.tasks[b].end
	switch {
	case x.IsZero() || y.IsZero():
		return !x.IsZero()
	default:
		return x.Before(y)
	}
}

// before says whether one task had ended when another began.
func (r *Rollup) before(writer, reader uuid.UUID) bool {
	if writer == uuid.Nil {
		return false
	}
	end, start := r.tasks[writer].end, r.tasks[reader].start
	return !end.IsZero() && !start.IsZero() && !end.After(start)
}

// waitedFor says whether a reader waited for one of the writers: then it came later, whatever their machines' clocks say.
func (r *Rollup) waitedFor(reader uuid.UUID, written *rolled) bool {
	for _, id := range r.tasks[reader].upstream {
		if _, wrote := written.tasks[id]; wrote && id != reader {
			return true
		}
	}
	return false
}
