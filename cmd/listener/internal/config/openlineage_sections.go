package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// sectionNames are the keys of openlineage.yml.
var sectionNames = []string{"transport", "facets", "filters", "tags", "dataset"}

// The keys of what stands beside the transport.
var (
	facetKeys    = []string{"environment_variables", "source_code_location"}
	locationKeys = []string{"disabled", "repo_url", "version", "tag", "branch", "pull_request_number"}
	filterKeys   = []string{"type", "match", "regex"}
	tagKeys      = []string{"run", "job"}
	datasetKeys  = []string{"reducing_enabled", "disabled_trimmers", "extra_trimmers"}
)

// SectionKeys returns the paths of all keys that stand beside the transport in openlineage.yml, for documentation.
func SectionKeys() []string {
	var paths []string
	for _, section := range []struct {
		path string
		keys []string
	}{
		{"filters", filterKeys}, {"tags", tagKeys}, {"facets", facetKeys[:1]}, {"facets.source_code_location", locationKeys},
		{"dataset", datasetKeys},
	} {
		for _, key := range section.keys {
			paths = append(paths, section.path+"."+key)
		}
	}
	return paths
}

// sections reads what stands beside the transport. Null and what is empty say nothing.
func (l *loader) sections(root *node) {
	for _, name := range root.keys {
		section := root.fields[name]
		if !slices.Contains(sectionNames, name) {
			l.warn(section.origin.Where(), "is no setting of OpenLineage and does not count%s", didYouMean(name, sectionNames))
			continue
		}
		if section.falsy() {
			continue
		}
		switch name {
		case "facets":
			l.facets(section)
		case "filters":
			l.filters(section)
		case "tags":
			l.tags(section)
		case "dataset":
			l.dataset(section)
		}
	}
}

// noteSections lists the values of what stands beside the transport for show.
func (l *loader) noteSections(root *node) {
	for _, name := range root.keys {
		if name != "transport" && slices.Contains(sectionNames, name) {
			root.fields[name].walk(name, func(path string, leaf *node) {
				value := shown(scalarText(leaf))
				if leaf.digits != "" {
					value = leaf.digits // as it counts here
				}
				if hiddenPath(path) {
					value = Redacted
				}
				l.note(path, value, leaf.origin)
			})
		}
	}
}

// isMap says whether a section is a map, and says so where it is none.
func (l *loader) isMap(section *node) bool {
	if section.kind != mapping {
		l.problem(section.origin.Where(), "", errors.New("takes keys with values"))
		return false
	}
	return true
}

// onlyKeys refuses keys that a map may not hold, as the Python client does.
func (l *loader) onlyKeys(section *node, keys []string) bool {
	if !l.isMap(section) {
		return false
	}
	all := true
	for _, key := range section.keys {
		if !slices.Contains(keys, key) {
			l.problem(section.fields[key].origin.Where(), "",
				fmt.Errorf("is no such key here: takes %s%s", strings.Join(keys, ", "), didYouMean(key, keys)))
			all = false
		}
	}
	return all
}

func didYouMean(key string, known []string) string {
	if near := settings.Nearest(key, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// textOf is a scalar's text, a number as it is written; false: there is none.
func textOf(n *node) (string, bool) {
	switch {
	case n == nil || n.kind != scalar || n.value == nil:
		return "", false
	case n.digits != "":
		return n.digits, true
	default:
		return scalarText(n), true
	}
}

// texts reads a list of texts. One text alone is a list of what separator separates; empty: of itself.
func (l *loader) texts(from *node, separator, what string) []string {
	if from.falsy() {
		return nil
	}
	items := from.items
	if text, ok := textOf(from); ok {
		parts := []string{text}
		if separator != "" {
			parts = strings.Split(text, separator)
		}
		for _, part := range parts {
			items = append(items, newScalar(strings.TrimSpace(part), from.origin))
		}
	}
	var found []string
	for _, item := range items {
		text, ok := textOf(item)
		switch {
		case !ok:
			l.problem(item.origin.Where(), "", errors.New("takes "+what))
		case text != "":
			found = append(found, text)
		}
	}
	if from.kind == mapping {
		l.problem(from.origin.Where(), "", errors.New("takes a list, each "+what))
	}
	return found
}

// yes reads a switch.
func (l *loader) yes(from *node, unset bool) bool {
	text, ok := textOf(from)
	if !ok {
		if from != nil && from.kind != scalar {
			l.problem(from.origin.Where(), "", errors.New("takes true or false"))
		}
		return unset
	}
	on, err := boolean(text)
	if err != nil {
		l.problem(from.origin.Where(), text, err)
		return unset
	}
	return on
}
