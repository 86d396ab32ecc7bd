package adapter

import (
	"time"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// Adapter makes OpenLineage run events of Prefect's runs. It holds settings only and never changes.
type Adapter struct {
	settings Settings
	server   prefect.Server // for events that are made without a snapshot
}

// New returns an adapter, or an error that names every setting that is wrong.
func New(settings Settings) (*Adapter, error) {
	settings = settings.withDefaults()
	if err := settings.check(); err != nil {
		return nil, err
	}
	return &Adapter{settings: settings}, nil
}

// Grace is how long a task may stay RUNNING after its flow has ended.
func (a *Adapter) Grace() time.Duration { return a.settings.Grace }

// WithServer returns a copy of the adapter that knows the server, for the ends that InferEnd and InferGone make.
func (a *Adapter) WithServer(server prefect.Server) *Adapter {
	b := *a
	b.server = server
	return &b
}

// Telling is what there is to tell of a run: the ledger entry that holds once the events are stored, and the events in
// the order in which they must be delivered.
type Telling struct {
	Told     Told
	Events   []Event
	Edges    []Edge // the datasets that an end among the events named
	Warnings []Warning
}

// News says from the row alone whether there may be something to tell or to note of a run. It is cheap: it is asked for
// every row of every poll. Artifacts need to be read only where it says yes.
func (a *Adapter) News(s prefect.Snapshot, told Told) bool {
	r, ok := rowOf(s)
	if !ok || r.standIn || r.state == nil || told.Ruling.Silent() && r.kind == TaskRun {
		return false
	}
	return len(r.steps(told)) > 0 || backAgain(told)
}

// backAgain says whether an open run that was missed once has been seen again.
func backAgain(t Told) bool { return t.Phase == Open && !t.Missed.IsZero() }

// Tell makes the events that are new, given the run's pinned entry and what stands beside it. Where nothing is new there
// are no events, and the entry is the one to keep.
func (a *Adapter) Tell(s prefect.Snapshot, told Told, beside Beside) Telling {
	r, ok := rowOf(s)
	if !ok || r.standIn || r.state == nil {
		return Telling{Told: told}
	}
	steps := beside.due(r.steps(told))
	if len(steps) == 0 && beside.Again && r.corrects(told) {
		return a.correct(s, r, told, beside)
	}
	if len(steps) == 0 && !backAgain(told) {
		return Telling{Told: told}
	}
	if told.Ruling.Silent() {
		return quiet(told, steps)
	}
	n := a.narrate(told)
	for _, step := range steps {
		if !step.ends() {
			n.say(step, a.startFacets(s, r, told, beside.Upstream), nil, nil)
			continue
		}
		n.end(s, r, step, beside)
	}
	telling := n.telling(steps)
	telling.Told.Missed = time.Time{} // the run is there
	return telling
}

// end says an end with all that is known then.
func (n *narration) end(s prefect.Snapshot, r row, at step, beside Beside) {
	found, repeated := n.adapter.all(s, n.told, at.kind, beside)
	n.warnings = append(n.warnings, found.warnings...)
	n.say(at, n.adapter.endFacets(s, r, n.told, beside.Upstream, repeated), found.inputs, found.outputs)
}

// correct tells the last end again if it names other datasets by now.
func (a *Adapter) correct(s prefect.Snapshot, r row, told Told, beside Beside) Telling {
	if told.Ruling.Silent() {
		return Telling{Told: told}
	}
	n := a.narrate(told)
	last := step{told.EndType, told.End.Add(correction)}
	n.end(s, r, last, beside)
	telling := n.telling([]step{last})
	if telling.Told.Named == told.Named || telling.Told.Named == 0 {
		return Telling{Told: told}
	}
	return telling
}

// quiet is the telling of a run that is not told about. How far a flow run has come is noted all the same, since its end
// ends the tasks in it that are told about. Of a task run there is nothing to note.
func quiet(told Told, steps []step) Telling {
	if told.Kind == FlowRun {
		told = told.after(steps)
		told.Missed = time.Time{}
	}
	return Telling{Told: told}
}

// narration collects the events of one Tell.
type narration struct {
	adapter  *Adapter
	told     Told
	facets   openlineage.Facets // of the job
	events   []Event
	edges    []Edge
	warnings []Warning
}

// narrate begins a telling with the pinned job facets.
func (a *Adapter) narrate(told Told) *narration {
	n := &narration{adapter: a, told: told}
	facets, err := openlineage.ParseFacets(told.JobFacets)
	if err != nil {
		n.warnings = append(n.warnings, warning(told, "facets-refused", "its pinned job facets can't be read, they are left out: %v", err))
	}
	n.facets = facets
	return n
}

// say adds one event. An event that can't be written is left out with a warning: the run's others go on.
func (n *narration) say(s step, facets openlineage.Facets, inputs, outputs []openlineage.Dataset) {
	additions := n.adapter.settings.Additions
	inputs, outputs = additions.Datasets(inputs, outputs)
	event := openlineage.Event{
		Type:     string(s.kind),
		Time:     s.at,
		Producer: n.adapter.settings.Producer,
		Run:      openlineage.Run{ID: n.told.Run.RunID, Facets: additions.Run(facets)},
		Job:      openlineage.Job{Namespace: n.told.Run.Namespace, Name: n.told.Run.Name, Facets: n.facets},
		Inputs:   inputs,
		Outputs:  outputs,
	}
	body, err := event.Canonical()
	if err != nil {
		n.warnings = append(n.warnings, warning(n.told, "event-refused", "its %s can't be written, it is left out: %v", s.kind, err))
		return
	}
	n.events = append(n.events, Event{
		Run:      n.told.ID,
		Ancestor: n.told.Ancestor,
		First:    n.told.Phase == Unsaid && len(n.events) == 0,
		Type:     s.kind,
		Time:     s.at.UTC(),
		Job:      n.told.Run,
		Body:     body,
	})
	for _, d := range inputs {
		n.edges = append(n.edges, n.edge(d, false))
	}
	for _, d := range outputs {
		n.edges = append(n.edges, n.edge(d, true))
	}
}

// edge keeps of a dataset what a later run of the job may repeat.
func (n *narration) edge(d openlineage.Dataset, output bool) Edge {
	e := Edge{Namespace: d.Namespace, Name: d.Name, Output: output}
	if n.adapter.Repeats() {
		e.Facets = lasting(d.Facets, n.adapter.settings.Producer)
	}
	return e
}

func (n *narration) telling(steps []step) Telling {
	told := n.told.after(steps)
	if told.Phase == Ended {
		told.Named = fingerprint(n.edges)
	}
	return Telling{Told: told, Events: n.events, Edges: n.edges, Warnings: n.warnings}
}
