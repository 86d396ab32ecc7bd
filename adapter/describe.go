package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/prefect-openlineage/listener/openlineage"
)

// maxFault is how much of what is wrong with a cell is said, in bytes: it may repeat names of the cell.
const maxFault = 500

// described is what a table row says of its dataset beside its name. A cell that can't be used is a fault, which names
// the cell and what is wrong with it; the dataset goes out without that facet.
type described struct {
	name    openlineage.Namer  // of the datasets that the facets speak of
	marks   marks              // what the dataset is to the run
	facets  openlineage.Facets // of the dataset
	written openlineage.Facets // further ones of the dataset, should it be an output
	input   openlineage.Facets // inputFacets, should it be an input
	output  openlineage.Facets // outputFacets, should it be an output
	faults  []string
}

// describe reads the further cells of a row. Facets given as raw JSON count before those that other cells make.
func (a *Adapter) describe(row tableRow, marks marks) described {
	d := described{name: a.nameDataset, marks: marks}
	for _, cell := range []struct {
		key  string
		read func(raw json.RawMessage) error
	}{
		{"columns", d.columns},
		{"schema", d.columns},
		{"description", d.description},
		{"owners", d.owners},
		{"version", d.version},
		{"lifecycle", d.lifecycle},
		{"symlinks", d.symlinks},
		{"column_lineage", d.columnLineage},
		{"assertions", d.assertions},
	} {
		if raw, ok := filled(row, cell.key); ok {
			d.fault(cell.key, cell.read(raw))
		}
	}
	d.statistics(row)
	if raw, ok := filled(row, "facets"); ok {
		d.fault("facets", d.raw(raw))
	}
	return d
}

func (d *described) fault(key string, err error) {
	if err != nil {
		d.faults = append(d.faults, fmt.Sprintf("%s: %s", key, clip(err.Error(), maxFault)))
	}
}

// filled returns a cell that says something. JSON inside a text is taken as JSON: tables hold plain values, so authors
// dump a list into a text.
func filled(row tableRow, key string) (json.RawMessage, bool) {
	raw, ok := row[key]
	if !ok || jsonKind(raw) == "null" || jsonKind(raw) == "missing" {
		return nil, false
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil, false
		}
		if (text[0] == '[' || text[0] == '{') && json.Valid([]byte(text)) {
			return json.RawMessage(text), true
		}
	}
	return raw, true
}

func (d *described) description(raw json.RawMessage) error {
	text, err := textCell(raw)
	if err == nil {
		d.facets.Add(openlineage.DocumentationDatasetFacet{Description: freeText(text)})
	}
	return err
}

func (d *described) version(raw json.RawMessage) error {
	text, err := textCell(raw)
	if err == nil {
		d.facets.Add(openlineage.DatasetVersionDatasetFacet{Version: freeText(text)})
	}
	return err
}

// textCell returns a text or a number as text.
func textCell(raw json.RawMessage) (string, error) {
	text, ok := plainValue(raw)
	if !ok {
		return "", fmt.Errorf("it is %s, not a text", jsonKind(raw))
	}
	return text, nil
}

// owners reads a name, or a list of names or of owners as the ownership facet has them.
func (d *described) owners(raw json.RawMessage) error {
	if text, ok := plainValue(raw); ok {
		d.facets.Add(openlineage.OwnershipDatasetFacet{Owners: []openlineage.Owner{{Name: freeText(text)}}})
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return fmt.Errorf("it is %s, not a list of owners", jsonKind(raw))
	}
	owners := make([]openlineage.Owner, len(items))
	for i, item := range items {
		var owner openlineage.Owner
		if json.Unmarshal(item, &owner.Name) != nil && json.Unmarshal(item, &owner) != nil ||
			strings.TrimSpace(owner.Name) == "" {
			return fmt.Errorf("owner %d has no name", i+1)
		}
		owners[i] = openlineage.Owner{Name: freeText(strings.TrimSpace(owner.Name)), Type: freeText(owner.Type)}
	}
	if len(owners) > 0 {
		d.facets.Add(openlineage.OwnershipDatasetFacet{Owners: owners})
	}
	return nil
}

