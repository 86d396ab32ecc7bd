package prefect

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// plainString returns a JSON string that means what it shows, as nearly all do. Those with an escape or with bytes beyond
// ASCII, which may be no UTF-8, are left to the library.
func plainString(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	inner := raw[1 : len(raw)-1]
	for _, c := range inner {
		if c < ' ' || c == '"' || c == '\\' || c > '~' {
			return "", false
		}
	}
	return string(inner), true
}

// stamp is a time in any form that a server may send.
type stamp struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (s *stamp) UnmarshalJSON(raw []byte) error {
	if value, ok := plainString(raw); ok {
		at, err := parseTime(value)
		s.Time = at
		return err
	}
	var value *string
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("%.40s is no time", raw)
	}
	if value == nil {
		return nil
	}
	at, err := parseTime(*value)
	s.Time = at
	return err
}

func (s *stamp) pointer() *time.Time {
	if s == nil {
		return nil
	}
	return &s.Time
}

// count is a whole number, written as 1, 1.0 or "1".
type count int

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" {
		return nil
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > math.MaxInt32 {
		return fmt.Errorf("%.40s is no count", raw)
	}
	*c = count(number)
	return nil
}

// text is a string; a number or a truth value is taken as it is written, anything else as its JSON.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	if value, ok := plainString(raw); ok {
		*t = text(value)
		return nil
	}
	var value string
	if json.Unmarshal(raw, &value) != nil {
		value = string(raw)
	}
	*t = text(value)
	return nil
}

func (t *text) pointer() *string { return (*string)(t) }

// texts are the strings of a list; what is no string is left out.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var list items
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return err
	}
	*t = make(texts, 0, len(list))
	for _, item := range list {
		var value *string
		if json.Unmarshal(item, &value) == nil && value != nil {
			*t = append(*t, *value)
		}
	}
	return nil
}

// items are a list's values, nothing where there is no list.
type items []json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (i *items) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		*i = list
	}
	return nil
}

// object is a JSON object's fields, nothing where there is no object.
type object map[string]json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(raw []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil {
		*o = fields
	}
	return nil
}

// inputs are a task run's inputs under one name. Those of a form that nobody knew of are left out.
type inputs []TaskInput

// UnmarshalJSON implements json.Unmarshaler.
func (i *inputs) UnmarshalJSON(raw []byte) error {
	var list items
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*i = inputs{}
	for _, item := range list {
		var one struct {
			Type text  `json:"input_type"`
			ID   *text `json:"id"`
		}
		if json.Unmarshal(item, &one) != nil || one.Type == "" {
			continue
		}
		input := TaskInput{Type: string(one.Type)}
		if one.ID != nil {
			if id, err := uuid.Parse(string(*one.ID)); err == nil {
				input.ID = &id
			}
		}
		*i = append(*i, input)
	}
	return nil
}

// creator says who made a run; what can't be read of it is left out.
type creator Creator

// UnmarshalJSON implements json.Unmarshaler.
func (c *creator) UnmarshalJSON(raw []byte) error {
	var fields struct {
		ID           *text `json:"id"`
		Type         *text `json:"type"`
		DisplayValue *text `json:"display_value"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	c.Type, c.DisplayValue = fields.Type.pointer(), fields.DisplayValue.pointer()
	if fields.ID != nil {
		if id, err := uuid.Parse(string(*fields.ID)); err == nil {
			c.ID = &id
		}
	}
	return nil
}
