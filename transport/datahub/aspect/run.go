package aspect

import "encoding/json"

// The types of a run.
const (
	BatchScheduled = "BATCH_SCHEDULED"
	BatchAdHoc     = "BATCH_AD_HOC"
	Streaming      = "STREAMING"
)

// DataProcessInstanceProperties describe a run.
type DataProcessInstanceProperties struct {
	CustomProperties Properties `json:"customProperties"`
	ExternalURL      string     `json:"externalUrl,omitempty"`
	Name             string     `json:"name"`
	Type             string     `json:"type,omitempty"` // BatchScheduled, BatchAdHoc or Streaming
	Created          AuditStamp `json:"created"`
}

// DataProcessInstanceRelationships say what a run is a run of, and which runs are above and before it.
type DataProcessInstanceRelationships struct {
	ParentTemplate    string       `json:"parentTemplate,omitempty"` // the URN of a task or a flow
	ParentInstance    string       `json:"parentInstance,omitempty"` // the URN of a run
	UpstreamInstances List[string] `json:"upstreamInstances"`
}

// The states of a run. DataHub has no others.
const (
	Started  = "STARTED"
	Complete = "COMPLETE"
)

// The results of a run.
const (
	Success    = "SUCCESS"
	Failure    = "FAILURE"
	Skipped    = "SKIPPED"
	UpForRetry = "UP_FOR_RETRY"
)

// DataProcessInstanceRunEvent is a change of a run's state. DataHub keeps one for each run and millisecond: a later one
// of the same millisecond takes the place of the one before.
type DataProcessInstanceRunEvent struct {
	TimestampMillis int64         `json:"timestampMillis"` // since 1970
	PartitionSpec   PartitionSpec `json:"partitionSpec"`
	ExternalURL     string        `json:"externalUrl,omitempty"`
	Status          string        `json:"status"`            // Started or Complete
	Attempt         int           `json:"attempt,omitempty"` // from 1; 0: not known
	Result          *RunResult    `json:"result,omitempty"`  // with Complete
	DurationMillis  *int64        `json:"durationMillis,omitempty"`
}

// RunResult is how a run ended.
type RunResult struct {
	Type             string `json:"type"`             // Success, Failure, Skipped or UpForRetry
	NativeResultType string `json:"nativeResultType"` // in the orchestrator's words
}

// PartitionSpec says which part of a thing a time series is about; the zero value is the whole.
type PartitionSpec struct {
	Partition string `json:"partition"`
	Type      string `json:"type"`
}

// MarshalJSON writes the whole for what is unset.
func (s PartitionSpec) MarshalJSON() ([]byte, error) {
	type plain PartitionSpec
	if s == (PartitionSpec{}) {
		s = PartitionSpec{Partition: "FULL_TABLE_SNAPSHOT", Type: "FULL_TABLE"}
	}
	return json.Marshal(plain(s))
}

// DataProcessInstanceInput names what a run read.
type DataProcessInstanceInput struct {
	Inputs     List[string] `json:"inputs"`
	InputEdges []Edge       `json:"inputEdges,omitzero"`
}

// DataProcessInstanceOutput names what a run wrote.
type DataProcessInstanceOutput struct {
	Outputs     List[string] `json:"outputs"`
	OutputEdges []Edge       `json:"outputEdges,omitzero"`
}

// AspectName implements an aspect.
func (DataProcessInstanceProperties) AspectName() string { return "dataProcessInstanceProperties" }

// AspectName implements an aspect.
func (DataProcessInstanceRelationships) AspectName() string {
	return "dataProcessInstanceRelationships"
}

// AspectName implements an aspect.
func (DataProcessInstanceRunEvent) AspectName() string { return "dataProcessInstanceRunEvent" }

// AspectName implements an aspect.
func (DataProcessInstanceInput) AspectName() string { return "dataProcessInstanceInput" }

// AspectName implements an aspect.
func (DataProcessInstanceOutput) AspectName() string { return "dataProcessInstanceOutput" }
