package adapter

import (
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// Pin fixes a run's facts from its snapshot and its parent's ledger entry: namespace, job name, run id, parent, root,
// job facets, and where the run belongs. A task run's parent is its flow run, a subflow's the parent flow run, found by
// the placeholder's flow run id; nil: none, or unknown. Nothing has been told yet: the entry's phase is Unsaid.
func (a *Adapter) Pin(s prefect.Snapshot, parent *Told) (Told, []Warning) {
	r, ok := rowOf(s)
	if !ok {
		return Told{}, nil
	}
	p := pinning{adapter: a, snapshot: s, row: r, parent: parent, told: Told{ID: r.id, Kind: r.kind}}
	p.belongs()
	p.job()
	p.ancestry()
	p.told.Run.RunID = p.runID()
	if p.decide(); !p.told.Ruling.Silent() {
		p.facets()
	}
	return p.told, p.warnings
}

// pinning is one Pin under way.
type pinning struct {
	adapter  *Adapter
	snapshot prefect.Snapshot
	row      row
	parent   *Told
	told     Told
	warnings []Warning
}

func (p *pinning) warn(rule, format string, args ...any) {
	p.warnings = append(p.warnings, warning(p.told, rule, format, args...))
}

// belongs fills in the flow run, flow and deployment that the run belongs to.
func (p *pinning) belongs() {
	s := p.snapshot
	if flowRun := s.FlowRun; flowRun != nil {
		p.told.FlowID = flowRun.FlowID
		p.told.DeploymentID = deref(flowRun.DeploymentID)
		switch {
		case s.Placeholder != nil:
			p.told.FlowRunID = deref(s.Placeholder.FlowRunID)
		case p.parent != nil:
			p.told.FlowRunID = p.parent.ID
		}
		return
	}
	p.told.FlowRunID = deref(s.TaskRun.FlowRunID)
	if p.parent != nil {
		p.told.FlowID, p.told.DeploymentID = p.parent.FlowID, p.parent.DeploymentID
		return
	}
	if s.Flow != nil {
		p.told.FlowID = s.Flow.ID
	}
	if s.Deployment != nil {
		p.told.DeploymentID = s.Deployment.ID
	}
}

// decide fixes whether the run is told about.
func (p *pinning) decide() {
	author := wordOf(p.snapshot, p.row)
	if author.odd != "" {
		p.warn("policy-tag", "%s", author.odd)
	}
	p.told.Ruling = p.decision(author).Ruling
}

// job fills in the job's namespace and name.
func (p *pinning) job() {
	namespace := p.namespace()
	if err := openlineage.CheckNamespace(namespace); err != nil {
		namespace = openlineage.CleanNamespace(namespace)
		p.warn("namespace-replaced", "%s of its job variables is replaced by %q: %v",
			namespaceVariable, cutBytes(namespace, 200), err)
	}
	wanted := p.name()
	name, changed := cleanName(wanted)
	if changed {
		p.warn("name-replaced", "its job name is empty, too long or holds control characters, %q is used", cutBytes(name, 200))
	}
	p.told.Run.Namespace, p.told.Run.Name = namespace, name
}

func (p *pinning) namespace() string {
	if flowRun := p.snapshot.FlowRun; flowRun != nil {
		if namespace := environmentOf(flowRun.JobVariables)[namespaceVariable]; namespace != "" {
			return namespace
		}
	} else if p.parent != nil {
		return p.parent.Run.Namespace // a task is told of where its flow is
	}
	if d := p.snapshot.Deployment; d != nil {
		if namespace := environmentOf(d.JobVariables)[namespaceVariable]; namespace != "" {
			return namespace
		}
	}
	if p.parent != nil {
		return p.parent.Run.Namespace
	}
	return p.adapter.settings.Namespace
}

func (p *pinning) name() string {
	if p.row.kind == FlowRun {
		name := p.flowName()
		if p.adapter.settings.FlowNameType == FlowNamePath && p.parent != nil {
			return p.parent.Run.Name + "." + name
		}
		return name
	}
	task := taskName(*p.snapshot.TaskRun)
	switch p.adapter.settings.TaskNameType {
	case TaskNameFull:
		return openlineage.MaskText(p.row.name) // a templated name can hold anything
	case TaskNameBase:
		return task
	default:
		if flow := p.taskFlowName(); flow != "" {
			return flow + "." + task
		}
		return task
	}
}

// flowName returns the flow's name as FLOW_NAME_TYPE wants it, without its parents.
func (p *pinning) flowName() string {
	if p.adapter.settings.FlowNameType == FlowNameFlowRun {
		return openlineage.MaskText(p.row.name)
	}
	if p.snapshot.Flow == nil {
		p.warn("flow-unknown", "its flow %s is gone, the job is named by the flow's id", p.told.FlowID)
		return p.told.FlowID.String()
	}
	return p.snapshot.Flow.Name
}

// taskFlowName returns the job name of the task's flow run, empty for a task without a flow. The flow run's entry
// decides; without it the flow's name is all that is known.
func (p *pinning) taskFlowName() string {
	switch {
	case p.parent != nil:
		return p.parent.Run.Name
	case p.snapshot.Flow != nil:
		return p.snapshot.Flow.Name
	default:
		return ""
	}
}

// ancestry fills in parent, root and ancestor. The root on every level is the top flow run, or what stands above it
// outside of Prefect. Flow runs that are not told about are passed over: a consumer would make up a run for each.
func (p *pinning) ancestry() {
	if p.parent != nil && p.parent.Ruling.Silent() {
		p.told.Parent, p.told.Root, p.told.Ancestor = p.parent.Parent, p.parent.Root, p.parent.Ancestor
		return
	}
	if p.parent != nil {
		parent := p.parent.Run
		root := parent
		if p.parent.Root != nil {
			root = *p.parent.Root
		}
		p.told.Parent, p.told.Root, p.told.Ancestor = &parent, &root, p.parent.ID
		return
	}
	// Only a run's own variables are read: those of a deployment name the parent of some earlier run.
	if flowRun := p.snapshot.FlowRun; flowRun != nil && flowRun.ParentTaskRunID == nil {
		parent, root, err := outsideParent(environmentOf(flowRun.JobVariables))
		if err != nil {
			p.warn("parent-ignored", "of the parent that its job variables give this does not count: %s",
				strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		p.told.Parent, p.told.Root = parent, root
	}
}

// facets fixes the job's facets as canonical JSON.
func (p *pinning) facets() {
	facets := p.adapter.settings.Additions.Job(jobFacets(p.snapshot, p.row.kind))
	raw, err := facets.Canonical(p.adapter.settings.Producer)
	if err != nil {
		p.warn("facets-refused", "its job facets can't be written, they are left out: %v", err)
		raw = []byte("{}")
	}
	p.told.JobFacets = raw
}

// trailingHex is what openlineage-prefect takes for the suffix of a task run's name.
var trailingHex = regexp.MustCompile(`-[a-f0-9]+$`)

// runID returns the run's OpenLineage id. The static UUIDs of openlineage-prefect are made of the start time and its own
// idea of a name, so that runs told by it and by this program are the same runs.
func (p *pinning) runID() uuid.UUID {
	if p.adapter.settings.RunIDType == RunIDPrefect {
		return p.row.id
	}
	start := p.startTime()
	if start.IsZero() {
		p.warn("run-id-replaced", "it has no start time to make an id of, its own id is used")
		return p.row.id
	}
	name := p.row.name
	switch {
	case p.row.kind == TaskRun && p.adapter.settings.TaskNameType != TaskNameFull:
		name = trailingHex.ReplaceAllString(name, "")
	case p.row.kind == FlowRun && p.adapter.settings.FlowNameType != FlowNameFlowRun && p.snapshot.Flow != nil:
		name = p.snapshot.Flow.Name
	}
	return openlineage.StaticUUID(start, []byte(p.told.Run.Namespace+"."+name))
}

func (p *pinning) startTime() time.Time {
	switch {
	case p.row.start != nil:
		return *p.row.start
	case p.row.state != nil:
		return p.row.state.Timestamp
	default:
		return time.Time{}
	}
}

func deref(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.UUID{}
	}
	return *id
}
