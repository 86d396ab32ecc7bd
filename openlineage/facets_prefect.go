package openlineage

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// PrefectRunFacet holds what Prefect knows of a run. Its schema is facets/PrefectRunFacet.json. The fields up to URL
// are fixed when a run starts; the others are known at its end.
type PrefectRunFacet struct {
	Kind           string    `json:"kind"` // flow-run or task-run
	FlowRunID      uuid.UUID `json:"flowRunId,omitzero"`
	TaskRunID      uuid.UUID `json:"taskRunId,omitzero"`
	FlowID         uuid.UUID `json:"flowId,omitzero"`
	FlowName       string    `json:"flowName,omitempty"`
	DeploymentID   uuid.UUID `json:"deploymentId,omitzero"`
	DeploymentName string    `json:"deploymentName,omitempty"`
	TaskKey        string    `json:"taskKey,omitempty"`
	// EnclosingTaskRunID is the task run inside which this task was called. The parent facet names its flow run.
	EnclosingTaskRunID uuid.UUID `json:"enclosingTaskRunId,omitzero"`
	// ParentTaskRunID is the placeholder that stands for a subflow in its parent flow run.
	ParentTaskRunID uuid.UUID `json:"parentTaskRunId,omitzero"`
	// Trigger is what started the flow run. Nil: nothing that Prefect names beside schedules and people.
	Trigger *PrefectTrigger `json:"trigger,omitempty"`
	URL     string          `json:"url,omitempty"` // the run's page

	RunName   string `json:"runName,omitempty"`
	StateName string `json:"stateName,omitempty"`
	StateType string `json:"stateType,omitempty"`
	RunCount  *int   `json:"runCount,omitempty"`
	WorkPool  string `json:"workPool,omitempty"`
	WorkQueue string `json:"workQueue,omitempty"`
	Cached    *bool  `json:"cached,omitempty"`
	// Inferred says that Prefect never told this end: it was concluded from the flow's end or from the run being gone.
	Inferred *bool `json:"inferred,omitempty"`
	// DatasetsRepeated says that the run named no datasets, and that those of its job's last good run stand here.
	DatasetsRepeated bool `json:"datasetsRepeated,omitempty"`
}

// PrefectAssetDatasetFacet holds what Prefect knows of an asset beyond what other facets say. Its schema is
// facets/PrefectAssetDatasetFacet.json.
type PrefectAssetDatasetFacet struct {
	AssetKey       string          `json:"assetKey"` // without credentials
	AssetName      string          `json:"assetName,omitempty"`
	URL            string          `json:"url,omitempty"`            // the asset's page
	MaterializedBy string          `json:"materializedBy,omitempty"` // a tool, such as dbt
	Metadata       json.RawMessage `json:"metadata,omitempty"`       // what the task added, secrets masked
}

// PrefectTrigger is what started a flow run.
type PrefectTrigger struct {
	Type string    `json:"type"` // automation
	ID   uuid.UUID `json:"id,omitzero"`
	Name string    `json:"name,omitempty"`
}

// PrefectDeploymentRunFacet names the deployment that a run came from. Its schema is
// facets/PrefectDeploymentRunFacet.json.
type PrefectDeploymentRunFacet struct {
	ID      uuid.UUID
	Name    string
	Version string    // empty: left out
	Created time.Time // zero: left out
}

// MarshalJSON writes the time in the one form.
func (f PrefectDeploymentRunFacet) MarshalJSON() ([]byte, error) { return marshalForm(f) }

type prefectDeployment struct {
	ID      uuid.UUID `json:"id"`
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Created string    `json:"created,omitempty"`
}

func (f PrefectDeploymentRunFacet) form() (any, error) {
	form := prefectDeployment{ID: f.ID, Name: f.Name, Version: f.Version}
	var err error
	if !f.Created.IsZero() {
		form.Created, err = formatTime(f.Created)
	}
	return form, err
}

// Key implements Facet.
func (PrefectRunFacet) Key() string { return "prefect_run" }

// Key implements Facet.
func (PrefectAssetDatasetFacet) Key() string { return "prefect_asset" }

// Key implements Facet.
func (PrefectDeploymentRunFacet) Key() string { return "prefect_deployment" }

// SchemaURL implements Facet.
func (PrefectRunFacet) SchemaURL(producer string) string {
	return ownSchema(producer, "PrefectRunFacet")
}

// SchemaURL implements Facet.
func (PrefectDeploymentRunFacet) SchemaURL(producer string) string {
	return ownSchema(producer, "PrefectDeploymentRunFacet")
}

// SchemaURL implements Facet.
func (PrefectAssetDatasetFacet) SchemaURL(producer string) string {
	return ownSchema(producer, "PrefectAssetDatasetFacet")
}

func ownSchema(producer, name string) string {
	return producer + "/openlineage/facets/" + name + ".json#/$defs/" + name
}
