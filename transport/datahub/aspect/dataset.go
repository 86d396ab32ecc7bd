package aspect

import "encoding/json"

// DatasetKey holds the parts of a dataset's URN. To write it makes the dataset known.
type DatasetKey struct {
	Platform string `json:"platform"` // a URN
	Name     string `json:"name"`
	Origin   string `json:"origin"` // the environment, such as PROD
}

// DatasetProperties describe a dataset.
type DatasetProperties struct {
	CustomProperties Properties   `json:"customProperties"`
	ExternalURL      string       `json:"externalUrl,omitempty"`
	Name             string       `json:"name,omitempty"`
	QualifiedName    string       `json:"qualifiedName,omitempty"`
	Description      string       `json:"description,omitempty"`
	URI              string       `json:"uri,omitempty"`
	Created          *TimeStamp   `json:"created,omitempty"`
	LastModified     *TimeStamp   `json:"lastModified,omitempty"`
	Tags             List[string] `json:"tags"` // of old; tags stand in GlobalTags now
}

// The ways in which a dataset comes from another.
const (
	Transformed = "TRANSFORMED"
	Copy        = "COPY"
	View        = "VIEW"
)

// UpstreamLineage names the datasets that one comes from, and of its columns the columns.
type UpstreamLineage struct {
	Upstreams           List[Upstream]       `json:"upstreams"`
	FineGrainedLineages []FineGrainedLineage `json:"fineGrainedLineages,omitzero"`
}

// Upstream is one of them.
type Upstream struct {
	AuditStamp AuditStamp        `json:"auditStamp"`
	Created    *AuditStamp       `json:"created,omitempty"`
	Dataset    string            `json:"dataset"` // a URN
	Type       string            `json:"type"`    // Transformed, Copy or View
	Properties map[string]string `json:"properties,omitempty"`
	Query      string            `json:"query,omitempty"` // the URN of a query
}

// The kinds of ends that a FineGrainedLineage has.
const (
	FieldSet   = "FIELD_SET"
	Field      = "FIELD"
	DatasetEnd = "DATASET"
	NoneEnd    = "NONE"
)

// FineGrainedLineage says which columns a column comes from.
type FineGrainedLineage struct {
	UpstreamType       string   `json:"upstreamType"`                 // FieldSet, DatasetEnd or NoneEnd
	Upstreams          []string `json:"upstreams,omitempty"`          // URNs of schema fields, or of datasets
	DownstreamType     string   `json:"downstreamType"`               // Field or FieldSet
	Downstreams        []string `json:"downstreams,omitempty"`        // URNs of schema fields
	TransformOperation string   `json:"transformOperation,omitempty"` // free text
	ConfidenceScore    float64  `json:"confidenceScore"`              // above 0 up to 1; 0 stands for 1
	Query              string   `json:"query,omitempty"`              // the URN of a query
}

// MarshalJSON writes the default of a score that is not known.
func (l FineGrainedLineage) MarshalJSON() ([]byte, error) {
	type plain FineGrainedLineage
	if l.ConfidenceScore == 0 {
		l.ConfidenceScore = 1
	}
	return json.Marshal(plain(l))
}

// AspectName implements an aspect.
func (DatasetKey) AspectName() string { return "datasetKey" }

// AspectName implements an aspect.
func (DatasetProperties) AspectName() string { return "datasetProperties" }

// AspectName implements an aspect.
func (UpstreamLineage) AspectName() string { return "upstreamLineage" }
