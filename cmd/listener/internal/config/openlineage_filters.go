package config

import (
	"errors"
	"fmt"

	"github.com/prefect-openlineage/listener/openlineage"
)

// filters reads which jobs nobody is told about. The Python client passes over a filter that it can't use; here it stops
// the start, since events would go out that were to stay in.
func (l *loader) filters(section *node) {
	if section.kind != list {
		l.problem(section.origin.Where(), "", errors.New("takes a list, such as [{type: exact, match: a job's name}]"))
		return
	}
	for _, item := range section.items {
		if !l.onlyKeys(item, filterKeys) {
			continue
		}
		filter, at, err := oneFilter(item)
		if err != nil {
			value, _ := textOf(at)
			l.problem(at.origin.Where(), value, err)
			continue
		}
		l.cfg.OpenLineage.Filters = append(l.cfg.OpenLineage.Filters, filter)
	}
}

// oneFilter makes a filter, or says what is wrong and where.
func oneFilter(item *node) (filter openlineage.Filter, at *node, err error) {
	kind, _ := textOf(item.get("type"))
	key := map[string]string{"exact": "match", "regex": "regex"}[kind]
	if key == "" {
		if at = item.get("type"); at == nil {
			at = item
		}
		return filter, at, errors.New("takes type: exact with match, or type: regex with regex")
	}
	at = item.get(key)
	text, ok := textOf(at)
	if !ok || text == "" {
		return filter, item, fmt.Errorf("takes %s beside type: %s", key, kind)
	}
	if kind == "exact" {
		return openlineage.ExactFilter(text), at, nil
	}
	filter, err = openlineage.RegexFilter(text)
	if err != nil {
		err = fmt.Errorf("takes a regular expression that can be done here: this one %w", err)
	}
	return filter, at, err
}
