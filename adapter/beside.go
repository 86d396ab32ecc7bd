package adapter

import (
	"hash/fnv"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// Beside is what a telling stands on beside the run's snapshot and its entry. The zero value is nothing.
type Beside struct {
	// Upstream holds the entries of those runs that Upstreams named and that are known, by the id under which they were
	// named.
	Upstream map[uuid.UUID]Told
	// Last are the datasets of the job's last good run, for a run that MayRepeat.
	Last []Edge
	// Rollup is what the tasks of a flow run read and wrote; nil: not collected.
	Rollup *Rollup
	// Hold keeps an end back: what belongs to it can't be read yet. A START is told.
	Hold bool
	// Again tells the last end once more, a moment later, if more datasets are known by now than it named.
	Again bool
}

// correction is how much later than the end before it an end is that names more datasets. Two events must differ in
// their time, and consumers take what happened last.
const correction = time.Microsecond

// due returns the steps that are due given what stands beside the row.
func (b Beside) due(steps []step) []step {
	if !b.Hold {
		return steps
	}
	var open []step
	for _, s := range steps {
		if !s.ends() {
			open = append(open, s)
		}
	}
	return open
}

// corrects says whether the row's end is the one that was told, so that it may be told again with more datasets.
func (r row) corrects(t Told) bool {
	if t.Phase != Ended || t.Inferred || r.state == nil || !r.state.Type.Terminal() {
		return false
	}
	kind, at := r.ending()
	return kind == t.EndType && !at.After(t.End)
}

// MayRepeat says whether the run's end may have to repeat the datasets of its job's last good run.
func (a *Adapter) MayRepeat(s prefect.Snapshot) bool {
	r, ok := rowOf(s)
	return a.settings.DatasetsOnFailure == DatasetsLast && ok && !r.standIn && r.state != nil &&
		r.state.Type.Terminal() && endType(r.state.Type) != Complete
}

// Repeats says whether ends that are inferred may have to repeat the datasets of their job's last good run.
func (a *Adapter) Repeats() bool { return a.settings.DatasetsOnFailure == DatasetsLast }

// all returns the datasets of an end: those that the run named, those that its tasks named, and for a failed run that
// named none on its own those of the job's last good run.
func (a *Adapter) all(s prefect.Snapshot, t Told, end EventType, beside Beside) (f found, repeated bool) {
	f = a.datasets(s, t)
	if beside.Rollup != nil {
		beside.Rollup.into(&f)
	}
	if f.recorded || end == Complete || len(beside.Last) == 0 {
		return f, false
	}
	inputs, outputs := setOf(f.inputs), setOf(f.outputs)
	for _, edge := range beside.Last {
		facets, err := openlineage.ParseFacets([]byte(edge.Facets))
		if err != nil {
			facets = openlineage.Facets{} // it is empty where nothing was said
		}
		set := inputs
		if edge.Output {
			set = outputs
		}
		set.add(datasetID{edge.Namespace, edge.Name}, facets, openlineage.Facets{})
	}
	f.inputs, f.outputs = inputs.sorted(), outputs.sorted()
	return f, true
}

func setOf(datasets []openlineage.Dataset) datasetSet {
	set := make(datasetSet, len(datasets))
	for _, d := range datasets {
		set.add(datasetID{d.Namespace, d.Name}, d.Facets, d.IOFacets)
	}
	return set
}

// ofOneRun are facets that say what a run did to a dataset, not what the dataset is.
var ofOneRun = map[string]bool{"lifecycleStateChange": true, "version": true}

// lasting returns what a dataset's facets say beyond the run, as canonical JSON; empty: nothing.
func lasting(facets openlineage.Facets, producer string) string {
	kept := facets.Without(func(key string) bool { return ofOneRun[key] })
	if kept.Len() == 0 {
		return ""
	}
	raw, err := kept.Canonical(producer)
	if err != nil {
		return ""
	}
	return string(raw)
}

// fingerprint is a short form of which datasets an end named; zero: none.
func fingerprint(edges []Edge) uint64 {
	if len(edges) == 0 {
		return 0
	}
	hash := fnv.New64a()
	for _, e := range edges { // inputs and then outputs, each sorted
		kind := byte('i')
		if e.Output {
			kind = 'o'
		}
		_, _ = hash.Write([]byte(e.Namespace + "\x00" + e.Name + "\x00" + string(kind)))
	}
	return max(hash.Sum64(), 1)
}
