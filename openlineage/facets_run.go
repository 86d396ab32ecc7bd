package openlineage

import (
	"time"

	"github.com/google/uuid"
)

// RunIdentifier names a run inside a facet.
type RunIdentifier struct {
	ID uuid.UUID `json:"runId"`
}

// JobIdentifier names a job inside a facet.
type JobIdentifier struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// ParentRunFacet names the run that started this one, and the run at the top of the tree.
type ParentRunFacet struct {
	Run  RunIdentifier `json:"run"`
	Job  JobIdentifier `json:"job"`
	Root *RootRun      `json:"root,omitempty"`
}

// RootRun is the run at the top of a tree of runs.
type RootRun struct {
	Run RunIdentifier `json:"run"`
	Job JobIdentifier `json:"job"`
}

// NominalTimeRunFacet says for when the run was scheduled.
type NominalTimeRunFacet struct {
	Start time.Time
	End   time.Time // zero: left out
}

// MarshalJSON writes the times in the one form.
func (f NominalTimeRunFacet) MarshalJSON() ([]byte, error) { return marshalForm(f) }

type nominalTime struct {
	Start string `json:"nominalStartTime"`
	End   string `json:"nominalEndTime,omitempty"`
}

func (f NominalTimeRunFacet) form() (any, error) {
	var form nominalTime
	var err error
	if form.Start, err = formatTime(f.Start); err != nil {
		return nil, err
	}
	if !f.End.IsZero() {
		form.End, err = formatTime(f.End)
	}
	return form, err
}

// ProcessingEngineRunFacet names what runs the job, and what tells of it.
type ProcessingEngineRunFacet struct {
	Version        string `json:"version"`
	Name           string `json:"name,omitempty"`
	AdapterVersion string `json:"openlineageAdapterVersion,omitempty"`
}

// JobDependenciesRunFacet says which runs this one waited for: control flow, not data lineage.
type JobDependenciesRunFacet struct {
	Upstream    []JobDependency `json:"upstream,omitempty"`
	Downstream  []JobDependency `json:"downstream,omitempty"`
	TriggerRule string          `json:"trigger_rule,omitempty"`
}

// JobDependency is one job, and if known its run, that this run depends on or that depends on it.
type JobDependency struct {
	Job                 JobIdentifier  `json:"job"`
	Run                 *RunIdentifier `json:"run,omitempty"`
	DependencyType      string         `json:"dependency_type,omitempty"`
	SequenceTriggerRule string         `json:"sequence_trigger_rule,omitempty"`
	StatusTriggerRule   string         `json:"status_trigger_rule,omitempty"`
}

// ErrorMessageRunFacet says why a run failed.
type ErrorMessageRunFacet struct {
	Message             string `json:"message"`
	ProgrammingLanguage string `json:"programmingLanguage"`
	StackTrace          string `json:"stackTrace,omitempty"`
}

// Tag is a key and a value that people gave to a run, a job or a dataset.
type Tag struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source,omitempty"` // such as USER
}

// TagsRunFacet holds a run's tags.
type TagsRunFacet struct {
	Tags []Tag `json:"tags"`
}

// ExecutionParametersRunFacet holds the parameters that the run was started with.
type ExecutionParametersRunFacet struct {
	Parameters []ExecutionParameter `json:"parameters"`
}

// ExecutionParameter is one parameter, its value as text.
type ExecutionParameter struct {
	Key         string `json:"key"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Value       string `json:"value"`
}

// EnvironmentVariablesRunFacet holds variables of the environment that were asked for.
type EnvironmentVariablesRunFacet struct {
	Variables []EnvironmentVariable `json:"environmentVariables"`
}

// EnvironmentVariable is one of them.
type EnvironmentVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
