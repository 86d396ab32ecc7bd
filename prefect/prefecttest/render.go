package prefecttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

type jsonRaw = json.RawMessage

// render returns a row as the server's version writes it. The fields are those of captured rows; a test holds the two
// against each other.
func (s *Server) render(r *row) []byte {
	if r.wire != nil {
		return r.wire
	}
	var fields any
	switch record := r.record.(type) {
	case *prefect.Flow:
		fields = s.flowFields(record)
	case *prefect.Deployment:
		fields = s.deploymentFields(record)
	case *prefect.FlowRun:
		fields = s.flowRunFields(record)
	case *prefect.TaskRun:
		fields = s.taskRunFields(record)
	case *prefect.Artifact:
		fields = s.artifactFields(record)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		panic(fmt.Sprintf("prefecttest: writing %s %s: %v", r.kind, r.id, err))
	}
	r.wire = bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return r.wire
}

// moment is a time as the server's version writes it; nil: null.
type moment *string

// moment writes a time as the server's version does: Prefect 2 with an offset, Prefect 3 with Z.
func (s *Server) moment(at time.Time) moment {
	if at.IsZero() {
		return nil
	}
	form := "2006-01-02T15:04:05.000000"
	if at = at.UTC().Truncate(time.Microsecond); at.Nanosecond() == 0 {
		form = "2006-01-02T15:04:05"
	}
	zone := "Z"
	if s.version == V2_20 {
		zone = "+00:00"
	}
	text := at.Format(form) + zone
	return &text
}

