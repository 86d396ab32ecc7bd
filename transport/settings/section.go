// Package settings reads a transport's configuration map: typed values under their aliases, with all problems collected
// and each named by its path, and a warning for every key that nobody asked for.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport"
)

// Section is one map of settings. Keys are found whatever their case and underscores, since variables can only spell
// them in lower case: tokenEndpoint, token_endpoint and tokenendpoint are one key.
type Section struct {
	path   string
	values map[string]any
	known  []string        // the names that were asked for, as documentation spells them
	used   map[string]bool // the keys that were read, as they are written
	report *report
}

// report is shared by a section and all inside it.
type report struct {
	problems []error
	warnings []string
	asked    map[string]bool // the paths of all keys that somebody looked for, as documentation spells them
}

// New returns the section of values that stands at path.
func New(path string, values map[string]any) *Section {
	return &Section{path: path, values: values, used: map[string]bool{}, report: &report{asked: map[string]bool{}}}
}

// Path returns where the section stands; with a key, where that key stands.
func (s *Section) Path(key ...string) string {
	return strings.Join(append([]string{s.path}, key...), ".")
}

// Err returns all problems so far, joined, each a *transport.ConfigError; nil when there are none.
func (s *Section) Err() error { return errors.Join(s.report.problems...) }

// Warnings returns all warnings so far. Each names a path and holds no value.
func (s *Section) Warnings() []string { return s.report.warnings }

// Asked returns the paths of all keys that were looked for so far, in this section and all that share its report,
// sorted: what their readers know. A key that is looked for only beside another one is missing while that one is unset.
func (s *Section) Asked() []string { return slices.Sorted(maps.Keys(s.report.asked)) }

// Refuse notes that a key cannot be used as it is. An empty key means the section itself.
func (s *Section) Refuse(key, problem, hint string) {
	path := s.path
	if key != "" {
		path = s.Path(key)
	}
	s.report.problems = append(s.report.problems, &transport.ConfigError{Path: path, Problem: problem, Hint: hint})
}

// Warn notes something about a key that does not stop the start. An empty key means the section itself.
func (s *Section) Warn(key, text string) {
	path := s.path
	if key != "" {
		path = s.Path(key)
	}
	s.report.warnings = append(s.report.warnings, path+": "+text)
}

// lookup returns a key's value and the name under which it is written. The first of names whose value is set wins; a
// null is unset.
func (s *Section) lookup(names ...string) (string, any, bool) {
	s.known = append(s.known, names[0])
	s.report.asked[s.Path(names[0])] = true
	found, value := "", any(nil)
	for _, name := range names {
		for _, key := range s.spellings(name) {
			s.used[key] = true
			if v := s.values[key]; found == "" && v != nil && v != "" {
				found, value = key, v
			}
		}
	}
	return found, value, found != ""
}

