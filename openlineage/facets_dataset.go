package openlineage

import "encoding/json"

// SchemaDatasetFacet holds a dataset's fields.
type SchemaDatasetFacet struct {
	Fields []SchemaField `json:"fields"`
}

// SchemaField is a column or a nested field.
type SchemaField struct {
	Name            string        `json:"name"`
	Type            string        `json:"type,omitempty"`
	Description     string        `json:"description,omitempty"`
	OrdinalPosition *int          `json:"ordinal_position,omitempty"`
	Fields          []SchemaField `json:"fields,omitempty"`
}

// DocumentationDatasetFacet describes a dataset.
type DocumentationDatasetFacet struct {
	Description string `json:"description"`
	ContentType string `json:"contentType,omitempty"`
}

// OwnershipDatasetFacet holds a dataset's owners.
type OwnershipDatasetFacet struct {
	Owners []Owner `json:"owners"`
}

// ColumnLineageDatasetFacet says which input fields each of the dataset's columns comes from.
type ColumnLineageDatasetFacet struct {
	Fields  map[string]ColumnLineage `json:"fields"` // by column
	Dataset []InputField             `json:"dataset,omitempty"`
}

// ColumnLineage is what one column comes from.
type ColumnLineage struct {
	InputFields               []InputField `json:"inputFields"`
	TransformationDescription string       `json:"transformationDescription,omitempty"`
	TransformationType        string       `json:"transformationType,omitempty"`
}

// InputField is a column of an input dataset.
type InputField struct {
	Namespace       string           `json:"namespace"`
	Name            string           `json:"name"`
	Field           string           `json:"field"`
	Transformations []Transformation `json:"transformations,omitempty"`
}

// Transformation says what was done to an input field.
type Transformation struct {
	Type        string `json:"type"` // DIRECT or INDIRECT
	Subtype     string `json:"subtype,omitempty"`
	Description string `json:"description,omitempty"`
	Masking     *bool  `json:"masking,omitempty"`
}

// DatasetVersionDatasetFacet names the version of a dataset that was read or written.
type DatasetVersionDatasetFacet struct {
	Version string `json:"datasetVersion"`
}

// LifecycleStateChangeDatasetFacet says that a run changed the dataset as a whole.
type LifecycleStateChangeDatasetFacet struct {
	Change   string             `json:"lifecycleStateChange"` // ALTER, CREATE, DROP, OVERWRITE, RENAME or TRUNCATE
	Previous *DatasetIdentifier `json:"previousIdentifier,omitempty"`
}

// DatasetIdentifier names a dataset inside a facet.
type DatasetIdentifier struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// DatasourceDatasetFacet says where a dataset is kept.
type DatasourceDatasetFacet struct {
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"` // must be a URI, without credentials
}

// SymlinksDatasetFacet holds further names of the same dataset.
type SymlinksDatasetFacet struct {
	Identifiers []Symlink `json:"identifiers"`
}

// Symlink is a further name of a dataset.
type Symlink struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Type      string `json:"type"` // such as TABLE
}

// InputStatisticsInputDatasetFacet says how much a run read.
type InputStatisticsInputDatasetFacet struct {
	RowCount  *int64 `json:"rowCount,omitempty"`
	Size      *int64 `json:"size,omitempty"` // bytes
	FileCount *int64 `json:"fileCount,omitempty"`
}

// OutputStatisticsOutputDatasetFacet says how much a run wrote.
type OutputStatisticsOutputDatasetFacet struct {
	RowCount  *int64 `json:"rowCount,omitempty"`
	Size      *int64 `json:"size,omitempty"` // bytes
	FileCount *int64 `json:"fileCount,omitempty"`
}

// DataQualityAssertionsDatasetFacet holds the checks that were made on an input. Despite its name the spec makes it an
// input facet.
type DataQualityAssertionsDatasetFacet struct {
	Assertions []Assertion `json:"assertions"`
}

// Assertion is one check and what came of it.
type Assertion struct {
	Assertion   string                     `json:"assertion"` // such as not_null
	Success     bool                       `json:"success"`
	Column      string                     `json:"column,omitempty"`
	Severity    string                     `json:"severity,omitempty"` // such as error or warn
	Name        string                     `json:"name,omitempty"`
	Description string                     `json:"description,omitempty"`
	Expected    string                     `json:"expected,omitempty"`
	Actual      string                     `json:"actual,omitempty"`
	Content     string                     `json:"content,omitempty"`
	ContentType string                     `json:"contentType,omitempty"`
	Params      map[string]json.RawMessage `json:"params,omitempty"`
}
