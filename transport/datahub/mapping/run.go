package mapping

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// run says what the event knows of the run, and last how its state changed.
func (b *builder) run(inputs, outputs []dataset) {
	b.properties()
	b.relationships()
	if !b.event.prefect().DatasetsRepeated { // those of an earlier run were not this one's
		if urns := urnsOf(inputs); len(urns) > 0 {
			b.ofRun(aspect.DataProcessInstanceInput{Inputs: urns})
		}
		if urns := urnsOf(outputs); len(urns) > 0 {
			b.ofRun(aspect.DataProcessInstanceOutput{Outputs: urns})
		}
	}
	b.state()
}

func urnsOf(datasets []dataset) []string {
	var urns []string
	for _, d := range datasets {
		urns = append(urns, d.urn)
	}
	return urns
}

// properties describes the run. The name and all that Prefect knows at the end alone come with the end; what an earlier
// event said stands in it too, since the later one takes its place.
func (b *builder) properties() {
	e, run := b.event, b.event.prefect()
	created := read[nominal](e.Run.Facets, "nominalTime").Start
	if created.IsZero() {
		created = e.Time
	}
	kind := aspect.BatchAdHoc
	if run.DeploymentID != uuid.Nil || e.Run.Facets["prefect_deployment"] != nil {
		kind = aspect.BatchScheduled
	}
	b.ofRun(aspect.DataProcessInstanceProperties{
		Name: cmp.Or(run.RunName, e.Run.ID), Type: kind, ExternalURL: run.URL, CustomProperties: b.runProperties(),
		Created: aspect.AuditStamp{Time: created.UnixMilli(), Actor: aspect.DataHubActor},
	})
}

func (b *builder) runProperties() aspect.Properties {
	e, run, p := b.event, b.event.prefect(), aspect.Properties{}
	for name, value := range map[string]string{
		"flowRunId": idText(run.FlowRunID), "taskRunId": idText(run.TaskRunID), "flowId": idText(run.FlowID),
		"flowName": run.FlowName, "deploymentId": idText(run.DeploymentID), "deploymentName": run.DeploymentName,
		"taskKey": run.TaskKey, "enclosingTaskRunId": idText(run.EnclosingTaskRunID),
		"parentTaskRunId": idText(run.ParentTaskRunID), "stateName": run.StateName, "stateType": run.StateType,
		"workPool": run.WorkPool, "workQueue": run.WorkQueue, "runCount": number(run.RunCount),
		"cached": truth(run.Cached), "inferred": truth(run.Inferred),
		"namespace": e.Job.Namespace, "jobName": e.Job.Name,
		"errorMessage": read[openlineage.ErrorMessageRunFacet](e.Run.Facets, "errorMessage").Message,
	} {
		put(p, name, value)
	}
	if t := run.Trigger; t != nil {
		put(p, "trigger", strings.TrimSpace(t.Type+" "+t.Name))
	}
	from := read[deployment](e.Run.Facets, "prefect_deployment")
	put(p, "deploymentId", from.ID)
	put(p, "deploymentName", from.Name)
	put(p, "deploymentVersion", from.Version)
	nominal := read[nominal](e.Run.Facets, "nominalTime")
	put(p, "nominalStartTime", timeText(nominal.Start))
	put(p, "nominalEndTime", timeText(nominal.End))
	engine := read[openlineage.ProcessingEngineRunFacet](e.Run.Facets, "processing_engine")
	put(p, "processingEngine", engine.Name)
	put(p, "processingEngineVersion", engine.Version)
	var tags []string
	for _, tag := range read[openlineage.TagsRunFacet](e.Run.Facets, "tags").Tags {
		tags = append(tags, tagName(tag))
	}
	put(p, "tags", strings.Join(tags, ", "))
	for _, parameter := range read[openlineage.ExecutionParametersRunFacet](e.Run.Facets, "executionParameters").Parameters {
		put(p, "parameter."+parameter.Key, parameter.Value)
	}
	return p
}

func (b *builder) relationships() {
	r := aspect.DataProcessInstanceRelationships{ParentTemplate: b.id.template}
	if parent := b.event.parent(); parent != nil && parent.Run.ID != uuid.Nil {
		text, err := urn.DataProcessInstance(parent.Run.ID.String())
		b.failed(err)
		r.ParentInstance = text
	}
	seen := map[string]bool{}
	for _, d := range read[openlineage.JobDependenciesRunFacet](b.event.Run.Facets, "jobDependencies").Upstream {
		if d.Run == nil || d.Run.ID == uuid.Nil {
			continue
		}
		text, err := urn.DataProcessInstance(d.Run.ID.String())
		b.failed(err)
		if !seen[text] {
			seen[text] = true
			r.UpstreamInstances = append(r.UpstreamInstances, text)
		}
	}
	b.ofRun(r)
}

// state says that the run began or ended. DataHub keeps one state for each millisecond, so an end is dated up to the
// next one: it never takes the place of the start of a run that was over at once.
func (b *builder) state() {
	e, run := b.event, b.event.prefect()
	change := aspect.DataProcessInstanceRunEvent{ExternalURL: run.URL, TimestampMillis: e.Time.UnixMilli()}
	if run.RunCount != nil {
		change.Attempt = max(0, *run.RunCount)
	}
	switch {
	case e.Type == "START" || e.Type == "RUNNING":
		change.Status = aspect.Started
	case e.isEnd():
		change.Status = aspect.Complete
		change.Result = &aspect.RunResult{Type: b.result(), NativeResultType: cmp.Or(run.StateName, b.id.orchestrator)}
		change.TimestampMillis = upToMillis(e.Time)
		if started := b.memory.Started; !started.IsZero() && !started.After(e.Time) {
			if change.TimestampMillis == started.UnixMilli() {
				change.TimestampMillis++
			}
			took := e.Time.Sub(started).Milliseconds()
			change.DurationMillis = &took
		}
	default:
		return // OTHER is no change of state
	}
	b.ofRun(change)
}

func (b *builder) result() string {
	switch b.event.Type {
	case "COMPLETE":
		return aspect.Success
	case "ABORT":
		return b.mapper.settings.CancelledAs
	default:
		return aspect.Failure
	}
}

func upToMillis(t time.Time) int64 {
	millis := t.UnixMilli()
	if t.After(time.UnixMilli(millis)) {
		millis++
	}
	return millis
}

// put sets a property that has a value.
func put(p aspect.Properties, name, value string) {
	if value != "" {
		p[name] = value
	}
}

func idText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func truth(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(openlineage.TimeLayout)
}