// spellings returns the written keys that mean name: name itself first, then those without underscores, which is the
// Python client's order for apiKey, apikey and api_key.
func (s *Section) spellings(name string) []string {
	var keys []string
	for key := range s.values {
		if fold(key) == fold(name) {
			keys = append(keys, key)
		}
	}
	rank := func(key string) int {
		if key == name {
			return -1
		}
		return strings.Count(key, "_")
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
	return keys
}

func fold(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// Has reports whether a key is written with a value that is not null.
func (s *Section) Has(name string) bool {
	_, _, ok := s.lookup(name)
	return ok
}

// Null reports whether a key is written with null for its value.
func (s *Section) Null(key string) bool {
	value, written := s.values[key]
	return written && value == nil
}

// Value returns a key's value as it is; nil when unset.
func (s *Section) Value(names ...string) any {
	_, value, _ := s.lookup(names...)
	return value
}

// String returns a key's text, trimmed; "" when unset. Numbers are taken as they are written, because a variable that
// looks like a number arrives as one.
func (s *Section) String(names ...string) string {
	key, value, ok := s.lookup(names...)
	if !ok {
		return ""
	}
	text, ok := Text(value)
	if !ok {
		s.Refuse(key, "must be a text, not "+typeName(value), "")
	}
	return strings.TrimSpace(text)
}

// Text returns a scalar as text.
func Text(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int, int64, uint64:
		return fmt.Sprint(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		return "", false
	}
}

// Bool returns a key's switch, or fallback when unset.
func (s *Section) Bool(fallback bool, names ...string) bool {
	key, value, ok := s.lookup(names...)
	if !ok {
		return fallback
	}
	if b, ok := AsBool(value); ok {
		return b
	}
	s.Refuse(key, "must be true or false, not "+typeName(value), "")
	return fallback
}

// AsBool reads true and false, also as a text or as 1 and 0.
func AsBool(value any) (on, ok bool) {
	text, ok := Text(value)
	if !ok {
		return false, false
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes", "on":
		return true, true
	case "false", "0", "no", "off":
		return false, true
	}
	return false, false
}

// Number returns a key's number, or fallback when unset.
func (s *Section) Number(fallback float64, names ...string) float64 {
	key, value, ok := s.lookup(names...)
	if !ok {
		return fallback
	}
	if n, ok := AsNumber(value); ok {
		return n
	}
	s.Refuse(key, "must be a number, not "+typeName(value), "")
	return fallback
}

// AsNumber reads a finite number, also one that is written as a text.
func AsNumber(value any) (float64, bool) {
	text, ok := Text(value)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// MaxSeconds is the longest time that Seconds takes: a day.
const MaxSeconds = 24 * 60 * 60

// Seconds returns a key's time, which is a number of seconds or a text such as 5s; above 0, at most a day.
func (s *Section) Seconds(fallback time.Duration, names ...string) time.Duration {
	key, value, ok := s.lookup(names...)
	if !ok {
		return fallback
	}
	seconds, ok := AsNumber(value)
	if text, isText := value.(string); !ok && isText {
		if d, err := time.ParseDuration(strings.TrimSpace(text)); err == nil {
			seconds, ok = d.Seconds(), true
		}
	}
	if !ok || seconds <= 0 || seconds > MaxSeconds {
		s.Refuse(key, "must be a number of seconds above 0 and at most a day", "")
		return fallback
	}
	return time.Duration(seconds * float64(time.Second))
}

// Map returns the section under a key, empty when unset. A text, number or list there is a problem.
func (s *Section) Map(names ...string) *Section {
	key, value, ok := s.lookup(names...)
	inner := &Section{path: s.Path(names[0]), used: map[string]bool{}, report: s.report}
	if !ok {
		return inner
	}
	inner.path = s.Path(key)
	values, isMap := value.(map[string]any)
	if !isMap {
		s.Refuse(key, "must be a map, not "+typeName(value), "")
		return inner
	}
	inner.values = values
	return inner
}

// At returns the section of values that stands at path and reports to the same place.
func (s *Section) At(path string, values map[string]any) *Section {
	return &Section{path: path, values: values, used: map[string]bool{}, report: s.report}
}

// Empty reports whether nothing is written in the section.
func (s *Section) Empty() bool { return len(s.values) == 0 }

// Keys returns the keys as they are written, sorted, and takes them all as known.
func (s *Section) Keys() []string {
	keys := slices.Sorted(maps.Keys(s.values))
	for _, key := range keys {
		s.used[key] = true
	}
	return keys
}

// Raw returns the value under a key exactly as it is written.
func (s *Section) Raw(key string) any { return s.values[key] }

// Finish warns about each key that nothing has read, naming the known one that is nearest.
func (s *Section) Finish() {
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if s.used[key] {
			continue
		}
		text := "is not known and has no effect"
		if near := Nearest(key, s.known); near != "" {
			text += fmt.Sprintf("; did you mean %s?", near)
		}
		s.Warn(key, text)
	}
}

// typeName names a value's type in words for people, never the value.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case int, int64, uint64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return "this kind of value"
	}
}