func (s *Server) flowFields(f *prefect.Flow) map[string]any {
	made := s.moment(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	fields := map[string]any{"id": f.ID, "created": made, "updated": made, "name": f.Name, "tags": list(f.Tags)}
	if s.version != V2_20 {
		fields["labels"] = struct{}{}
	}
	return fields
}

func (s *Server) deploymentFields(d *prefect.Deployment) map[string]any {
	fields := map[string]any{
		"id": d.ID, "created": s.moment(d.Created), "updated": s.moment(d.Created), "name": d.Name, "version": d.Version,
		"description": d.Description, "flow_id": d.FlowID, "paused": false, "schedules": []any{},
		"parameters": struct{}{}, "tags": list(d.Tags), "work_queue_name": nil, "last_polled": nil,
		"parameter_openapi_schema": struct{}{}, "path": d.Path, "entrypoint": d.Entrypoint,
		"storage_document_id": nil, "infrastructure_document_id": nil, "created_by": nil, "updated_by": nil,
		"work_pool_name": d.WorkPoolName, "status": "NOT_READY", "enforce_parameter_schema": true, "pull_steps": nil,
	}
	if d.PullSteps != nil {
		fields["pull_steps"] = d.PullSteps
	}
	if s.version == V2_20 {
		fields["infra_overrides"] = object(d.JobVariables)
		fields["schedule"], fields["is_schedule_active"], fields["manifest_path"] = nil, true, nil
		fields["parameter_openapi_schema"] = nil
		return fields
	}
	fields["job_variables"] = object(d.JobVariables)
	fields["concurrency_limit"], fields["global_concurrency_limit"], fields["concurrency_options"] = nil, nil, nil
	fields["labels"], fields["work_queue_id"] = map[string]any{"prefect.flow.id": d.FlowID}, nil
	return fields
}

// runWire are the fields that flow runs and task runs share. Structs and not maps, since histories are big.
type runWire struct {
	ID                  uuid.UUID          `json:"id"`
	Created             moment             `json:"created"`
	Updated             moment             `json:"updated"`
	Name                string             `json:"name"`
	Tags                []string           `json:"tags"`
	Labels              map[string]string  `json:"labels,omitzero"`
	StateID             *uuid.UUID         `json:"state_id"`
	StateType           *prefect.StateType `json:"state_type"`
	StateName           *string            `json:"state_name"`
	RunCount            int                `json:"run_count"`
	Expected            moment             `json:"expected_start_time"`
	NextScheduled       moment             `json:"next_scheduled_start_time"`
	Start               moment             `json:"start_time"`
	End                 moment             `json:"end_time"`
	TotalRunTime        float64            `json:"total_run_time"`
	EstimatedRunTime    float64            `json:"estimated_run_time"`
	EstimatedStartDelta float64            `json:"estimated_start_time_delta"`
	State               *stateWire         `json:"state"`
}

type stateWire struct {
	ID        uuid.UUID         `json:"id"`
	Type      prefect.StateType `json:"type"`
	Name      string            `json:"name"`
	Timestamp moment            `json:"timestamp"`
	Message   *string           `json:"message"`
	Data      *string           `json:"data"`
	Details   detailsWire       `json:"state_details"`
}

type detailsWire struct {
	FlowRunID        *uuid.UUID `json:"flow_run_id"`
	TaskRunID        *uuid.UUID `json:"task_run_id"`
	ChildFlowRunID   *uuid.UUID `json:"child_flow_run_id"`
	ScheduledTime    moment     `json:"scheduled_time"`
	CacheKey         *string    `json:"cache_key"`
	CacheExpiration  moment     `json:"cache_expiration"`
	Untrackable      bool       `json:"untrackable_result"`
	PauseTimeout     moment     `json:"pause_timeout"`
	PauseReschedule  bool       `json:"pause_reschedule"`
	PauseKey         *string    `json:"pause_key"`
	RunInputKeyset   *string    `json:"run_input_keyset"`
	RefreshCache     *bool      `json:"refresh_cache"`
	Retriable        *bool      `json:"retriable"`
	TransitionID     uuid.UUID  `json:"transition_id"`
	TaskParametersID *string    `json:"task_parameters_id"`
	// null on the versions that have them, left out on others
	Deferred    any `json:"deferred,omitempty"`
	Traceparent any `json:"traceparent,omitempty"`
	Lease       any `json:"deployment_concurrency_lease_id,omitempty"`
}

// null is written as null where omitempty would leave a nil out.
var null = jsonRaw("null")

type policyWire struct {
	MaxRetries        int     `json:"max_retries"`
	RetryDelaySeconds float64 `json:"retry_delay_seconds"`
	Retries           int     `json:"retries"`
	RetryDelay        int     `json:"retry_delay"`
}

type flowRunWire struct {
	runWire
	FlowID            uuid.UUID          `json:"flow_id"`
	DeploymentID      *uuid.UUID         `json:"deployment_id"`
	DeploymentVersion *string            `json:"deployment_version"`
	WorkQueueID       *uuid.UUID         `json:"work_queue_id"`
	WorkQueueName     *string            `json:"work_queue_name"`
	FlowVersion       string             `json:"flow_version"`
	Parameters        map[string]jsonRaw `json:"parameters"`
	IdempotencyKey    *string            `json:"idempotency_key"`
	Context           struct{}           `json:"context"`
	Policy            flowPolicyWire     `json:"empirical_policy"`
	ParentTaskRunID   *uuid.UUID         `json:"parent_task_run_id"`
	AutoScheduled     bool               `json:"auto_scheduled"`
	InfrastructureID  *uuid.UUID         `json:"infrastructure_document_id"`
	InfrastructurePID *string            `json:"infrastructure_pid"`
	CreatedBy         *prefect.Creator   `json:"created_by"`
	WorkPoolID        *uuid.UUID         `json:"work_pool_id"`
	WorkPoolName      *string            `json:"work_pool_name"`
	JobVariables      map[string]jsonRaw `json:"job_variables"`
}

type flowPolicyWire struct {
	policyWire
	PauseKeys []string `json:"pause_keys"`
	Resuming  bool     `json:"resuming"`
	RetryType *string  `json:"retry_type"`
}

type taskRunWire struct {
	runWire
	FlowRunID       *uuid.UUID             `json:"flow_run_id"`
	TaskKey         string                 `json:"task_key"`
	DynamicKey      string                 `json:"dynamic_key"`
	CacheKey        *string                `json:"cache_key"`
	CacheExpiration moment                 `json:"cache_expiration"`
	TaskVersion     *string                `json:"task_version"`
	Policy          taskPolicyWire         `json:"empirical_policy"`
	TaskInputs      map[string][]inputWire `json:"task_inputs"`
	FlowRunRunCount int                    `json:"flow_run_run_count"`
}

type taskPolicyWire struct {
	policyWire
	RetryJitter *float64 `json:"retry_jitter_factor"`
}

type inputWire struct {
	Type string     `json:"input_type"`
	ID   *uuid.UUID `json:"id,omitempty"`
}

func (s *Server) flowRunFields(r *prefect.FlowRun) flowRunWire {
	run := s.runFields(r.ID, r.State, r.Created, r.StartTime, r.EndTime)
	run.Name, run.Tags, run.RunCount, run.Expected = r.Name, list(r.Tags), r.RunCount, s.moment(deref(r.ExpectedStartTime))
	if s.version != V2_20 {
		run.Labels = map[string]string{"prefect.flow.id": r.FlowID.String()}
	}
	if run.State != nil {
		run.State.Details.FlowRunID, run.State.Details.TaskRunID = &r.ID, r.ParentTaskRunID
	}
	return flowRunWire{
		runWire: run, FlowID: r.FlowID, DeploymentID: r.DeploymentID, DeploymentVersion: r.DeploymentVersion,
		WorkQueueName: r.WorkQueueName, FlowVersion: "2d70a7910ab4651c3c9c59c5b96544b6", Parameters: object(r.Parameters),
		Policy: flowPolicyWire{PauseKeys: []string{}}, ParentTaskRunID: r.ParentTaskRunID, CreatedBy: r.CreatedBy,
		WorkPoolName: r.WorkPoolName, JobVariables: object(r.JobVariables),
	}
}

func (s *Server) taskRunFields(r *prefect.TaskRun) taskRunWire {
	run := s.runFields(r.ID, r.State, r.Created, r.StartTime, r.EndTime)
	run.Name, run.Tags, run.RunCount, run.Expected = r.Name, list(r.Tags), r.RunCount, s.moment(deref(r.ExpectedStartTime))
	if s.version != V2_20 {
		run.Labels = map[string]string{}
	}
	if run.State != nil {
		run.State.Details.FlowRunID, run.State.Details.TaskRunID = r.FlowRunID, &r.ID
	}
	inputs := make(map[string][]inputWire, len(r.TaskInputs))
	for name, several := range r.TaskInputs {
		inputs[name] = []inputWire{}
		for _, input := range several {
			inputs[name] = append(inputs[name], inputWire(input))
		}
	}
	return taskRunWire{
		runWire: run, FlowRunID: r.FlowRunID, TaskKey: r.TaskKey, DynamicKey: r.DynamicKey, TaskInputs: inputs, FlowRunRunCount: 1,
	}
}

// runFields begins a run with what follows from its state and times.
func (s *Server) runFields(id uuid.UUID, state *prefect.State, created time.Time, start, end *time.Time) runWire {
	run := runWire{ID: id, Created: s.moment(created), Updated: s.moment(created), Start: s.moment(deref(start)), End: s.moment(deref(end))}
	if start != nil && end != nil {
		run.TotalRunTime = end.Sub(*start).Seconds()
		run.EstimatedRunTime = run.TotalRunTime
	}
	if state == nil {
		return run
	}
	stateID := ID(fmt.Sprint("state ", id, state.Type, state.Name, state.Timestamp.UnixNano()))
	run.Updated = s.moment(state.Timestamp)
	run.StateID, run.StateType, run.StateName = &stateID, &state.Type, &state.Name
	run.State = &stateWire{
		ID: stateID, Type: state.Type, Name: state.Name, Timestamp: run.Updated, Message: state.Message,
		Details: detailsWire{ChildFlowRunID: state.Details.ChildFlowRunID, TransitionID: stateID},
	}
	if s.version != V2_20 {
		run.State.Details.Deferred, run.State.Details.Traceparent = null, null
	}
	if s.version == V3_9 {
		run.State.Details.Lease = null
	}
	return run
}

type artifactWire struct {
	ID          uuid.UUID  `json:"id"`
	Created     moment     `json:"created"`
	Updated     moment     `json:"updated"`
	Key         *string    `json:"key"`
	Type        *string    `json:"type"`
	Description *string    `json:"description"`
	Data        jsonRaw    `json:"data"`
	Metadata    *string    `json:"metadata_"`
	FlowRunID   *uuid.UUID `json:"flow_run_id"`
	TaskRunID   *uuid.UUID `json:"task_run_id"`
}

func (s *Server) artifactFields(a *prefect.Artifact) artifactWire {
	data := a.Data
	if data == nil {
		data = jsonRaw(`"[]"`)
	}
	made := s.moment(a.Created)
	return artifactWire{
		ID: a.ID, Created: made, Updated: made, Key: a.Key, Type: a.Type, Description: a.Description, Data: data,
		FlowRunID: a.FlowRunID, TaskRunID: a.TaskRunID,
	}
}

// list and object write what is missing as empty, as servers do.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}

func object(fields map[string]jsonRaw) map[string]jsonRaw {
	if fields == nil {
		return map[string]jsonRaw{}
	}
	return fields
}
