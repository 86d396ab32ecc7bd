package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

// Explain puts an error of the transport factory in the user's own terms: each *transport.ConfigError in it becomes a
// Problem that names the variable, or the file's line, where the value stands or is missing. Without any it is
// returned as it is.
func (o OpenLineage) Explain(err error) error {
	var problems Problems
	for _, wrong := range configErrors(err) {
		takes := wrong.Problem
		if wrong.Hint != "" {
			takes += "; " + wrong.Hint
		}
		problems = append(problems, o.problem(wrong.Path, takes))
	}
	if len(problems) == 0 {
		return err
	}
	return problems
}

// ExplainWarning does the same for a warning that begins with a path and a colon.
func (o OpenLineage) ExplainWarning(text string) Warning {
	path, rest, ok := strings.Cut(text, ": ")
	if !ok || strings.Contains(path, " ") || !strings.HasPrefix(path, "transport") {
		return Warning{Where: "transport", Text: text}
	}
	_, origin, _ := o.find(path)
	return Warning{Where: origin.Where(), Text: rest}
}

// OriginOf says where what stands at a path below transport is from, as Setting.Origin does. False: nothing stands there,
// so that the default counts.
func (o OpenLineage) OriginOf(path string) (string, bool) {
	leaf, origin, _ := o.find(path)
	if leaf == nil || leaf.value == nil && leaf.kind == scalar {
		return "", false
	}
	return origin.String(), true
}

// KeysInOrder returns the keys of the map at a path below transport in the order in which they were written. Those from
// variables are in the order in which the variables were laid down, as in the Python client.
func (o OpenLineage) KeysInOrder(path string) []string {
	found, _, _ := o.find(path)
	if found == nil || found.kind != mapping {
		return nil
	}
	return slices.Clone(found.keys)
}

// configErrors are all of that kind in a tree of joined errors.
func configErrors(err error) []*transport.ConfigError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*transport.ConfigError
		for _, one := range joined.Unwrap() {
			all = append(all, configErrors(one)...)
		}
		return all
	}
	if wrong, ok := errors.AsType[*transport.ConfigError](err); ok {
		return []*transport.ConfigError{wrong}
	}
	return nil
}

func (o OpenLineage) problem(path, takes string) Problem {
	leaf, origin, hidden := o.find(path)
	problem := Problem{Where: origin.Where(), Takes: takes}
	if leaf != nil && leaf.kind == scalar && !hidden {
		if text := scalarText(leaf); !brokenJSON(text) {
			problem.Value = shown(text)
		}
	}
	return problem
}

// find goes down a path as far as the settings go. hidden: the value may not be shown.
func (o OpenLineage) find(path string) (leaf *node, origin Origin, hidden bool) {
	at := o.transport
	// What is missing in a default is missing in the variables.
	origin = Origin{Source: Environment, Name: "OPENLINEAGE__TRANSPORT", prefix: true}
	if at == nil {
		return nil, origin, true
	}
	if at.origin.Source != Default {
		origin = at.origin
	}
	for rest := inTransport(path); rest != ""; {
		key, after, below := step(at, rest)
		hidden = hidden || secretKey(key) || secretMap(key)
		if below == nil {
			return nil, origin.child(strings.NewReplacer("[", ".", "]", "").Replace(rest)), true
		}
		hidden = hidden || (below.kind != mapping && secretText(key))
		at, rest, origin = below, after, below.origin
	}
	return at, origin, hidden
}

// inTransport is a path less its first part, which names the transport itself. A transform has one of that name inside.
func inTransport(path string) string {
	rest, ok := strings.CutPrefix(path, "transport")
	if ok && (rest == "" || rest[0] == '.') {
		return strings.TrimPrefix(rest, ".")
	}
	return path
}

// step takes one part off a path. Keys may hold dots (Kafka's do), so the longest key that fits counts; keys that
// differ in case and underscores alone are the same, since some have several spellings.
func step(at *node, path string) (key, rest string, below *node) {
	if at.kind == list {
		return stepList(at, path)
	}
	for _, name := range at.keys {
		after, ok := cutKey(path, name)
		if ok && len(name) >= len(key) {
			key, rest, below = name, after, at.fields[name]
		}
	}
	return key, rest, below
}

func stepList(at *node, path string) (key, rest string, below *node) {
	part, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), ".")
	part = strings.TrimSuffix(part, "]")
	if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(at.items) {
		return part, rest, at.items[i]
	}
	for _, item := range at.items {
		if item.text("name") == part {
			return part, rest, item
		}
	}
	return part, rest, nil
}

// cutKey takes a key off a path's beginning.
func cutKey(path, name string) (rest string, ok bool) {
	for end := 0; end <= len(path); end++ {
		if end < len(path) && path[end] != '.' && path[end] != '[' {
			continue
		}
		if sameKey(path[:end], name) {
			return strings.TrimPrefix(path[end:], "."), true
		}
	}
	return "", false
}

func sameKey(a, b string) bool {
	if a == b {
		return true
	}
	fold := func(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }
	return fold(a) == fold(b)
}

// noteTransport lists the transport's values for show.
func (l *loader) noteTransport(transport *node) {
	transport.walk("transport", func(path string, leaf *node) {
		text := scalarText(leaf)
		value := shown(text)
		if leaf.kind == scalar && (hiddenPath(path) || brokenJSON(text)) {
			value = Redacted
		}
		l.note(path, value, leaf.origin)
	})
}

// listPlaces are the places in lists, which are as secret as the list.
var listPlaces = regexp.MustCompile(`\[[0-9]+\]`)

// hiddenPath says whether the text at a path is a secret, which it is below a secret's key too. A key may hold dots.
func hiddenPath(path string) bool {
	path = listPlaces.ReplaceAllString(path, "")
	for i, sign := range path {
		if sign == '.' && (secretKey(path[:i]) || secretMap(lastPart(path[:i]))) {
			return true
		}
	}
	return secretText(path)
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// scalarText is a scalar as a person would write it; a map or a list is only said to be one.
func scalarText(n *node) string {
	switch {
	case n.kind == mapping:
		return "{}"
	case n.kind == list:
		return "[]"
	case n.value == nil:
		return "null"
	default:
		return fmt.Sprint(n.value)
	}
}
