package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prefect-openlineage/listener/openlineage"
)

// columns reads a dataset's columns in any of the forms that schemaFields knows.
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

// schemaFields reads a list of names, a list of fields as the schema facet has them, an object of types or of fields by
// name, or the schema facet itself. Fields inside fields have the same forms.
func schemaFields(raw json.RawMessage) ([]openlineage.SchemaField, error) {
	switch jsonKind(raw) {
	case "a list":
		return listedFields(raw)
	case "an object":
		var facet struct {
			Fields json.RawMessage `json:"fields"`
		}
		// A column may be called fields too, but its type is no list.
		if json.Unmarshal(raw, &facet) == nil && jsonKind(facet.Fields) == "a list" {
			return listedFields(facet.Fields)
		}
		return namedFields(raw)
	default:
		return nil, fmt.Errorf("it is %s, not a list of columns", jsonKind(raw))
	}
}

func listedFields(raw json.RawMessage) ([]openlineage.SchemaField, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, errors.New("it is not a list of columns")
	}
	fields := make([]openlineage.SchemaField, len(items))
	for i, item := range items {
		var err error
		switch jsonKind(item) {
		case "a text":
			var name string
			_ = json.Unmarshal(item, &name) // a text can be read
			fields[i], err = checkField(openlineage.SchemaField{Name: name})
		case "an object":
			fields[i], err = readField("", item)
		default:
			err = errors.New("is neither a name nor a field")
		}
		if err != nil {
			return nil, fmt.Errorf("column %d %w", i+1, err)
		}
	}
	return fields, nil
}

// namedFields reads an object of columns by name, in the order in which it is written.
func namedFields(raw json.RawMessage) ([]openlineage.SchemaField, error) {
	var fields []openlineage.SchemaField
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, errors.New("it is not an object of columns")
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, errors.New("it is not an object of columns")
		}
		name, _ := token.(string)
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return nil, errors.New("it is not an object of columns")
		}
		field, err := readField(name, item)
		if err != nil {
			return nil, fmt.Errorf("column %d %w", len(fields)+1, err)
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// readField reads a field: an object with name, type, description and fields, or its type alone.
func readField(name string, raw json.RawMessage) (openlineage.SchemaField, error) {
	if jsonKind(raw) != "an object" {
		if jsonKind(raw) == "null" {
			return checkField(openlineage.SchemaField{Name: name})
		}
		kind, ok := plainValue(raw)
		if !ok {
			return openlineage.SchemaField{}, errors.New("is neither a type nor a field")
		}
		return checkField(openlineage.SchemaField{Name: name, Type: kind})
	}
	var cells struct {
		Name, Type, Description string
		Position                *int            `json:"ordinal_position"`
		Fields                  json.RawMessage `json:"fields"`
	}
	if json.Unmarshal(raw, &cells) != nil {
		return openlineage.SchemaField{}, errors.New("has a name, type, description or position of another kind than the schema facet")
	}
	field := openlineage.SchemaField{
		Name: name, Type: cells.Type, Description: cells.Description, OrdinalPosition: cells.Position,
	}
	if cells.Name != "" {
		field.Name = cells.Name
	}
	if kind := jsonKind(cells.Fields); kind != "missing" && kind != "null" {
		inner, err := schemaFields(cells.Fields)
		if err != nil {
			return openlineage.SchemaField{}, fmt.Errorf("has fields, of which %w", err)
		}
		field.Fields = inner
	}
	return checkField(field)
}

// checkField refuses a field without a name, for which Marquez refuses the event, and one whose name or type does not
// fit its database.
func checkField(field openlineage.SchemaField) (openlineage.SchemaField, error) {
	field.Name = freeText(strings.TrimSpace(field.Name))
	switch {
	case field.Name == "":
		return field, errors.New("has no name")
	case utf8.RuneCountInString(field.Name) > openlineage.MaxFieldNameChars:
		return field, fmt.Errorf("has a name of more than %d characters", openlineage.MaxFieldNameChars)
	}
	field.Type, field.Description = freeText(field.Type), freeText(field.Description)
	if len(field.Name)+len(field.Type) > openlineage.MaxFieldBytes {
		return field, fmt.Errorf("has a name and a type of more than %d bytes", openlineage.MaxFieldBytes)
	}
	return field, nil
}
