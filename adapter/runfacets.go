package adapter

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// Names that Prefect gives to inputs of a task run which are not parameters.
const enclosingInput = "__parents__" // the task run inside which it was called

// startFacets returns the run facets that are fixed when a run starts. They are part of every event of the run, and a
// START that is made of a run's last row is the same as one that was made of its first.
func (a *Adapter) startFacets(s prefect.Snapshot, r row, t Told, upstream map[uuid.UUID]Told) openlineage.Facets {
	facets := openlineage.NewFacets(a.engineFacet(s), a.prefectFacet(s, t))
	addParent(&facets, t)
	// Prefect sets the expected start time with a run's first state and never again: a retry or a new schedule moves
	// next_scheduled_start_time alone.
	if r.expected != nil && !r.expected.IsZero() {
		facets.Add(openlineage.NominalTimeRunFacet{Start: *r.expected})
	}
	if dependencies := dependencies(s, upstream); len(dependencies) > 0 {
		facets.Add(openlineage.JobDependenciesRunFacet{Upstream: dependencies})
	}
	if tags := tagList(r.tags); len(tags) > 0 {
		facets.Add(openlineage.TagsRunFacet{Tags: tags})
	}
	if parameters := a.parameters(s); len(parameters) > 0 {
		facets.Add(openlineage.ExecutionParametersRunFacet{Parameters: parameters})
	}
	if d := s.Deployment; d != nil {
		facet := openlineage.PrefectDeploymentRunFacet{ID: d.ID, Name: freeText(d.Name), Created: d.Created}
		switch {
		case s.FlowRun != nil && s.FlowRun.DeploymentVersion != nil:
			facet.Version = *s.FlowRun.DeploymentVersion // the one it was started with
		case d.Version != nil:
			facet.Version = *d.Version
		}
		facets.Add(facet)
	}
	return facets
}

// parameters returns what a flow run was started with, by name, if it was asked for.
func (a *Adapter) parameters(s prefect.Snapshot) []openlineage.ExecutionParameter {
	if !a.settings.Parameters || s.FlowRun == nil {
		return nil
	}
	var list []openlineage.ExecutionParameter
	for _, name := range slices.Sorted(maps.Keys(s.FlowRun.Parameters)) {
		value := openlineage.MaskParameter(name, s.FlowRun.Parameters[name])
		list = append(list, openlineage.ExecutionParameter{Key: name, Value: cutBytes(value, maxText)})
	}
	return list
}

// endFacets adds to the start's run facets what is known at the end.
func (a *Adapter) endFacets(s prefect.Snapshot, r row, t Told, upstream map[uuid.UUID]Told, repeated bool) openlineage.Facets {
	facets := a.startFacets(s, r, t, upstream)
	end := a.prefectEnd(s, r, t, false)
	end.DatasetsRepeated = repeated
	facets.Add(end)
	if r.state.Type == prefect.Failed || r.state.Type == prefect.Crashed {
		message := text(r.state.Message)
		if strings.TrimSpace(message) == "" {
			message = r.state.Name
		}
		facets.Add(errorFacet(message))
	}
	return facets
}

// prefectEnd returns the prefect_run facet of an end.
func (a *Adapter) prefectEnd(s prefect.Snapshot, r row, t Told, inferred bool) openlineage.PrefectRunFacet {
	facet := a.prefectFacet(s, t)
	facet.Inferred = new(inferred)
	if r.state != nil {
		facet.RunName, facet.RunCount = freeText(r.name), new(r.runCount)
		facet.StateName, facet.StateType = freeText(r.state.Name), string(r.state.Type)
		if s.TaskRun != nil {
			facet.Cached = new(r.state.Type == prefect.Completed && r.state.Name == "Cached")
		}
	}
	if flowRun := s.FlowRun; flowRun != nil {
		facet.WorkPool, facet.WorkQueue = text(flowRun.WorkPoolName), text(flowRun.WorkQueueName)
	}
	return facet
}

func errorFacet(message string) openlineage.ErrorMessageRunFacet {
	return openlineage.ErrorMessageRunFacet{Message: freeText(message), ProgrammingLanguage: "PYTHON"}
}

// engineFacet names Prefect. DataHub refuses for ever an event without it.
func (a *Adapter) engineFacet(s prefect.Snapshot) openlineage.ProcessingEngineRunFacet {
	version := a.serverOf(s).Version
	if version == "" {
		version = "unknown" // the spec demands one
	}
	return openlineage.ProcessingEngineRunFacet{
		Version: version, Name: "Prefect", AdapterVersion: a.settings.Version,
	}
}

// serverOf returns the server that a snapshot came from, the last one known where there is no snapshot.
func (a *Adapter) serverOf(s prefect.Snapshot) prefect.Server {
	if s.Server.Version == "" {
		return a.server
	}
	return s.Server
}

