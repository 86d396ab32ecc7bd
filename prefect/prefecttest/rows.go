package prefecttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// AddFlow adds a flow. Flows of the same name are one, as on a real server.
func (s *Server) AddFlow(name string, tags ...string) prefect.Flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	flow := prefect.Flow{ID: ID("flow " + name), Name: name, Tags: append([]string{}, tags...)}
	if s.tables[flows].byID[flow.ID] == nil {
		s.tables[flows].add(&row{kind: flows, id: flow.ID, name: name, record: &flow})
	}
	return flow
}

// AddDeployment adds a deployment; an empty ID, name and time of creation are made up.
func (s *Server) AddDeployment(d prefect.Deployment) prefect.Deployment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number(deployments, &d.ID, &d.Name, "deployment")
	s.date(&d.Created)
	s.tables[deployments].add(&row{kind: deployments, id: d.ID, name: d.Name, flow: d.FlowID, record: &d})
	return d
}

// AddFlowRun adds a flow run as it is; an empty ID, name and time of creation are made up. Without a state it is as a
// real one is for a moment after its creation. Servers before 3.9 take the end
// time off one that never started.
func (s *Server) AddFlowRun(r prefect.FlowRun) prefect.FlowRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number(flowRuns, &r.ID, &r.Name, "flow-run")
	s.date(&r.Created)
	if r.ExpectedStartTime == nil {
		r.ExpectedStartTime = &r.Created
	}
	untimed(s.version != V3_9, r.StartTime, &r.EndTime)
	stored := &row{kind: flowRuns, id: r.ID, flow: r.FlowID, deployment: deref(r.DeploymentID), taskRun: deref(r.ParentTaskRunID), record: &r}
	stored.look()
	s.tables[flowRuns].add(stored)
	s.announceNew(stored, nil)
	return r
}

// untimed takes the end time off a run without a start where the server keeps none.
func untimed(here bool, start *time.Time, end **time.Time) {
	if start == nil && here {
		*end = nil
	}
}

// AddTaskRun adds a task run as it is; an empty ID, name, task key and time of creation are made up.
func (s *Server) AddTaskRun(r prefect.TaskRun) prefect.TaskRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number(taskRuns, &r.ID, &r.Name, "task-run")
	if r.TaskKey == "" {
		r.TaskKey = "task-0a1b2c3d"
	}
	if r.DynamicKey == "" {
		r.DynamicKey = r.ID.String()
	}
	s.date(&r.Created)
	if r.ExpectedStartTime == nil {
		r.ExpectedStartTime = &r.Created
	}
	untimed(s.version == V2_20, r.StartTime, &r.EndTime)
	stored := &row{kind: taskRuns, id: r.ID, flowRun: deref(r.FlowRunID), record: &r}
	stored.look()
	s.tables[taskRuns].add(stored)
	s.announceNew(stored, nil)
	return r
}

// AddArtifact adds an artifact; an empty ID, type (table) and time of creation are made up.
func (s *Server) AddArtifact(a prefect.Artifact) prefect.Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	var name string
	s.number(artifacts, &a.ID, &name, "artifact")
	s.date(&a.Created)
	if a.Type == nil {
		table := "table"
		a.Type = &table
	}
	s.tables[artifacts].add(&row{
		kind: artifacts, id: a.ID, flowRun: deref(a.FlowRunID), taskRun: deref(a.TaskRunID), kindOfArtifact: *a.Type, record: &a,
	})
	return a
}

