package openlineage

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// treeOf returns what encoding/json writes of a value, as decode would read it back. Facets are turned into trees for
// every event, and text that is only read again takes three times as long.
func treeOf(v any) (any, error) {
	tree, ok := tree(reflect.ValueOf(v))
	if ok {
		return tree, nil
	}
	return throughText(v)
}

// throughText is for what only encoding/json knows how to write.
func throughText(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}

// tree is false where a value has a say of its own in how it is written and fails, or is of a rare kind.
func tree(v reflect.Value) (any, bool) {
	if refers := v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; !v.IsValid() || refers && v.IsNil() {
		return nil, true
	}
	switch own := v.Interface().(type) {
	case json.Number:
		return nil, false // encoding/json checks that it is one
	case json.Marshaler:
		t, err := throughText(own)
		return t, err == nil
	case encoding.TextMarshaler:
		text, err := own.MarshalText()
		return jsonText(string(text)), err == nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return tree(v.Elem())
	case reflect.String:
		return jsonText(v.String()), true
	case reflect.Bool:
		return v.Bool(), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.Number(strconv.FormatInt(v.Int(), 10)), true
	case reflect.Slice, reflect.Array:
		return treeOfList(v)
	case reflect.Map:
		return treeOfMap(v)
	case reflect.Struct:
		return treeOfStruct(v)
	default:
		return nil, false
	}
}

// jsonText is a text as encoding/json writes it: each byte that is no UTF-8 becomes U+FFFD.
func jsonText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func treeOfList(v reflect.Value) (any, bool) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil, true
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil, false // bytes are written as base64
	}
	list := make([]any, v.Len())
	for i := range list {
		item, ok := tree(v.Index(i))
		if !ok {
			return nil, false
		}
		list[i] = item
	}
	return list, true
}

func treeOfMap(v reflect.Value) (any, bool) {
	if v.IsNil() {
		return nil, true
	}
	if key := v.Type().Key(); key.Kind() != reflect.String || key.NumMethod() > 0 {
		return nil, false
	}
	object := make(map[string]any, v.Len())
	for name, item := range v.Seq2() {
		t, ok := tree(item)
		if !ok {
			return nil, false
		}
		object[jsonText(name.String())] = t
	}
	return object, true
}

func treeOfStruct(v reflect.Value) (any, bool) {
	object := make(map[string]any, v.NumField())
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case field.Anonymous, strings.Contains(options, "string"):
			return nil, false
		case !field.IsExported(), tag == "-":
			continue
		case name == "":
			name = field.Name
		}
		value := v.Field(i)
		if strings.Contains(options, "omitempty") && isEmpty(value) || strings.Contains(options, "omitzero") && value.IsZero() {
			continue
		}
		member, ok := tree(value)
		if !ok {
			return nil, false
		}
		object[name] = member
	}
	return object, true
}

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return false
	case reflect.Array, reflect.Map, reflect.Slice:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}
