package mcp

// DefaultRunID is what a proposal's run ids are when nobody gave one, in every DataHub client.
const DefaultRunID = "no-run-id-provided"

// SystemMetadata says where an aspect comes from. An empty string and a zero number mean that the field is not set.
type SystemMetadata struct {
	// LastObserved is when the source showed this state, in milliseconds since 1970.
	LastObserved int64 `json:"lastObserved,omitempty"`
	// RunID and LastRunID name the run that wrote the aspect; a run can be rolled back by its id.
	RunID           string            `json:"runId,omitempty"`
	LastRunID       string            `json:"lastRunId,omitempty"`
	PipelineName    string            `json:"pipelineName,omitempty"`
	RegistryName    string            `json:"registryName,omitempty"`
	RegistryVersion string            `json:"registryVersion,omitempty"`
	Properties      map[string]string `json:"properties,omitempty"`
	Version         string            `json:"version,omitempty"`
	// SchemaVersion is a pointer since 0 is a version.
	SchemaVersion  *int64      `json:"schemaVersion,omitempty"`
	AspectCreated  *AuditStamp `json:"aspectCreated,omitempty"`
	AspectModified *AuditStamp `json:"aspectModified,omitempty"`
}

// AuditStamp says who did something and when.
type AuditStamp struct {
	// Time is in milliseconds since 1970; 0 stands for an unknown time and is written.
	Time int64 `json:"time"`
	// Actor is a URN such as urn:li:corpuser:datahub.
	Actor        string `json:"actor"`
	Impersonator string `json:"impersonator,omitempty"`
	Message      string `json:"message,omitempty"`
}
