package prefecttest

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// strict reads an operator object such as {"any_": [...]}; one with further operators is not known here.
func strict(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return errNotHere{"the filter value " + string(raw)}
	}
	return nil
}

// ids reads a filter by ids.
func ids(raw json.RawMessage, take func(any []uuid.UUID, null *bool)) (*problem, error) {
	var value struct {
		Any    []string `json:"any_"`
		IsNull *bool    `json:"is_null_"`
	}
	if err := strict(raw, &value); err != nil {
		return nil, err
	}
	var parsed []uuid.UUID
	if value.Any != nil {
		parsed = make([]uuid.UUID, 0, len(value.Any))
	}
	for i, one := range value.Any {
		id, err := uuid.Parse(one)
		if err != nil {
			return &problem{loc: []any{"any_", i}, kind: "uuid_parsing", old: "type_error.uuid", msg: "Input should be a valid UUID"}, nil
		}
		parsed = append(parsed, id)
	}
	take(parsed, value.IsNull)
	return nil, nil
}

// texts reads a filter by a text.
func texts(f *filter, raw json.RawMessage, of func(*row) string) (*problem, error) {
	var value struct {
		Any []string `json:"any_"`
	}
	if err := strict(raw, &value); err != nil {
		return nil, err
	}
	if value.Any != nil {
		f.tests = append(f.tests, func(r *row) bool { return slices.Contains(value.Any, of(r)) })
	}
	return nil, nil
}

var stateTypes = []string{
	"SCHEDULED", "PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "CRASHED", "PAUSED", "CANCELLING",
}

// states reads a filter by state types.
func states(f *filter, raw json.RawMessage) (*problem, error) {
	var value struct {
		Type *struct {
			Any []string `json:"any_"`
		} `json:"type"`
	}
	if err := strict(raw, &value); err != nil {
		return nil, err
	}
	if value.Type == nil || value.Type.Any == nil {
		return nil, nil
	}
	for i, one := range value.Type.Any {
		if !slices.Contains(stateTypes, one) {
			return &problem{loc: []any{"type", "any_", i}, kind: "enum", old: "type_error.enum", msg: "Input should be a state type"}, nil
		}
	}
	f.tests = append(f.tests, func(r *row) bool { return slices.Contains(value.Type.Any, r.state) })
	return nil, nil
}

// window reads a filter by a time; both ends belong to it.
func window(f *filter, raw json.RawMessage, of func(*row) time.Time, missing func(*row) bool) (*problem, error) {
	var value struct {
		After  *string `json:"after_"`
		Before *string `json:"before_"`
		IsNull *bool   `json:"is_null_"`
	}
	if err := strict(raw, &value); err != nil {
		return nil, err
	}
	for name, end := range map[string]*string{"after_": value.After, "before_": value.Before} {
		if end == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, *end)
		if err != nil {
			return &problem{loc: []any{name}, kind: "datetime_from_date_parsing", old: "value_error.datetime", msg: "Input should be a valid datetime"}, nil
		}
		at = at.Truncate(time.Microsecond) // databases keep no more
		f.tests = append(f.tests, func(r *row) bool {
			value := of(r)
			return !value.IsZero() && (value.Equal(at) || value.After(at) == (name == "after_"))
		})
	}
	if value.IsNull != nil {
		f.tests = append(f.tests, func(r *row) bool { return missing(r) == *value.IsNull })
	}
	return nil, nil
}
