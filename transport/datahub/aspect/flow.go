package aspect

import "encoding/json"

// DataFlowInfo describes a flow.
type DataFlowInfo struct {
	CustomProperties Properties `json:"customProperties"`
	ExternalURL      string     `json:"externalUrl,omitempty"`
	Name             string     `json:"name"`
	Description      string     `json:"description,omitempty"`
	Project          string     `json:"project,omitempty"`
	Created          *TimeStamp `json:"created,omitempty"`
	LastModified     *TimeStamp `json:"lastModified,omitempty"`
	Env              string     `json:"env,omitempty"` // such as PROD
}

// Command is the type that DataHub's integrations give to a task of which no more is known.
const Command JobType = "COMMAND"

// JobType is the type of a task: a free text, in a union that is a text or one of DataHub's own types.
type JobType string

// MarshalJSON writes the member of the union.
func (t JobType) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"string": string(t)})
}

// UnmarshalJSON reads it back.
func (t *JobType) UnmarshalJSON(raw []byte) error {
	var union map[string]string
	if err := json.Unmarshal(raw, &union); err != nil {
		return err
	}
	*t = JobType(union["string"])
	return nil
}

// DataJobInfo describes a task.
type DataJobInfo struct {
	CustomProperties Properties `json:"customProperties"`
	ExternalURL      string     `json:"externalUrl,omitempty"`
	Name             string     `json:"name"`
	Description      string     `json:"description,omitempty"`
	Type             JobType    `json:"type"`
	FlowURN          string     `json:"flowUrn,omitempty"`
	Created          *TimeStamp `json:"created,omitempty"`
	LastModified     *TimeStamp `json:"lastModified,omitempty"`
	Status           string     `json:"status,omitempty"`
	Env              string     `json:"env,omitempty"`
}

// DataJobInputOutput is a task's lineage: what it reads and writes, and the tasks that it waits for. The lists of edges
// are those that DataHub's server can be sent patches of.
type DataJobInputOutput struct {
	InputDatasets       List[string]         `json:"inputDatasets"`
	InputDatasetEdges   []Edge               `json:"inputDatasetEdges,omitzero"`
	OutputDatasets      List[string]         `json:"outputDatasets"`
	OutputDatasetEdges  []Edge               `json:"outputDatasetEdges,omitzero"`
	InputDatajobs       []string             `json:"inputDatajobs,omitzero"`
	InputDatajobEdges   []Edge               `json:"inputDatajobEdges,omitzero"`
	InputDatasetFields  []string             `json:"inputDatasetFields,omitzero"`
	OutputDatasetFields []string             `json:"outputDatasetFields,omitzero"`
	FineGrainedLineages []FineGrainedLineage `json:"fineGrainedLineages,omitzero"`
}

// AspectName implements an aspect.
func (DataFlowInfo) AspectName() string { return "dataFlowInfo" }

// AspectName implements an aspect.
func (DataJobInfo) AspectName() string { return "dataJobInfo" }

// AspectName implements an aspect.
func (DataJobInputOutput) AspectName() string { return "dataJobInputOutput" }
