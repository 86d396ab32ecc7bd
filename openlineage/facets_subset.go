package openlineage

import "encoding/json"

// InputSubsetInputDatasetFacet says of which places under a dataset's name a run read.
type InputSubsetInputDatasetFacet struct{ Locations []string }

// OutputSubsetOutputDatasetFacet says to which places under a dataset's name a run wrote.
type OutputSubsetOutputDatasetFacet struct{ Locations []string }

// Key implements Facet.
func (InputSubsetInputDatasetFacet) Key() string { return "subset" }

// Key implements Facet.
func (OutputSubsetOutputDatasetFacet) Key() string { return "subset" }

// SchemaURL implements Facet.
func (InputSubsetInputDatasetFacet) SchemaURL(string) string {
	return specDef("1-0-0", "BaseSubsetDatasetFacet", "InputSubsetInputDatasetFacet")
}

// SchemaURL implements Facet.
func (OutputSubsetOutputDatasetFacet) SchemaURL(string) string {
	return specDef("1-0-0", "BaseSubsetDatasetFacet", "OutputSubsetOutputDatasetFacet")
}

// locations is a condition of the spec's kind location.
type locations struct {
	Type      string   `json:"type"`
	Locations []string `json:"locations"`
}

// MarshalJSON writes the places as a condition.
func (f InputSubsetInputDatasetFacet) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"inputCondition": locations{"location", f.Locations}})
}

// MarshalJSON writes the places as a condition.
func (f OutputSubsetOutputDatasetFacet) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"outputCondition": locations{"location", f.Locations}})
}
