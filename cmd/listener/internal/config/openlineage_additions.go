package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
)

// tags reads the tags that every run and every job gets. Numbers stay as they are written: a tag's value is a text.
func (l *loader) tags(section *node) {
	if !l.isMap(section) {
		return
	}
	for _, key := range section.keys {
		found := section.fields[key]
		switch key {
		case "run":
			l.cfg.OpenLineage.Additions.RunTags = l.tagList(found)
		case "job":
			l.cfg.OpenLineage.Additions.JobTags = l.tagList(found)
		default:
			l.warn(found.origin.Where(), "is no setting of OpenLineage and does not count%s", didYouMean(key, tagKeys))
		}
	}
}

func (l *loader) tagList(found *node) []openlineage.Tag {
	if found.falsy() || !l.isMap(found) {
		return nil
	}
	var tags []openlineage.Tag
	for _, key := range found.keys {
		value, ok := textOf(found.fields[key])
		if !ok || strings.TrimSpace(key) == "" {
			l.problem(found.fields[key].origin.Where(), "", errors.New("takes a tag's value as text, under the tag's key"))
			continue
		}
		tags = append(tags, openlineage.Tag{Key: key, Value: value, Source: "USER"})
	}
	return tags
}

// facets reads which facets are added.
func (l *loader) facets(section *node) {
	if !l.onlyKeys(section, facetKeys) {
		return
	}
	l.environmentFacet(section.get("environment_variables"))
	if location := section.get("source_code_location"); !location.falsy() {
		l.sourceCodeLocation(location)
	}
}

// environmentFacet reads which of the process's variables stand in every event. Their values are masked as those of
// parameters are, since events leave the house.
func (l *loader) environmentFacet(names *node) {
	for _, name := range l.texts(names, "", "a variable's name") {
		known := func(v openlineage.EnvironmentVariable) bool { return v.Name == name }
		value, there := l.set[name]
		switch {
		case slices.ContainsFunc(l.cfg.OpenLineage.Additions.Environment, known):
		case !there:
			l.warn(names.origin.Where(), "names %s, which is not in the listener's environment: it is left out", quote(name))
		default:
			masked := openlineage.MaskText(value)
			if openlineage.SecretKey(name) {
				masked = Redacted
			}
			if masked != value {
				l.warn(names.origin.Where(), "names %s, which looks like a secret: events show %s for it", quote(name), Redacted)
			}
			l.cfg.OpenLineage.Additions.Environment = append(l.cfg.OpenLineage.Additions.Environment,
				openlineage.EnvironmentVariable{Name: name, Value: masked})
		}
	}
}

// trimmers is where the Python client's classes of that kind are.
const trimmers = "openlineage.client.dataset.trimmers."

// dataset reads whether the names of datasets are trimmed.
func (l *loader) dataset(section *node) {
	if !l.onlyKeys(section, datasetKeys) ||
		!l.yes(section.get("reducing_enabled"), false) {
		return
	}
	known := make([]string, 0, len(openlineage.Trimmers()))
	for _, trimmer := range openlineage.Trimmers() {
		known = append(known, trimmers+string(trimmer))
	}
	const class = "the path of a trimmer's class"
	off := l.texts(section.get("disabled_trimmers"), ";", class)
	for _, name := range off {
		if !slices.Contains(known, name) {
			l.warn(section.get("disabled_trimmers").origin.Where(), "names %s, which is no trimmer here%s", quote(name), didYouMean(name, known))
		}
	}
	on := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(off, name) })
	for _, name := range l.texts(section.get("extra_trimmers"), ";", class) {
		if !slices.Contains(known, name) {
			l.problem(section.get("extra_trimmers").origin.Where(), name, fmt.Errorf(
				"names a Python class, which can't be loaded here: there are %s; rename datasets by DATASET_MAP", strings.Join(known, ", ")))
		} else if !slices.Contains(on, name) {
			on = append(on, name)
		}
	}
	reducer := openlineage.Reducer{}
	for _, name := range on {
		reducer.Trimmers = append(reducer.Trimmers, openlineage.Trimmer(strings.TrimPrefix(name, trimmers)))
	}
	l.cfg.OpenLineage.Additions.Reducer = &reducer
}
