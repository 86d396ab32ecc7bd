package openlineage

import (
	"encoding/json"
	"strings"
)

// Additions are what the settings put into every event besides what its run says, as the OpenLineage Python client does
// before it sends one. The zero Additions add nothing.
type Additions struct {
	// RunTags and JobTags stand after the tags that are there, and in place of those of the same key.
	RunTags, JobTags []Tag
	// Environment are variables of the process, secrets masked.
	Environment []EnvironmentVariable
	// Location is where the code is of jobs that say nothing of it; nil: unknown.
	Location *SourceCodeLocationJobFacet
	// Reducer trims the names of datasets; nil: they stay as they are.
	Reducer *Reducer
}

// Job returns a job's facets with what is added to them.
func (a Additions) Job(facets Facets) Facets {
	if tags, ok := withTags(facets, a.JobTags); ok {
		facets.Add(TagsJobFacet{Tags: tags})
	}
	if a.Location != nil && !facets.Has(a.Location.Key()) {
		facets.Add(*a.Location)
	}
	return facets
}

// Run returns a run's facets with what is added to them.
func (a Additions) Run(facets Facets) Facets {
	if tags, ok := withTags(facets, a.RunTags); ok {
		facets.Add(TagsRunFacet{Tags: tags})
	}
	if len(a.Environment) > 0 {
		facets.Add(EnvironmentVariablesRunFacet{Variables: a.Environment})
	}
	return facets
}

// Datasets returns a run's datasets as they are to be told.
func (a Additions) Datasets(inputs, outputs []Dataset) (in, out []Dataset) {
	if a.Reducer == nil {
		return inputs, outputs
	}
	return a.Reducer.Inputs(inputs), a.Reducer.Outputs(outputs)
}

// withTags returns the tags that hold with more added; false: nothing is. Keys are compared without case. A tag that is
// there keeps its key's spelling and loses value and source.
func withTags(facets Facets, more []Tag) ([]Tag, bool) {
	if len(more) == 0 {
		return nil, false
	}
	replaced := map[string]bool{}
	for _, tag := range more {
		replaced[strings.ToLower(tag.Key)] = true
	}
	var tags []Tag
	spelt := map[string]string{}
	for _, tag := range facets.tags() {
		key := strings.ToLower(tag.Key)
		spelt[key] = tag.Key
		if !replaced[key] {
			tags = append(tags, tag)
		}
	}
	for _, tag := range more {
		if there, ok := spelt[strings.ToLower(tag.Key)]; ok {
			tag.Key = there
		}
		tags = append(tags, tag)
	}
	return tags, true
}

// tags are those of a tags facet of a run or a job.
func (f Facets) tags() []Tag {
	e := f.byKey[TagsRunFacet{}.Key()]
	switch facet := e.typed.(type) {
	case TagsRunFacet:
		return facet.Tags
	case TagsJobFacet:
		return facet.Tags
	}
	var facet TagsRunFacet
	raw, err := json.Marshal(e.raw)
	if err != nil || json.Unmarshal(raw, &facet) != nil {
		return nil
	}
	return facet.Tags
}