// statistics reads how much was read or written.
func (d *described) statistics(row tableRow) {
	counts := make(map[string]*int64)
	for _, key := range []string{"row_count", "size", "file_count"} {
		raw, ok := filled(row, key)
		if !ok {
			continue
		}
		count, err := countCell(raw)
		if err != nil {
			d.fault(key, err)
			continue
		}
		counts[key] = &count
	}
	if len(counts) == 0 {
		return
	}
	d.input.Add(openlineage.InputStatisticsInputDatasetFacet{
		RowCount: counts["row_count"], Size: counts["size"], FileCount: counts["file_count"],
	})
	d.output.Add(openlineage.OutputStatisticsOutputDatasetFacet{
		RowCount: counts["row_count"], Size: counts["size"], FileCount: counts["file_count"],
	})
}

// countCell reads a whole number that is not negative. Prefect's tables often hold 12.0 where 12 is meant.
func countCell(raw json.RawMessage) (int64, error) {
	text, _ := plainValue(raw)
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number < 0 || number != math.Trunc(number) || number >= 1<<63 {
		return 0, errors.New("it is not a count")
	}
	if count, err := strconv.ParseInt(text, 10, 64); err == nil {
		return count, nil // exact where a float is not
	}
	return int64(number), nil
}

// assertions reads checks as the dataQualityAssertions facet has them. The spec has them on inputs only.
func (d *described) assertions(raw json.RawMessage) error {
	var assertions []map[string]json.RawMessage
	if json.Unmarshal(raw, &assertions) != nil {
		return errors.New("it is not a list of assertions")
	}
	if len(assertions) == 0 {
		return nil
	}
	if !d.marks.input {
		return errors.New("OpenLineage has assertions on inputs only: mark the table as " + inputMarker + " too")
	}
	for _, assertion := range assertions {
		for _, key := range []string{"expected", "actual"} { // texts in the spec, numbers to people
			if text, ok := plainValue(assertion[key]); ok {
				assertion[key], _ = json.Marshal(text) // a text can be written
			}
		}
	}
	facet, err := json.Marshal(map[string]any{"assertions": assertions})
	if err != nil {
		return err
	}
	return d.input.AddRaw(openlineage.InputDatasetEntity, "dataQualityAssertions", facet, d.name)
}

// raw reads facets given as JSON, by key. Those that the spec has for inputs or outputs go there, the others to the
// dataset.
func (d *described) raw(raw json.RawMessage) error {
	var facets map[string]json.RawMessage
	if json.Unmarshal(raw, &facets) != nil {
		return errors.New("it is not an object of facets")
	}
	for _, key := range slices.Sorted(maps.Keys(facets)) {
		if jsonKind(facets[key]) == "null" {
			continue
		}
		if err := d.rawFacet(key, facets[key]); err != nil {
			d.fault("facets", fmt.Errorf("%q: %w", clip(key, maxName), err))
		}
	}
	return nil
}

func (d *described) rawFacet(key string, facet json.RawMessage) error {
	if len(key) > maxName || strings.ContainsFunc(key, unicode.IsControl) {
		return errors.New("its key is too long or holds a control character")
	}
	into, entity := &d.facets, openlineage.DatasetEntity
	switch key {
	case "inputStatistics", "dataQualityAssertions":
		into, entity = &d.input, openlineage.InputDatasetEntity
	case "outputStatistics":
		into, entity = &d.output, openlineage.OutputDatasetEntity
	case "dataQualityMetrics": // an inputFacet and a facet, which are alike
		if d.marks.input {
			if err := d.input.AddRaw(openlineage.InputDatasetEntity, key, facet, d.name); err != nil {
				return err
			}
		}
		into = &d.written
	case "subset":
		return d.subset(facet)
	}
	return into.AddRaw(entity, key, facet, d.name)
}

// subset reads which part of a dataset was read or written: inputs have it as inputCondition, outputs as
// outputCondition, and one facet may hold both.
func (d *described) subset(facet json.RawMessage) error {
	var in, out error
	if d.marks.input {
		in = d.input.AddRaw(openlineage.InputDatasetEntity, "subset", facet, d.name)
	}
	if d.marks.output {
		out = d.output.AddRaw(openlineage.OutputDatasetEntity, "subset", facet, d.name)
	}
	return errors.Join(in, out)
}
