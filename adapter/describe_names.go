package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
)

// The cells below speak of other datasets. Those are given as rows give theirs, by database_uri and table, or by the
// facets' own namespace and name; either way they get the name that they have as datasets.

// lifecycle reads what happened to the dataset as a whole: a word, or an object of the change and the dataset's name
// before it.
func (d *described) lifecycle(raw json.RawMessage) error {
	facet := make(map[string]json.RawMessage)
	if jsonKind(raw) == "an object" {
		var cells map[string]json.RawMessage
		if err := json.Unmarshal(raw, &cells); err != nil {
			return errors.New("it is not an object")
		}
		facet["lifecycleStateChange"] = either(cells, "change", "lifecycleStateChange")
		if previous := either(cells, "previous", "previousIdentifier"); previous != nil {
			facet["previousIdentifier"] = identifier(previous)
		}
		raw = facet["lifecycleStateChange"]
	}
	text, err := textCell(raw)
	change := strings.ToUpper(text)
	if err != nil || !slices.Contains(openlineage.LifecycleStateChanges(), change) {
		return errors.New("it takes ALTER, CREATE, DROP, OVERWRITE, RENAME or TRUNCATE")
	}
	facet["lifecycleStateChange"] = json.RawMessage(`"` + change + `"`)
	return d.add(&d.facets, openlineage.DatasetEntity, "lifecycleStateChange", facet)
}

// symlinks reads further names of the dataset, each with its type, which is TABLE if it has none.
func (d *described) symlinks(raw json.RawMessage) error {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return errors.New("it is not a list of datasets")
	}
	if len(items) == 0 {
		return nil
	}
	for i, item := range items {
		var cells map[string]json.RawMessage
		if json.Unmarshal(identifier(item), &cells) != nil || cells == nil {
			return fmt.Errorf("%d is not a dataset", i+1)
		}
		if kind := jsonKind(cells["type"]); kind == "missing" || kind == "null" {
			cells["type"] = json.RawMessage(`"TABLE"`)
		}
		whole, err := json.Marshal(cells)
		if err != nil {
			return err
		}
		items[i] = whole
	}
	return d.add(&d.facets, openlineage.DatasetEntity, "symlinks", map[string]any{"identifiers": items})
}

// columnLineage reads the columnLineage facet as the spec has it, its fields alone, or an object of lists of inputs by
// column.
func (d *described) columnLineage(raw json.RawMessage) error {
	var facet map[string]json.RawMessage
	if json.Unmarshal(raw, &facet) != nil {
		return fmt.Errorf("it is %s, not an object of columns", jsonKind(raw))
	}
	var columns map[string]json.RawMessage
	if fields, ok := facet["fields"]; ok && jsonKind(fields) == "an object" && !isLineage(fields) {
		if err := json.Unmarshal(fields, &columns); err != nil {
			return errors.New("its fields are no object of columns")
		}
	} else {
		columns, facet = facet, make(map[string]json.RawMessage)
	}
	if len(columns) == 0 {
		return nil
	}
	for name, column := range columns {
		whole, err := lineageOf(column)
		if err != nil {
			return fmt.Errorf("column %q: %w", clip(name, maxName), err)
		}
		columns[name] = whole
	}
	fields, err := json.Marshal(columns)
	if err != nil {
		return err
	}
	facet["fields"] = fields
	if inputs, ok := facet["dataset"]; ok {
		facet["dataset"] = identifiers(inputs)
	}
	return d.add(&d.facets, openlineage.DatasetEntity, "columnLineage", facet)
}

// isLineage says whether an object is what one column comes from, not columns by name.
func isLineage(raw json.RawMessage) bool {
	var column map[string]json.RawMessage
	return json.Unmarshal(raw, &column) == nil && jsonKind(column["inputFields"]) == "a list"
}

// lineageOf reads what one column comes from.
func lineageOf(column json.RawMessage) (json.RawMessage, error) {
	if jsonKind(column) == "a list" {
		return json.Marshal(map[string]json.RawMessage{"inputFields": identifiers(column)})
	}
	var cells map[string]json.RawMessage
	if json.Unmarshal(column, &cells) != nil || cells == nil {
		return nil, fmt.Errorf("it is %s, not a list of inputs", jsonKind(column))
	}
	if inputs, ok := cells["inputFields"]; ok {
		cells["inputFields"] = identifiers(inputs)
	}
	return json.Marshal(cells)
}

// add puts in a facet that was made of a cell.
func (d *described) add(into *openlineage.Facets, entity openlineage.Entity, key string, facet any) error {
	raw, err := json.Marshal(facet)
	if err != nil {
		return err
	}
	return into.AddRaw(entity, key, raw, d.name)
}

// identifiers turns each item of a list into the facets' form; what is no list stays and is refused later.
func identifiers(raw json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return raw
	}
	for i, item := range items {
		items[i] = identifier(item)
	}
	return marshal(items, raw)
}

// identifier turns an object with database_uri and table into one with namespace and name. A table may be missing where
// the URI names the dataset.
func identifier(raw json.RawMessage) json.RawMessage {
	var cells map[string]json.RawMessage
	if json.Unmarshal(raw, &cells) != nil {
		return raw
	}
	uri, ok := cells[uriKey]
	if !ok {
		return raw
	}
	cells = maps.Clone(cells)
	table := cells[tableKey]
	if kind := jsonKind(table); kind == "missing" || kind == "null" {
		table = json.RawMessage(`""`)
	}
	delete(cells, uriKey)
	delete(cells, tableKey)
	cells["namespace"], cells["name"] = uri, table
	return marshal(cells, raw)
}

// marshal writes what was read from JSON a moment ago.
func marshal(v any, otherwise json.RawMessage) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return otherwise
	}
	return raw
}

// either returns the first of two cells that says something.
func either(cells map[string]json.RawMessage, keys ...string) json.RawMessage {
	for _, key := range keys {
		if raw, ok := filled(cells, key); ok {
			return raw
		}
	}
	return nil
}
