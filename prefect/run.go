package prefect

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// StateType is the type of a run's state. Only the type decides what a state means; its name is free text.
type StateType string

// The state types that Prefect knows. A server may send others; they are kept as they come.
const (
	Scheduled  StateType = "SCHEDULED"
	Pending    StateType = "PENDING"
	Running    StateType = "RUNNING"
	Completed  StateType = "COMPLETED"
	Failed     StateType = "FAILED"
	Cancelled  StateType = "CANCELLED"
	Crashed    StateType = "CRASHED"
	Paused     StateType = "PAUSED"
	Cancelling StateType = "CANCELLING"
)

// Terminal says whether a run in this state has ended (though a person can bring it back to life).
func (t StateType) Terminal() bool {
	switch t {
	case Completed, Failed, Cancelled, Crashed:
		return true
	default:
		return false
	}
}

// State is one state of a run as the API returns it inside the run.
type State struct {
	Type      StateType    `json:"type"`
	Name      string       `json:"name"`
	Timestamp time.Time    `json:"timestamp"`
	Message   *string      `json:"message"`
	Details   StateDetails `json:"state_details"`
}

// StateDetails is the part of a state's details that lineage needs.
type StateDetails struct {
	ChildFlowRunID *uuid.UUID `json:"child_flow_run_id"`
}

// FlowRun is a row of /flow_runs/filter.
type FlowRun struct {
	ID                uuid.UUID                  `json:"id"`
	Name              string                     `json:"name"`
	FlowID            uuid.UUID                  `json:"flow_id"`
	DeploymentID      *uuid.UUID                 `json:"deployment_id"`
	DeploymentVersion *string                    `json:"deployment_version"`
	ParentTaskRunID   *uuid.UUID                 `json:"parent_task_run_id"`
	State             *State                     `json:"state"` // null for a moment after creation
	RunCount          int                        `json:"run_count"`
	ExpectedStartTime *time.Time                 `json:"expected_start_time"`
	StartTime         *time.Time                 `json:"start_time"`
	EndTime           *time.Time                 `json:"end_time"`
	Created           time.Time                  `json:"created"`
	Tags              []string                   `json:"tags"`
	Parameters        map[string]json.RawMessage `json:"parameters"`
	JobVariables      map[string]json.RawMessage `json:"job_variables"`
	WorkPoolName      *string                    `json:"work_pool_name"`
	WorkQueueName     *string                    `json:"work_queue_name"`
	CreatedBy         *Creator                   `json:"created_by"`
}

// Creator says who or what made a flow run.
type Creator struct {
	ID           *uuid.UUID `json:"id"`
	Type         *string    `json:"type"`
	DisplayValue *string    `json:"display_value"`
}

// TaskRun is a row of /task_runs/filter. A subflow also shows as one: its placeholder in the parent flow run.
type TaskRun struct {
	ID                uuid.UUID              `json:"id"`
	Name              string                 `json:"name"`
	FlowRunID         *uuid.UUID             `json:"flow_run_id"` // null for background and standalone tasks
	TaskKey           string                 `json:"task_key"`
	DynamicKey        string                 `json:"dynamic_key"`
	TaskInputs        map[string][]TaskInput `json:"task_inputs"`
	State             *State                 `json:"state"` // null for a moment after creation
	RunCount          int                    `json:"run_count"`
	ExpectedStartTime *time.Time             `json:"expected_start_time"`
	StartTime         *time.Time             `json:"start_time"`
	EndTime           *time.Time             `json:"end_time"`
	Created           time.Time              `json:"created"`
	Tags              []string               `json:"tags"`
}

// TaskInput names one input of a task run. Type is task_run, flow_run, parameter or constant; ID is set for the
// first two.
type TaskInput struct {
	Type string     `json:"input_type"`
	ID   *uuid.UUID `json:"id"`
}

// ChildFlowRun returns the id of the subflow that this task run stands in for, or false for an ordinary task run.
func (t TaskRun) ChildFlowRun() (uuid.UUID, bool) {
	if t.State == nil || t.State.Details.ChildFlowRunID == nil {
		return uuid.UUID{}, false
	}
	return *t.State.Details.ChildFlowRunID, true
}

// Flow is a row of /flows/filter.
type Flow struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Tags []string  `json:"tags"`
}

// Deployment is a row of /deployments/filter.
type Deployment struct {
	ID           uuid.UUID                  `json:"id"`
	Name         string                     `json:"name"`
	FlowID       uuid.UUID                  `json:"flow_id"`
	Version      *string                    `json:"version"`
	Created      time.Time                  `json:"created"`
	Description  *string                    `json:"description"`
	Tags         []string                   `json:"tags"`
	Entrypoint   *string                    `json:"entrypoint"`
	Path         *string                    `json:"path"`
	PullSteps    []json.RawMessage          `json:"pull_steps"`
	JobVariables map[string]json.RawMessage `json:"job_variables"` // infra_overrides on 2.x
	WorkPoolName *string                    `json:"work_pool_name"`
}

// Artifact is a row of /artifacts/filter. Data is a JSON string that holds JSON for tables made by the Prefect
// client, and any JSON value for artifacts posted by REST.
type Artifact struct {
	ID          uuid.UUID       `json:"id"`
	Key         *string         `json:"key"`
	Type        *string         `json:"type"`
	Description *string         `json:"description"`
	Data        json.RawMessage `json:"data"`
	FlowRunID   *uuid.UUID      `json:"flow_run_id"`
	TaskRunID   *uuid.UUID      `json:"task_run_id"`
	Created     time.Time       `json:"created"`
}
