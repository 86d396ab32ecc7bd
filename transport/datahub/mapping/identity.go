package mapping

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// identity is what an event's job and run are called in DataHub.
type identity struct {
	orchestrator string
	flow         string // URNs
	flowName     string
	job          string // of the flow's own task where the event is about a flow
	jobName      string
	run          string
	isFlow       bool
	// ownsFlow: the event is about the flow itself, and describes it. An event of a task knows its name alone.
	ownsFlow bool
	// flowIsTold: the flow is the job of this event or of its parent, whose first event went before this one.
	flowIsTold bool
	// template is what the run is a run of.
	template string
}

// identify names job and run. Its error is about a name that has no place in DataHub: nothing of the event can be told.
func (m Mapper) identify(e event) (identity, error) {
	id := identity{orchestrator: m.orchestrator(e), isFlow: e.isFlow()}
	var key urn.DataJobKey
	if m.settings.URNs == PrefectDataHub {
		key = m.prefectKey(&id, e)
	} else {
		key = m.endpointKey(&id, e.Job.Namespace, e.Job.Name)
		id.ownsFlow = key.Flow.Flow == e.Job.Name && id.isFlow
		id.jobName = displayName(e, id.isFlow)
	}
	var err error
	if id.flow, err = checked(key.Flow.URN()); err != nil {
		return identity{}, fmt.Errorf("naming the flow of job %q: %w", e.Job.Name, err)
	}
	if id.job, err = checked(key.URN()); err != nil {
		return identity{}, fmt.Errorf("naming job %q: %w", e.Job.Name, err)
	}
	if id.run, err = checked(urn.DataProcessInstance(e.Run.ID)); err != nil {
		return identity{}, fmt.Errorf("naming the run: %w", err)
	}
	id.flowName, id.template = key.Flow.Flow, id.job
	if m.settings.URNs == PrefectDataHub {
		id.flowName = flowNameOf(e)
		if id.isFlow {
			id.template = id.flow
		}
	}
	id.flowIsTold = id.ownsFlow || m.parentIsFlow(e, id)
	return id, nil
}

// endpointKey names a job as DataHub's endpoint does: the flow is all before the first dot.
func (m Mapper) endpointKey(id *identity, namespace, name string) urn.DataJobKey {
	flow, _, _ := strings.Cut(name, ".")
	flow = cmp.Or(flow, name) // nothing is before the dot
	return urn.DataJobKey{
		Flow: urn.DataFlowKey{
			Orchestrator: id.orchestrator, Flow: flow, Cluster: cmp.Or(m.settings.PlatformInstance, namespace),
		},
		Job: name,
	}
}

// prefectKey names a job as prefect-datahub does, by what Prefect itself calls it.
func (m Mapper) prefectKey(id *identity, e event) urn.DataJobKey {
	flow := flowNameOf(e)
	key := urn.DataJobKey{
		Flow: urn.DataFlow(id.orchestrator, m.settings.PlatformInstance, flow, m.settings.Env),
		Job:  flow,
	}
	id.ownsFlow, id.jobName = id.isFlow, displayName(e, id.isFlow)
	if !id.isFlow {
		key.Job = cmp.Or(e.prefect().TaskKey, id.jobName)
	}
	return key
}

// flowNameOf returns the name of a flow as Prefect has it. A task without a flow stands for itself.
func flowNameOf(e event) string {
	if name := e.prefect().FlowName; name != "" {
		return name
	}
	if parent := e.parent(); parent != nil && !e.isFlow() && strings.HasPrefix(e.Job.Name, parent.Job.Name+".") {
		return parent.Job.Name
	}
	return e.Job.Name
}

// displayName returns what a job is called for people: a task without its flow's name.
func displayName(e event, isFlow bool) string {
	if isFlow {
		return e.Job.Name
	}
	if parent := e.parent(); parent != nil {
		if task, ok := strings.CutPrefix(e.Job.Name, parent.Job.Name+"."); ok && task != "" {
			return task
		}
	}
	_, task, _ := strings.Cut(e.Job.Name, ".")
	return cmp.Or(task, e.Job.Name)
}

// parentIsFlow reports whether the run above is one of the flow that this job belongs to.
func (m Mapper) parentIsFlow(e event, id identity) bool {
	parent := e.parent()
	if parent == nil || id.isFlow {
		return false
	}
	if m.settings.URNs == PrefectDataHub {
		return strings.HasPrefix(e.Job.Name, parent.Job.Name+".")
	}
	return parent.Job.Name == id.flowName && parent.Job.Namespace == e.Job.Namespace
}

func (m Mapper) orchestrator(e event) string {
	engine := read[openlineage.ProcessingEngineRunFacet](e.Run.Facets, "processing_engine")
	return cmp.Or(m.settings.Orchestrator, strings.ToLower(e.jobType().Integration), strings.ToLower(engine.Name), "prefect")
}

// checked refuses what DataHub's server would refuse.
func checked(text string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return text, urn.Check(text)
}

// flowPage returns the address of the flow's page in Prefect, made of that of the run's page; "" when there is none.
func flowPage(run openlineage.PrefectRunFacet) string {
	base, _, ok := strings.Cut(run.URL, "/runs/")
	if !ok || run.FlowID == uuid.Nil {
		return ""
	}
	return base + "/flows/flow/" + run.FlowID.String()
}
