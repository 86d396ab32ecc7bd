package mapping

import (
	"errors"
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// Mapper maps events by its settings. It is safe for concurrent use.
type Mapper struct{ settings Settings }

// New returns a mapper.
func New(settings Settings) Mapper { return Mapper{settings: settings} }

// Memory is what the mapper is told of earlier events. It may know nothing: what depends on it is left out then.
type Memory struct {
	// Started is when the run of the event began; zero: not known.
	Started time.Time
	// Job returns the URN of the task that a job is in DataHub, "" when it is not known. It is asked with PrefectDataHub
	// alone, whose task keys cannot be told from names. Nil: no job is known.
	Job func(namespace, name string) string
}

// Mapped is what DataHub is to be told of an event, to be sent in the order of the fields.
type Mapped struct {
	// Structure describes what is the same in many runs: flows, tasks, datasets. What DataHub was told before and is the
	// same need not be sent again.
	Structure []mcp.Proposal
	// Additions add to what several writers share. An operation that DataHub was sent before need not be sent again.
	Additions []Addition
	// Run is about the run itself and is always sent; the change of its state comes last.
	Run []mcp.Proposal
	// Refused are the parts of the event that DataHub cannot be told, a line each for people.
	Refused []string

	// Namespace, Name and Job are the event's job and its task in DataHub, for the Memory of later events.
	Namespace, Name, Job string
	// RunID and Started are set by an event that says that a run began, for the same purpose.
	RunID   string
	Started time.Time
}

// Addition is a patch that only adds.
type Addition struct {
	URN    string
	Aspect string
	Keys   aspect.Keys // may be nil
	Ops    []mcp.PatchOp
}

// Proposal returns the addition with the operations that are given, which are some or all of its own.
func (a Addition) Proposal(ops []mcp.PatchOp) (mcp.Proposal, error) {
	return aspect.Patch(a.URN, a.Aspect, a.Keys, ops)
}

// Map returns what an event says. Its error is about the event as a whole: no part of it can be told, ever.
func (m Mapper) Map(body []byte, memory Memory) (Mapped, error) {
	e, err := parse(body)
	if err != nil {
		return Mapped{}, err
	}
	id, err := m.identify(e)
	if err != nil {
		return Mapped{}, err
	}
	b := &builder{mapper: m, event: e, id: id, memory: memory}
	b.mapped.Namespace, b.mapped.Name, b.mapped.Job = e.Job.Namespace, e.Job.Name, id.job
	b.mapped.RunID = e.Run.ID
	if e.Type == "START" {
		b.mapped.Started = e.Time
	}
	inputs, outputs := b.datasets("input", e.Inputs), b.datasets("output", e.Outputs)
	b.flow()
	if b.hasJob(inputs, outputs) {
		b.job()
		b.lineage(inputs, outputs)
	}
	b.run(inputs, outputs)
	return b.mapped, errors.Join(b.errs...)
}

// builder collects what one event says.
type builder struct {
	mapper Mapper
	event  event
	id     identity
	memory Memory
	mapped Mapped
	errs   []error
}

func (b *builder) structure(urn string, a mcp.Aspect) {
	p, err := mcp.New(urn, a)
	b.failed(err)
	b.mapped.Structure = append(b.mapped.Structure, p)
}

func (b *builder) ofRun(a mcp.Aspect) {
	p, err := mcp.New(b.id.run, a)
	b.failed(err)
	b.mapped.Run = append(b.mapped.Run, p)
}

// addTo adds operations to an aspect; none is no patch.
func (b *builder) addTo(urn string, a mcp.Aspect, ops []mcp.PatchOp) {
	b.addKeyed(urn, a, nil, ops)
}

func (b *builder) addKeyed(urn string, a mcp.Aspect, keys aspect.Keys, ops []mcp.PatchOp) {
	if len(ops) > 0 {
		b.mapped.Additions = append(b.mapped.Additions, Addition{URN: urn, Aspect: a.AspectName(), Keys: keys, Ops: ops})
	}
}

func (b *builder) failed(err error) {
	if err != nil {
		b.errs = append(b.errs, err)
	}
}

// refuse notes a part of the event that DataHub cannot be told.
func (b *builder) refuse(what, name string, err error) {
	b.mapped.Refused = append(b.mapped.Refused, fmt.Sprintf("%s %.200q: %v", what, name, err))
}

// datasets names the datasets of one side, each once, and makes them known.
func (b *builder) datasets(side string, raw []rawDataset) []dataset {
	var all []dataset
	seen := map[string]bool{}
	for _, r := range raw {
		d, err := b.mapper.datasetOf(r)
		if err != nil {
			b.refuse(side+" dataset", r.Namespace+" "+r.Name, err)
			continue
		}
		if seen[d.urn] {
			continue
		}
		seen[d.urn] = true
		all = append(all, d)
		b.describe(d)
	}
	return all
}

// describe says what the event knows of a dataset.
func (b *builder) describe(d dataset) {
	settings := b.mapper.settings
	if settings.Materialize {
		b.structure(d.urn, aspect.DatasetKey{Platform: d.platform, Name: d.name, Origin: d.env})
		b.structure(d.urn, aspect.Status{})
	}
	if d.instance != "" {
		b.structure(d.urn, aspect.DataPlatformInstance{Platform: d.platform, Instance: d.instance})
	}
	if schema, ok := schemaOf(d); ok && settings.Schema {
		b.structure(d.urn, schema)
	}
	b.shared(d.urn, d.facets)
	if text := description(d.facets); text != "" {
		b.addTo(d.urn, aspect.DatasetProperties{}, []mcp.PatchOp{aspect.SetDescription(text)})
	}
}
