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

	"github.com/prefect-openlineage/listener/openlineage"
)

// described is what a table row says of its dataset beside its name. A cell that can't be used is a fault, which names
// the cell and what is wrong with it; the dataset goes out without that facet.
type described struct {
	facets openlineage.Facets // of the dataset
	input  openlineage.Facets // inputFacets, should it be an input
	output openlineage.Facets // outputFacets, should it be an output
	faults []string
}

// describe reads the further cells of a row. Facets given as raw JSON count before those that other cells make.
func describe(row tableRow) described {
	var d described
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
		d.faults = append(d.faults, fmt.Sprintf("%s: %v", key, err))
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

// columns reads a list of names, a list of fields as the schema facet has them, or an object of types by name.
func (d *described) columns(raw json.RawMessage) error {
	fields, err := schemaFields(raw)
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		d.facets.Add(openlineage.SchemaDatasetFacet{Fields: fields})
	}
	return nil
}

func schemaFields(raw json.RawMessage) ([]openlineage.SchemaField, error) {
	var types map[string]string
	if json.Unmarshal(raw, &types) == nil {
		fields := make([]openlineage.SchemaField, 0, len(types))
		for _, name := range slices.Sorted(maps.Keys(types)) {
			fields = append(fields, openlineage.SchemaField{Name: name, Type: types[name]})
		}
		return named(fields)
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, fmt.Errorf("it is %s, not a list of columns", jsonKind(raw))
	}
	fields := make([]openlineage.SchemaField, len(items))
	for i, item := range items {
		if json.Unmarshal(item, &fields[i].Name) == nil {
			continue
		}
		if err := json.Unmarshal(item, &fields[i]); err != nil {
			return nil, fmt.Errorf("column %d is neither a name nor a field", i+1)
		}
	}
	return named(fields)
}

// named refuses fields without a name, which Marquez refuses.
func named(fields []openlineage.SchemaField) ([]openlineage.SchemaField, error) {
	for i, field := range fields {
		if strings.TrimSpace(field.Name) == "" {
			return nil, fmt.Errorf("column %d has no name", i+1)
		}
		fields[i].Description = freeText(field.Description)
		if _, err := named(field.Fields); err != nil {
			return nil, err
		}
	}
	return fields, nil
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
		d.facets.Add(openlineage.OwnershipDatasetFacet{Owners: []openlineage.Owner{{Name: text}}})
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return fmt.Errorf("it is %s, not a list of owners", jsonKind(raw))
	}
	owners := make([]openlineage.Owner, len(items))
	for i, item := range items {
		if json.Unmarshal(item, &owners[i].Name) != nil && json.Unmarshal(item, &owners[i]) != nil ||
			strings.TrimSpace(owners[i].Name) == "" {
			return fmt.Errorf("owner %d has no name", i+1)
		}
	}
	if len(owners) > 0 {
		d.facets.Add(openlineage.OwnershipDatasetFacet{Owners: owners})
	}
	return nil
}

func (d *described) lifecycle(raw json.RawMessage) error {
	text, err := textCell(raw)
	if err != nil {
		return err
	}
	change := strings.ToUpper(text)
	if !slices.Contains([]string{"ALTER", "CREATE", "DROP", "OVERWRITE", "RENAME", "TRUNCATE"}, change) {
		return errors.New("it takes ALTER, CREATE, DROP, OVERWRITE, RENAME or TRUNCATE")
	}
	d.facets.Add(openlineage.LifecycleStateChangeDatasetFacet{Change: change})
	return nil
}

// assertions reads checks as the dataQualityAssertions facet has them. The spec has them on inputs only.
func (d *described) assertions(raw json.RawMessage) error {
	var assertions []openlineage.Assertion
	if json.Unmarshal(raw, &assertions) != nil {
		return errors.New("it is not a list of assertions")
	}
	for i, a := range assertions {
		if a.Assertion == "" {
			return fmt.Errorf("assertion %d has no name", i+1)
		}
	}
	if len(assertions) > 0 {
		d.input.Add(openlineage.DataQualityAssertionsDatasetFacet{Assertions: assertions})
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

// columnLineage reads the columnLineage facet as the spec has it, or its fields alone.
func (d *described) columnLineage(raw json.RawMessage) error {
	var facet openlineage.ColumnLineageDatasetFacet
	if json.Unmarshal(raw, &facet) != nil || facet.Fields == nil {
		if json.Unmarshal(raw, &facet.Fields) != nil {
			return errors.New("it is not what the columnLineage facet holds")
		}
	}
	for column, lineage := range facet.Fields {
		for i, field := range lineage.InputFields {
			if field.Namespace == "" || field.Name == "" || field.Field == "" {
				return fmt.Errorf("input %d of column %q lacks namespace, name or field", i+1, column)
			}
			lineage.InputFields[i].Namespace = openlineage.MaskURI(field.Namespace)
		}
		if lineage.InputFields == nil {
			return fmt.Errorf("column %q has no inputFields", column)
		}
	}
	d.facets.Add(facet)
	return nil
}

// raw reads facets given as JSON, by key. Those that the spec has for inputs or outputs go there, the others to the
// dataset.
func (d *described) raw(raw json.RawMessage) error {
	masked, err := openlineage.MaskJSON(raw)
	if err != nil {
		return err
	}
	var facets map[string]json.RawMessage
	if json.Unmarshal(masked, &facets) != nil {
		return errors.New("it is not an object of facets")
	}
	for _, key := range slices.Sorted(maps.Keys(facets)) {
		switch key {
		case "inputStatistics", "dataQualityAssertions":
			err = d.input.AddRaw(openlineage.InputDatasetEntity, key, facets[key])
		case "outputStatistics":
			err = d.output.AddRaw(openlineage.OutputDatasetEntity, key, facets[key])
		case "subset":
			err = errors.Join(
				d.input.AddRaw(openlineage.InputDatasetEntity, key, facets[key]),
				d.output.AddRaw(openlineage.OutputDatasetEntity, key, facets[key]))
		default:
			err = d.facets.AddRaw(openlineage.DatasetEntity, key, facets[key])
		}
		d.fault("facets", err)
	}
	return nil
}
