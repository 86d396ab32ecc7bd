package mapping

import (
	"maps"
	"slices"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// flow describes the flow. An event of a task names it only where no event of the flow itself does: the flow's knows
// more, and what one says the other must not overwrite.
func (b *builder) flow() {
	switch {
	case b.id.ownsFlow:
		run := b.event.prefect()
		properties := aspect.Properties{}
		put(properties, "prefectFlowId", idText(run.FlowID))
		put(properties, "namespace", b.event.Job.Namespace)
		b.structure(b.id.flow, aspect.DataFlowInfo{
			Name: b.id.flowName, Description: description(b.event.Job.Facets), Env: b.mapper.settings.Env,
			ExternalURL: flowPage(run), CustomProperties: properties,
		})
	case !b.id.flowIsTold:
		b.structure(b.id.flow, aspect.DataFlowInfo{Name: b.id.flowName, Env: b.mapper.settings.Env})
	default:
		return
	}
	b.structure(b.id.flow, aspect.Status{})
	b.onInstance(b.id.flow)
	if b.id.ownsFlow {
		b.shared(b.id.flow, b.event.Job.Facets)
	}
}

// onInstance says on which installation of the orchestrator a flow or a task is, where there is more than one.
func (b *builder) onInstance(entity string) {
	instance := b.mapper.settings.PlatformInstance
	if instance == "" {
		return
	}
	platform, err := urn.DataPlatform(b.id.orchestrator)
	b.failed(err)
	text, err := checked(urn.DataPlatformInstanceKey{Platform: b.id.orchestrator, Instance: instance}.URN())
	b.failed(err)
	b.structure(entity, aspect.DataPlatformInstance{Platform: platform, Instance: text})
}

// hasJob reports whether DataHub shows the event's job as a task. A flow is one where the names are those of DataHub's
// endpoint, which knows tasks alone, and else only where it has datasets: a dataFlow can't carry lineage.
func (b *builder) hasJob(inputs, outputs []dataset) bool {
	return !b.id.isFlow || b.mapper.settings.URNs != PrefectDataHub || len(inputs)+len(outputs) > 0
}

func (b *builder) job() {
	e := b.event
	source := read[openlineage.SourceCodeLocationJobFacet](e.Job.Facets, "sourceCodeLocation")
	properties := aspect.Properties{}
	put(properties, "namespace", e.Job.Namespace)
	put(properties, "taskKey", e.prefect().TaskKey)
	put(properties, "sourceCode", source.URL)
	put(properties, "sourceVersion", source.Version)
	b.structure(b.id.job, aspect.DataJobInfo{
		Name: b.id.jobName, Description: description(e.Job.Facets), Type: aspect.Command, FlowURN: b.id.flow,
		Env: b.mapper.settings.Env, ExternalURL: source.URL, CustomProperties: properties,
	})
	b.structure(b.id.job, aspect.Status{})
	kind := "Prefect Task"
	if b.id.isFlow {
		kind = "Prefect Flow"
	}
	b.structure(b.id.job, aspect.SubTypes{TypeNames: aspect.List[string]{kind}})
	b.onInstance(b.id.job)
	b.shared(b.id.job, e.Job.Facets)
}

// lineage adds what the job reads, writes and waits for. A run that failed adds nothing: what it was to read and write
// is not known.
func (b *builder) lineage(inputs, outputs []dataset) {
	if b.event.Type == "FAIL" || b.event.Type == "ABORT" {
		return
	}
	var ops []mcp.PatchOp
	for _, d := range inputs {
		ops = append(ops, aspect.AddInputDataset(aspect.Edge{DestinationURN: d.urn}))
	}
	for _, d := range outputs {
		ops = append(ops, aspect.AddOutputDataset(aspect.Edge{DestinationURN: d.urn}))
	}
	for _, job := range b.upstreamJobs() {
		ops = append(ops, aspect.AddInputJob(aspect.Edge{DestinationURN: job}))
	}
	columns := map[string][]mcp.PatchOp{} // by output
	if b.mapper.settings.Columns {
		for _, d := range outputs {
			columns[d.urn] = b.columns(d)
			ops = append(ops, columns[d.urn]...)
		}
	}
	b.addTo(b.id.job, aspect.DataJobInputOutput{}, distinct(ops))
	if b.mapper.settings.DatasetLineage {
		b.datasetLineage(inputs, outputs, columns)
	}
}

// datasetLineage adds to each output that it comes from all inputs.
func (b *builder) datasetLineage(inputs, outputs []dataset, columns map[string][]mcp.PatchOp) {
	for _, output := range outputs {
		var ops []mcp.PatchOp
		for _, input := range inputs {
			if input.urn != output.urn {
				ops = append(ops, aspect.AddUpstream(aspect.Upstream{Dataset: input.urn, Type: aspect.Transformed}))
			}
		}
		b.addTo(output.urn, aspect.UpstreamLineage{}, distinct(append(ops, columns[output.urn]...)))
	}
}

// columns adds which columns the columns of an output come from.
func (b *builder) columns(output dataset) []mcp.PatchOp {
	var ops []mcp.PatchOp
	fields := read[openlineage.ColumnLineageDatasetFacet](output.facets, "columnLineage").Fields
	for _, column := range slices.Sorted(maps.Keys(fields)) {
		downstream, err := urn.SchemaFieldKey{Parent: output.urn, Path: column}.URN()
		if err != nil {
			b.refuse("column", column, err)
			continue
		}
		for _, from := range fields[column].InputFields {
			input, err := b.mapper.datasetOf(rawDataset{Namespace: from.Namespace, Name: from.Name})
			if err != nil {
				b.refuse("dataset of column "+column, from.Namespace+" "+from.Name, err)
				continue
			}
			upstream, err := urn.SchemaFieldKey{Parent: input.urn, Path: from.Field}.URN()
			if err != nil {
				b.refuse("column", from.Field, err)
				continue
			}
			ops = append(ops, aspect.AddColumn(operation(fields[column], from), downstream, upstream))
		}
	}
	return ops
}

// operation names what was done to a column, in one word or two.
func operation(column openlineage.ColumnLineage, from openlineage.InputField) string {
	for _, t := range from.Transformations {
		if t.Type != "" && t.Subtype != "" {
			return t.Type + ":" + t.Subtype
		}
		if t.Type != "" {
			return t.Type
		}
	}
	return column.TransformationType
}

// upstreamJobs are the tasks that this one waited for. The parent is none of them: a flow would be its own upstream.
func (b *builder) upstreamJobs() []string {
	var jobs []string
	for _, d := range read[openlineage.JobDependenciesRunFacet](b.event.Run.Facets, "jobDependencies").Upstream {
		job, err := b.upstreamJob(d.Job)
		if err != nil {
			b.refuse("upstream job", d.Job.Name, err)
			continue
		}
		if job != "" && job != b.id.job {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

func (b *builder) upstreamJob(job openlineage.JobIdentifier) (string, error) {
	if b.mapper.settings.URNs != PrefectDataHub {
		return checked(b.mapper.endpointKey(&b.id, job.Namespace, job.Name).URN())
	}
	if b.memory.Job == nil {
		return "", nil
	}
	return b.memory.Job(job.Namespace, job.Name), nil
}
