package adapter

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/openlineage"
)

// TaskNameType says how a task's job is named.
type TaskNameType string

// The ways to name a task's job. Empty means TaskNameQualified.
const (
	TaskNameQualified TaskNameType = "qualified" // flow's job name, a dot, task name
	TaskNameBase      TaskNameType = "base"      // task name alone, as openlineage-prefect has it
	TaskNameFull      TaskNameType = "full"      // the run's name, which may differ in every run
)

// FlowNameType says how a flow's job is named.
type FlowNameType string

// The ways to name a flow's job. Empty means FlowNameFlow.
const (
	FlowNameFlow    FlowNameType = "flow"     // flow's name
	FlowNameFlowRun FlowNameType = "flow-run" // the run's name, which may differ in every run
	FlowNamePath    FlowNameType = "path"     // a subflow under its parent: parent's job name, a dot, flow's name
)

// RunIDType says where a run's OpenLineage id comes from.
type RunIDType string

// The sources of run ids. Empty means RunIDPrefect.
const (
	RunIDPrefect            RunIDType = "prefect"             // the Prefect run's own id
	RunIDOpenLineagePrefect RunIDType = "openlineage-prefect" // the static UUID that openlineage-prefect makes
)

// DatasetNaming says how datasets are named.
type DatasetNaming string

// The ways to name datasets. Empty means DatasetNamingSpec.
const (
	// DatasetNamingSpec follows the OpenLineage naming table for the systems it knows.
	DatasetNamingSpec DatasetNaming = "spec"
	// DatasetNamingVerbatim takes database_uri and table as given, less secrets.
	DatasetNamingVerbatim DatasetNaming = "verbatim"
)

// DatasetsOnFailure says which datasets a run names that failed or was aborted.
type DatasetsOnFailure string

// The datasets of a failed run. Empty means DatasetsObserved.
const (
	DatasetsObserved DatasetsOnFailure = "observed" // those that were seen
	// DatasetsLast repeats, where none were seen, those of the job's last good run: the job keeps its place in a
	// consumer's graph.
	DatasetsLast DatasetsOnFailure = "last"
)

// FlowDatasets says which datasets a flow run's end names besides those of the flow's body.
type FlowDatasets string

// The further datasets of a flow run. Empty means FlowDatasetsNone.
const (
	FlowDatasetsNone FlowDatasets = "none"
	// FlowDatasetsRollup adds what the tasks read, and did not write earlier in the run, and wrote.
	FlowDatasetsRollup FlowDatasets = "rollup"
)

// Settings say how events are made. They apply to runs that are pinned after they changed.
type Settings struct {
	Producer string // URI that names this program in every event and facet
	Version  string // this program's, for the processing_engine facet
	// Namespace is the process's OPENLINEAGE_NAMESPACE. Empty: default.
	Namespace     string
	TaskNameType  TaskNameType
	FlowNameType  FlowNameType
	RunIDType     RunIDType
	DatasetNaming DatasetNaming
	// DatasetMap renames datasets that were named so.
	DatasetMap        openlineage.NameMap
	DatasetsOnFailure DatasetsOnFailure
	FlowDatasets      FlowDatasets
	// Grace is how long a task may stay RUNNING after its flow has ended, and an open run be gone, before its end is
	// inferred.
	Grace time.Duration
	// Parameters adds the parameters of flow runs, masked: they may hold anything, so only those who ask get them.
	Parameters bool
	// Policy says which runs are told about.
	Policy Policy
	// Filters name the jobs that nobody is told about, whatever else is said of them.
	Filters []openlineage.Filter
	// Additions are what goes into every event.
	Additions openlineage.Additions
	// UIURL is where people see Prefect's pages; it counts before the address that the server names. Empty: that one.
	UIURL string
}

// withDefaults fills what is left empty.
func (s Settings) withDefaults() Settings {
	s.Namespace = strings.TrimSpace(s.Namespace)
	s.UIURL = strings.TrimRight(strings.TrimSpace(s.UIURL), "/")
	if s.Namespace == "" {
		s.Namespace = "default"
	}
	if s.TaskNameType == "" {
		s.TaskNameType = TaskNameQualified
	}
	if s.FlowNameType == "" {
		s.FlowNameType = FlowNameFlow
	}
	if s.RunIDType == "" {
		s.RunIDType = RunIDPrefect
	}
	if s.DatasetNaming == "" {
		s.DatasetNaming = DatasetNamingSpec
	}
	if s.DatasetsOnFailure == "" {
		s.DatasetsOnFailure = DatasetsObserved
	}
	if s.FlowDatasets == "" {
		s.FlowDatasets = FlowDatasetsNone
	}
	return s
}

// check returns everything that is wrong, each problem naming the setting and what it takes.
func (s Settings) check() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if u, err := url.Parse(s.Producer); err != nil || u.Scheme == "" {
		problem("producer must be a URI, not %q", s.Producer)
	}
	if s.Version == "" {
		problem("version must not be empty")
	}
	if err := openlineage.CheckNamespace(s.Namespace); err != nil {
		problem("OPENLINEAGE_NAMESPACE takes up to %d characters without control characters: %w",
			openlineage.MaxNamespaceChars, err)
	}
	switch s.TaskNameType {
	case TaskNameQualified, TaskNameBase, TaskNameFull:
	default:
		problem("TASK_NAME_TYPE takes qualified, base or full, not %q", s.TaskNameType)
	}
	switch s.FlowNameType {
	case FlowNameFlow, FlowNameFlowRun, FlowNamePath:
	default:
		problem("FLOW_NAME_TYPE takes flow, flow-run or path, not %q", s.FlowNameType)
	}
	switch s.RunIDType {
	case RunIDPrefect, RunIDOpenLineagePrefect:
	default:
		problem("RUN_ID_TYPE takes prefect or openlineage-prefect, not %q", s.RunIDType)
	}
	switch s.DatasetNaming {
	case DatasetNamingSpec, DatasetNamingVerbatim:
	default:
		problem("DATASET_NAMING takes spec or verbatim, not %q", s.DatasetNaming)
	}
	switch s.DatasetsOnFailure {
	case DatasetsObserved, DatasetsLast:
	default:
		problem("DATASETS_ON_FAILURE takes observed or last, not %q", s.DatasetsOnFailure)
	}
	switch s.FlowDatasets {
	case FlowDatasetsNone, FlowDatasetsRollup:
	default:
		problem("FLOW_DATASETS takes none or rollup, not %q", s.FlowDatasets)
	}
	if s.Grace < 0 {
		problem("LISTENER_GRACE must not be negative")
	}
	return errors.Join(problems...)
}
