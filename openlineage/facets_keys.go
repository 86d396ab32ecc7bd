package openlineage

// The keys and schema versions of the spec's facets, as they stand in its release 1.54.0.

// Key implements Facet.
func (ParentRunFacet) Key() string { return "parent" }

// Key implements Facet.
func (NominalTimeRunFacet) Key() string { return "nominalTime" }

// Key implements Facet.
func (ProcessingEngineRunFacet) Key() string { return "processing_engine" }

// Key implements Facet.
func (JobDependenciesRunFacet) Key() string { return "jobDependencies" }

// Key implements Facet.
func (ErrorMessageRunFacet) Key() string { return "errorMessage" }

// Key implements Facet.
func (TagsRunFacet) Key() string { return "tags" }

// Key implements Facet.
func (ExecutionParametersRunFacet) Key() string { return "executionParameters" }

// Key implements Facet.
func (EnvironmentVariablesRunFacet) Key() string { return "environmentVariables" }

// Key implements Facet.
func (JobTypeJobFacet) Key() string { return "jobType" }

// Key implements Facet.
func (DocumentationJobFacet) Key() string { return "documentation" }

// Key implements Facet.
func (SourceCodeLocationJobFacet) Key() string { return "sourceCodeLocation" }

// Key implements Facet.
func (TagsJobFacet) Key() string { return "tags" }

// Key implements Facet.
func (OwnershipJobFacet) Key() string { return "ownership" }

// Key implements Facet.
func (SchemaDatasetFacet) Key() string { return "schema" }

// Key implements Facet.
func (DocumentationDatasetFacet) Key() string { return "documentation" }

// Key implements Facet.
func (OwnershipDatasetFacet) Key() string { return "ownership" }

// Key implements Facet.
func (ColumnLineageDatasetFacet) Key() string { return "columnLineage" }

// Key implements Facet.
func (DatasetVersionDatasetFacet) Key() string { return "version" }

// Key implements Facet.
func (LifecycleStateChangeDatasetFacet) Key() string { return "lifecycleStateChange" }

// Key implements Facet.
func (DatasourceDatasetFacet) Key() string { return "dataSource" }

// Key implements Facet.
func (SymlinksDatasetFacet) Key() string { return "symlinks" }

// Key implements Facet.
func (InputStatisticsInputDatasetFacet) Key() string { return "inputStatistics" }

// Key implements Facet.
func (DataQualityAssertionsDatasetFacet) Key() string { return "dataQualityAssertions" }

// Key implements Facet.
func (OutputStatisticsOutputDatasetFacet) Key() string { return "outputStatistics" }

// SchemaURL implements Facet.
func (ParentRunFacet) SchemaURL(string) string { return specFacet("1-2-0", "ParentRunFacet") }

// SchemaURL implements Facet.
func (NominalTimeRunFacet) SchemaURL(string) string { return specFacet("1-0-1", "NominalTimeRunFacet") }

// SchemaURL implements Facet.
func (ProcessingEngineRunFacet) SchemaURL(string) string {
	return specFacet("1-1-1", "ProcessingEngineRunFacet")
}

// SchemaURL implements Facet.
func (JobDependenciesRunFacet) SchemaURL(string) string {
	return specFacet("1-0-1", "JobDependenciesRunFacet")
}

// SchemaURL implements Facet.
func (ErrorMessageRunFacet) SchemaURL(string) string {
	return specFacet("1-0-1", "ErrorMessageRunFacet")
}

// SchemaURL implements Facet.
func (TagsRunFacet) SchemaURL(string) string { return specFacet("1-0-0", "TagsRunFacet") }

// SchemaURL implements Facet.
func (ExecutionParametersRunFacet) SchemaURL(string) string {
	return specFacet("1-0-0", "ExecutionParametersRunFacet")
}

// SchemaURL implements Facet.
func (EnvironmentVariablesRunFacet) SchemaURL(string) string {
	return specFacet("1-0-0", "EnvironmentVariablesRunFacet")
}

// SchemaURL implements Facet.
func (JobTypeJobFacet) SchemaURL(string) string { return specFacet("2-0-4", "JobTypeJobFacet") }

// SchemaURL implements Facet.
func (DocumentationJobFacet) SchemaURL(string) string {
	return specFacet("1-1-0", "DocumentationJobFacet")
}

// SchemaURL implements Facet.
func (SourceCodeLocationJobFacet) SchemaURL(string) string {
	return specFacet("1-1-0", "SourceCodeLocationJobFacet")
}

// SchemaURL implements Facet.
func (TagsJobFacet) SchemaURL(string) string { return specFacet("1-0-0", "TagsJobFacet") }

// SchemaURL implements Facet.
func (OwnershipJobFacet) SchemaURL(string) string { return specFacet("1-0-1", "OwnershipJobFacet") }

// SchemaURL implements Facet.
func (SchemaDatasetFacet) SchemaURL(string) string { return specFacet("1-2-0", "SchemaDatasetFacet") }

// SchemaURL implements Facet.
func (DocumentationDatasetFacet) SchemaURL(string) string {
	return specFacet("1-1-0", "DocumentationDatasetFacet")
}

// SchemaURL implements Facet.
func (OwnershipDatasetFacet) SchemaURL(string) string {
	return specFacet("1-0-1", "OwnershipDatasetFacet")
}

// SchemaURL implements Facet.
func (ColumnLineageDatasetFacet) SchemaURL(string) string {
	return specFacet("1-2-0", "ColumnLineageDatasetFacet")
}

// SchemaURL implements Facet.
func (DatasetVersionDatasetFacet) SchemaURL(string) string {
	return specFacet("1-0-1", "DatasetVersionDatasetFacet")
}

// SchemaURL implements Facet.
func (LifecycleStateChangeDatasetFacet) SchemaURL(string) string {
	return specFacet("1-0-1", "LifecycleStateChangeDatasetFacet")
}

// SchemaURL implements Facet.
func (DatasourceDatasetFacet) SchemaURL(string) string {
	return specFacet("1-0-1", "DatasourceDatasetFacet")
}

// SchemaURL implements Facet.
func (SymlinksDatasetFacet) SchemaURL(string) string {
	return specFacet("1-0-1", "SymlinksDatasetFacet")
}

// SchemaURL implements Facet.
func (InputStatisticsInputDatasetFacet) SchemaURL(string) string {
	return specFacet("1-0-0", "InputStatisticsInputDatasetFacet")
}

// SchemaURL implements Facet.
func (DataQualityAssertionsDatasetFacet) SchemaURL(string) string {
	return specFacet("1-1-0", "DataQualityAssertionsDatasetFacet")
}

// SchemaURL implements Facet.
func (OutputStatisticsOutputDatasetFacet) SchemaURL(string) string {
	return specFacet("1-0-2", "OutputStatisticsOutputDatasetFacet")
}
