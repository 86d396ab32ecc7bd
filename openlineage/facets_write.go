package openlineage

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
)

// formed is a facet that is written as another value: the fields as they stand in its schema.
type formed interface {
	Facet
	form() (any, error)
}

func marshalForm(f formed) ([]byte, error) {
	form, err := f.form()
	if err != nil {
		return nil, err
	}
	return json.Marshal(form)
}

// append writes the facets as one JSON object in the canonical form.
func (f Facets) append(b []byte, producer string) ([]byte, error) {
	keys := f.Keys()
	for _, key := range keys {
		if !isClean(key) {
			return f.appendTidied(b, producer)
		}
	}
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, key), ':')
		var err error
		if b, err = f.byKey[key].append(b, producer); err != nil {
			return nil, fmt.Errorf("encoding facet %q: %w", key, err)
		}
	}
	return append(b, '}'), nil
}

// appendTidied is for keys that may change their order or become one when they are cleaned.
func (f Facets) appendTidied(b []byte, producer string) ([]byte, error) {
	object := make(map[string]any, len(f.byKey))
	for key, e := range f.byKey {
		facet, err := e.append(nil, producer)
		if err != nil {
			return nil, fmt.Errorf("encoding facet %q: %w", key, err)
		}
		object[key] = canonical(facet)
	}
	return appendCanonical(b, object), nil
}

func (e entry) append(b []byte, producer string) ([]byte, error) {
	if e.typed == nil {
		return appendObject(b, e.filled(producer)), nil
	}
	value := any(e.typed)
	if facet, ok := value.(formed); ok {
		form, err := facet.form()
		if err != nil {
			return nil, err
		}
		value = form
	}
	schema := e.typed.SchemaURL(producer)
	v := reflect.ValueOf(value)
	if s := layoutOf(v.Type()); s.how == asStruct && (len(s.members) == 0 || s.members[0].name > "_schemaURL") {
		facet := appendString(append(b, `{"_producer":`...), producer)
		facet = appendString(append(facet, `,"_schemaURL":`...), schema)
		if facet, became := appendMembers(facet, s, v); became == written {
			return append(facet, '}'), nil
		}
	}
	tree, err := throughText(value)
	if err != nil {
		return nil, err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	object["_producer"], object["_schemaURL"] = producer, schema
	return appendObject(b, object), nil
}

// filled returns a raw facet with what every facet must name.
func (e entry) filled(producer string) map[string]any {
	if hasText(e.raw["_producer"]) && hasText(e.raw["_schemaURL"]) {
		return e.raw
	}
	object := maps.Clone(e.raw)
	fill(object, "_producer", producer)
	fill(object, "_schemaURL", e.schema)
	return object
}

func hasText(v any) bool {
	s, ok := v.(string)
	return ok && s != ""
}

// fill sets a member that is missing or no text.
func fill(object map[string]any, name, value string) {
	if !hasText(object[name]) && value != "" {
		object[name] = value
	}
}
