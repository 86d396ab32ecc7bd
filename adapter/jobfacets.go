package adapter

import (
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// maxText is the longest free text of a facet, in bytes: descriptions and error messages can be whole files.
const maxText = 64 << 10

// jobFacets says what is known of a job. Prefect keeps no description, code or tags of a task, so a task's job has
// those of its flow.
func jobFacets(s prefect.Snapshot, kind Kind) openlineage.Facets {
	jobType := "FLOW"
	if kind == TaskRun {
		jobType = "TASK"
	}
	facets := openlineage.NewFacets(openlineage.JobTypeJobFacet{
		ProcessingType: "BATCH", Integration: "PREFECT", JobType: jobType,
	})
	if d := s.Deployment; d != nil {
		if d.Description != nil && strings.TrimSpace(*d.Description) != "" {
			facets.Add(openlineage.DocumentationJobFacet{
				Description: freeText(*d.Description), ContentType: "text/markdown",
			})
		}
		if location, ok := sourceCode(*d); ok {
			facets.Add(location)
		}
	}
	names := jobTags(s)
	if tags := tagList(names); len(tags) > 0 {
		facets.Add(openlineage.TagsJobFacet{Tags: tags})
	}
	if owners := owners(names); len(owners) > 0 {
		facets.Add(openlineage.OwnershipJobFacet{Owners: owners})
	}
	return facets
}

// jobTags returns the tags of the deployment, else of the flow.
func jobTags(s prefect.Snapshot) []string {
	if s.Deployment != nil && len(s.Deployment.Tags) > 0 {
		return s.Deployment.Tags
	}
	if s.Flow != nil {
		return s.Flow.Tags
	}
	return nil
}

// tagList returns tags sorted and each once. Prefect's are single words: key:value is split at the first colon, and a
// word alone, or one with nothing before or behind the colon, has the value true. Datadog needs all three fields.
func tagList(names []string) []openlineage.Tag {
	var tags []openlineage.Tag
	for _, name := range names {
		name = strings.TrimSpace(freeText(name))
		if name == "" {
			continue
		}
		key, value, _ := strings.Cut(name, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "" || value == "" {
			key, value = name, "true"
		}
		tags = append(tags, openlineage.Tag{Key: key, Value: value, Source: "USER"})
	}
	slices.SortFunc(tags, func(a, b openlineage.Tag) int {
		if c := strings.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
	return slices.Compact(tags)
}

// owners returns those whom tags of the form owner:x name, sorted and each once.
func owners(names []string) []openlineage.Owner {
	var found []openlineage.Owner
	for _, tag := range tagList(names) {
		if tag.Key == "owner" && tag.Value != "true" {
			found = append(found, openlineage.Owner{Name: tag.Value})
		}
	}
	return found
}

// freeText masks the secrets in a text that people wrote and cuts what is far too long.
func freeText(text string) string { return cutBytes(openlineage.MaskText(text), maxText) }