// addParent adds the parent with its root, if the run has both: half a parent makes consumers invent jobs.
func addParent(facets *openlineage.Facets, t Told) {
	if t.Parent == nil || t.Root == nil {
		return
	}
	facets.Add(openlineage.ParentRunFacet{
		Run: openlineage.RunIdentifier{ID: t.Parent.RunID},
		Job: openlineage.JobIdentifier{Namespace: t.Parent.Namespace, Name: t.Parent.Name},
		Root: &openlineage.RootRun{
			Run: openlineage.RunIdentifier{ID: t.Root.RunID},
			Job: openlineage.JobIdentifier{Namespace: t.Root.Namespace, Name: t.Root.Name},
		},
	})
}

// prefectFacet returns what is fixed of the prefect_run facet. The snapshot may be empty: the ledger then says all.
func (a *Adapter) prefectFacet(s prefect.Snapshot, t Told) openlineage.PrefectRunFacet {
	facet := openlineage.PrefectRunFacet{FlowID: t.FlowID, DeploymentID: t.DeploymentID, URL: a.pageURL(a.serverOf(s), t)}
	switch t.Kind {
	case FlowRun:
		facet.Kind, facet.FlowRunID = "flow-run", t.ID
	default:
		facet.Kind, facet.TaskRunID, facet.FlowRunID = "task-run", t.ID, t.FlowRunID
	}
	if s.Flow != nil {
		facet.FlowName = freeText(s.Flow.Name)
	}
	if s.Deployment != nil {
		facet.DeploymentName = freeText(s.Deployment.Name)
	}
	if s.TaskRun != nil {
		facet.TaskKey = s.TaskRun.TaskKey
		facet.EnclosingTaskRunID = enclosingTask(*s.TaskRun)
	}
	if s.FlowRun != nil {
		facet.ParentTaskRunID = deref(s.FlowRun.ParentTaskRunID)
		facet.Trigger = trigger(*s.FlowRun)
		if s.Placeholder != nil {
			facet.EnclosingTaskRunID = enclosingTask(*s.Placeholder)
		}
	}
	return facet
}

// pageURL returns the address of the run's page, empty if nobody said where the pages are. Servers before 3 have them
// elsewhere.
func (a *Adapter) pageURL(server prefect.Server, t Told) string {
	base := a.settings.UIURL
	if base == "" {
		base = server.UIURL
	}
	if base == "" {
		return ""
	}
	folder, kind := "runs", "task-run"
	if t.Kind == FlowRun {
		kind = "flow-run"
	}
	if strings.HasPrefix(server.Version, "2.") {
		folder = kind + "s"
	}
	return base + "/" + folder + "/" + kind + "/" + t.ID.String()
}

// enclosingTask returns the task run inside which a task was called, zero if there is none.
func enclosingTask(t prefect.TaskRun) uuid.UUID {
	for _, input := range t.TaskInputs[enclosingInput] {
		if input.Type == "task_run" && input.ID != nil {
			return *input.ID
		}
	}
	return uuid.UUID{}
}

// Upstreams returns the Prefect ids of the runs that this one waited for: by a parameter or by wait_for. A subflow's are
// those of its placeholder. They are sorted, each once.
func (a *Adapter) Upstreams(s prefect.Snapshot) []uuid.UUID {
	return upstreams(s)
}

func upstreams(s prefect.Snapshot) []uuid.UUID {
	task := s.TaskRun
	if task == nil {
		task = s.Placeholder
	}
	if task == nil {
		return nil
	}
	var ids []uuid.UUID
	for name, inputs := range task.TaskInputs {
		if name == enclosingInput {
			continue
		}
		for _, input := range inputs {
			if (input.Type == "task_run" || input.Type == "flow_run") && input.ID != nil {
				ids = append(ids, *input.ID)
			}
		}
	}
	slices.SortFunc(ids, func(x, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
	return slices.Compact(ids)
}

// dependencies returns the upstream runs that are known and told about, sorted by job and run: a consumer would make up a
// job for any other. Two ids may name one run: a subflow's placeholder and the subflow.
func dependencies(s prefect.Snapshot, upstream map[uuid.UUID]Told) []openlineage.JobDependency {
	var refs []RunRef
	for _, id := range upstreams(s) {
		if t, ok := upstream[id]; ok && t.Run.RunID != uuid.Nil && t.Run.Name != "" && !t.Ruling.Silent() {
			refs = append(refs, t.Run)
		}
	}
	slices.SortFunc(refs, compareRefs)
	refs = slices.Compact(refs)
	var list []openlineage.JobDependency
	for _, ref := range refs {
		list = append(list, openlineage.JobDependency{
			Job: openlineage.JobIdentifier{Namespace: ref.Namespace, Name: ref.Name},
			Run: &openlineage.RunIdentifier{ID: ref.RunID},
		})
	}
	return list
}

func compareRefs(a, b RunRef) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return bytes.Compare(a.RunID[:], b.RunID[:])
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return freeText(*s)
}
