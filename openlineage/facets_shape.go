package openlineage

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// shape checks a JSON value that stands at a place, and may put names of datasets right in it. Its error names the
// place: fields[1].name is missing.
type shape func(v any, place string) error

func isText(v any, place string) error {
	if _, ok := v.(string); !ok {
		return errors.New(place + " is no text")
	}
	return nil
}

// isFilled is a text that Marquez can't store empty.
func isFilled(v any, place string) error {
	if text, ok := v.(string); !ok || strings.TrimSpace(text) == "" {
		return errors.New(place + " is empty or no text")
	}
	return nil
}

// upTo is a text, not empty, of no more than so many characters, which Marquez's database has no room for.
func upTo(chars int) shape {
	return func(v any, place string) error {
		if text, ok := v.(string); ok && utf8.RuneCountInString(text) > chars {
			return fmt.Errorf("%s is longer than %d characters", place, chars)
		}
		return isFilled(v, place)
	}
}

func isAddress(v any, place string) error {
	if text, ok := v.(string); !ok || !IsURI(text) {
		return errors.New(place + " is not a URI")
	}
	return nil
}

func isMoment(v any, place string) error {
	text, _ := v.(string)
	var at time.Time
	if err := at.UnmarshalText([]byte(text)); err != nil {
		return errors.New(place + " is not a time such as 2026-11-30T16:00:00Z")
	}
	return nil
}

func isTruth(v any, place string) error {
	if _, ok := v.(bool); !ok {
		return errors.New(place + " is neither true nor false")
	}
	return nil
}

func isNumber(v any, place string) error {
	if _, ok := v.(json.Number); !ok {
		return errors.New(place + " is no number")
	}
	return nil
}

func isWhole(v any, place string) error {
	number, ok := v.(json.Number)
	// The exponent is bounded: 1e999999999 is a whole number that nobody can store.
	if f, err := number.Float64(); !ok || err != nil || f > 1<<63-1024 || f < -1<<63 {
		return errors.New(place + " is no whole number")
	}
	if r, ok := new(big.Rat).SetString(number.String()); !ok || !r.IsInt() {
		return errors.New(place + " is no whole number")
	}
	return nil
}

// oneOf is one of a few words.
func oneOf(words ...string) shape {
	return func(v any, place string) error {
		if text, ok := v.(string); !ok || !slices.Contains(words, text) {
			return fmt.Errorf("%s takes %s", place, strings.Join(words, ", "))
		}
		return nil
	}
}

// listOf is a list of values that have one shape each. Null items are left out when an event is written.
func listOf(item shape) shape {
	return func(v any, place string) error {
		items, ok := v.([]any)
		if !ok {
			return errors.New(place + " is no list")
		}
		for i, v := range items {
			if v == nil {
				continue
			}
			if err := item(v, fmt.Sprintf("%s[%d]", place, i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// mapOf is an object whose names are free and whose values have one shape each.
func mapOf(value shape) shape {
	return func(v any, place string) error {
		object, ok := v.(map[string]any)
		if !ok {
			return errors.New(place + " is no object")
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if object[name] == nil {
				continue
			}
			if err := value(object[name], fmt.Sprintf("%s %q", place, clip(name))); err != nil {
				return err
			}
		}
		return nil
	}
}

// members are the shapes of an object's members, by name; one that begins with ! must be there. Others may be there
// too. Null is as good as nothing.
type members map[string]shape

func (m members) check(v any, place string) error {
	object, ok := v.(map[string]any)
	if !ok {
		return errors.New(place + " is no object")
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		name, required := strings.CutPrefix(key, "!")
		at := strings.TrimPrefix(place+"."+name, ".")
		switch {
		case object[name] == nil && required:
			return errors.New(at + " is missing")
		case object[name] == nil:
		default:
			if err := m[key](object[name], at); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxClip is how much of a name is repeated in an error, in bytes.
const maxClip = 200

// clip cuts a text that stands in an error.
func clip(text string) string {
	if len(text) <= maxClip {
		return text
	}
	return strings.ToValidUTF8(text[:maxClip], "") + "…"
}
