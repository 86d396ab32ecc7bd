package openlineage

// specFacet returns the _schemaURL of one of the spec's facets.
func specFacet(version, name string) string { return specDef(version, name, name) }

// specDef returns the _schemaURL of a definition in a schema file that holds several facets.
func specDef(version, file, def string) string {
	return "https://openlineage.io/spec/facets/" + version + "/" + file + ".json#/$defs/" + def
}

// defaultSchema returns the _schemaURL for a raw facet that names none: that of the spec's facet with this key, else
// the base facet of the entity, which asks for nothing more than _producer and _schemaURL.
func defaultSchema(entity Entity, key string) string {
	if url, ok := specFacets(entity)[key]; ok {
		return url
	}
	return specURL + "#/$defs/" + string(entity) + "Facet"
}

// specFacets returns the current schema of each facet in the spec for one entity, by key.
func specFacets(entity Entity) map[string]string {
	switch entity {
	case RunEntity:
		return map[string]string{
			"parent":               ParentRunFacet{}.SchemaURL(""),
			"nominalTime":          NominalTimeRunFacet{}.SchemaURL(""),
			"processing_engine":    ProcessingEngineRunFacet{}.SchemaURL(""),
			"jobDependencies":      JobDependenciesRunFacet{}.SchemaURL(""),
			"errorMessage":         ErrorMessageRunFacet{}.SchemaURL(""),
			"tags":                 TagsRunFacet{}.SchemaURL(""),
			"executionParameters":  ExecutionParametersRunFacet{}.SchemaURL(""),
			"environmentVariables": EnvironmentVariablesRunFacet{}.SchemaURL(""),
			"externalQuery":        specFacet("1-0-2", "ExternalQueryRunFacet"),
			"extractionError":      specFacet("1-1-2", "ExtractionErrorRunFacet"),
			"test":                 specFacet("1-0-1", "TestRunFacet"),
		}
	case JobEntity:
		return map[string]string{
			"jobType":            JobTypeJobFacet{}.SchemaURL(""),
			"documentation":      DocumentationJobFacet{}.SchemaURL(""),
			"ownership":          OwnershipJobFacet{}.SchemaURL(""),
			"sourceCode":         specFacet("1-0-1", "SourceCodeJobFacet"),
			"sourceCodeLocation": SourceCodeLocationJobFacet{}.SchemaURL(""),
			"sql":                specFacet("1-1-0", "SQLJobFacet"),
			"tags":               TagsJobFacet{}.SchemaURL(""),
			"lineage":            specDef("1-0-0", "LineageFacet", "LineageJobFacet"),
		}
	case DatasetEntity:
		return map[string]string{
			"schema":               SchemaDatasetFacet{}.SchemaURL(""),
			"dataSource":           DatasourceDatasetFacet{}.SchemaURL(""),
			"columnLineage":        ColumnLineageDatasetFacet{}.SchemaURL(""),
			"documentation":        DocumentationDatasetFacet{}.SchemaURL(""),
			"ownership":            OwnershipDatasetFacet{}.SchemaURL(""),
			"symlinks":             SymlinksDatasetFacet{}.SchemaURL(""),
			"version":              DatasetVersionDatasetFacet{}.SchemaURL(""),
			"storage":              specFacet("1-0-1", "StorageDatasetFacet"),
			"lifecycleStateChange": LifecycleStateChangeDatasetFacet{}.SchemaURL(""),
			"catalog":              specFacet("1-1-0", "CatalogDatasetFacet"),
			"datasetType":          specFacet("1-0-1", "DatasetTypeDatasetFacet"),
			"hierarchy":            specFacet("1-0-0", "HierarchyDatasetFacet"),
			"dataQualityMetrics":   specFacet("1-0-0", "DataQualityMetricsDatasetFacet"),
			"tags":                 specFacet("1-0-0", "TagsDatasetFacet"),
			"lineage":              specDef("1-0-0", "LineageFacet", "LineageDatasetFacet"),
		}
	case InputDatasetEntity:
		return map[string]string{
			"dataQualityMetrics":    specFacet("1-0-3", "DataQualityMetricsInputDatasetFacet"),
			"dataQualityAssertions": DataQualityAssertionsDatasetFacet{}.SchemaURL(""),
			"inputStatistics":       InputStatisticsInputDatasetFacet{}.SchemaURL(""),
			"subset":                InputSubsetInputDatasetFacet{}.SchemaURL(""),
		}
	case OutputDatasetEntity:
		return map[string]string{
			"outputStatistics": OutputStatisticsOutputDatasetFacet{}.SchemaURL(""),
			"subset":           OutputSubsetOutputDatasetFacet{}.SchemaURL(""),
		}
	default:
		return nil
	}
}