// AddRaw adds a row to a list (flow_runs, task_runs, ...) that is served as it is written, however odd. Filters and
// sort orders see of it what can be read.
func (s *Server) AddRaw(resource, raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var seen struct {
		ID           any `json:"id"`
		Name         any `json:"name"`
		FlowID       any `json:"flow_id"`
		DeploymentID any `json:"deployment_id"`
		FlowRunID    any `json:"flow_run_id"`
		TaskRunID    any `json:"task_run_id"`
		Type         any `json:"type"`
		StateType    any `json:"state_type"`
		Start        any `json:"start_time"`
		End          any `json:"end_time"`
		Expected     any `json:"expected_start_time"`
	}
	_ = json.Unmarshal([]byte(raw), &seen) // what can't be read is not seen
	id := func(value any) uuid.UUID { parsed, _ := uuid.Parse(asText(value)); return parsed }
	moment := func(value any) time.Time { parsed, _ := time.Parse(time.RFC3339Nano, asText(value)); return parsed }
	s.tables[resource].add(&row{
		kind: resource, id: id(seen.ID), name: asText(seen.Name), flow: id(seen.FlowID), deployment: id(seen.DeploymentID),
		flowRun: id(seen.FlowRunID), taskRun: id(seen.TaskRunID), kindOfArtifact: asText(seen.Type),
		state: asText(seen.StateType), start: moment(seen.Start), end: moment(seen.End), expected: moment(seen.Expected),
		wire: []byte(raw),
	})
}

// Delete removes the row with this id, as if it had never been.
func (s *Server) Delete(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range kinds {
		if r := s.tables[kind].byID[id]; r != nil {
			s.tables[kind].remove(r)
		}
	}
}

// FlowRun returns a flow run as it stands. It panics when there is none.
func (s *Server) FlowRun(id uuid.UUID) prefect.FlowRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.find(flowRuns, id).record.(*prefect.FlowRun)
}

// TaskRun returns a task run as it stands. It panics when there is none.
func (s *Server) TaskRun(id uuid.UUID) prefect.TaskRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.find(taskRuns, id).record.(*prefect.TaskRun)
}

// UpdateFlowRun changes a flow run, all but the ids by which it is found.
func (s *Server) UpdateFlowRun(id uuid.UUID, change func(*prefect.FlowRun)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(flowRuns, id)
	run := r.record.(*prefect.FlowRun)
	before := copyOf(run.State)
	change(run)
	r.look()
	s.tables[flowRuns].changed()
	s.announceNew(r, before)
}

// UpdateTaskRun changes a task run, all but the ids by which it is found.
func (s *Server) UpdateTaskRun(id uuid.UUID, change func(*prefect.TaskRun)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(taskRuns, id)
	run := r.record.(*prefect.TaskRun)
	before := copyOf(run.State)
	change(run)
	r.look()
	s.tables[taskRuns].changed()
	s.announceNew(r, before)
}

func (s *Server) find(kind string, id uuid.UUID) *row {
	r := s.tables[kind].byID[id]
	if r == nil || r.record == nil {
		panic(fmt.Sprintf("prefecttest: no row %s in %s", id, kind))
	}
	return r
}

// number gives a row its id and name where it has none: the same in every run of a test.
func (s *Server) number(kind string, id *uuid.UUID, name *string, word string) {
	s.numbers[kind]++
	label := fmt.Sprintf("%s-%d", word, s.numbers[kind])
	if *id == uuid.Nil {
		*id = ID(label)
	}
	if *name == "" {
		*name = label
	}
}

// date sets a time that is not set. Servers keep microseconds.
func (s *Server) date(at *time.Time) {
	if at.IsZero() {
		*at = s.now()
	}
	*at = at.UTC().Truncate(time.Microsecond)
}

// look notes what filters and sort orders look at.
func (r *row) look() {
	var state *prefect.State
	var start, end, expected *time.Time
	switch record := r.record.(type) {
	case *prefect.FlowRun:
		r.name, state, start, end, expected = record.Name, record.State, record.StartTime, record.EndTime, record.ExpectedStartTime
	case *prefect.TaskRun:
		r.name, state, start, end, expected = record.Name, record.State, record.StartTime, record.EndTime, record.ExpectedStartTime
	}
	r.state = ""
	if state != nil {
		r.state = string(state.Type)
	}
	r.start, r.end, r.expected, r.wire = deref(start), deref(end), deref(expected), nil
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func asText(value any) string {
	text, _ := value.(string)
	return strings.TrimSpace(text)
}
