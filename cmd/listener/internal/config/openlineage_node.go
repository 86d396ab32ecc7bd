package config

import (
	"maps"
	"slices"
)

// node is one value of the OpenLineage settings with the place that it came from. A map keeps the order of its keys:
// it is the order in which a composite tries its children.
type node struct {
	origin Origin
	kind   kind
	value  any    // a scalar: string, bool, int, float64 or nil
	digits string // a number as it is written; empty: it is none
	keys   []string
	fields map[string]*node // a map's, by key
	items  []*node          // a list's
}

type kind uint8

const (
	scalar kind = iota
	mapping
	list
)

func newScalar(value any, origin Origin) *node { return &node{value: value, origin: origin} }

func newMap(origin Origin) *node {
	return &node{kind: mapping, fields: map[string]*node{}, origin: origin}
}

// put sets a key; one that is there keeps its place.
func (n *node) put(key string, value *node) {
	if _, there := n.fields[key]; !there {
		n.keys = append(n.keys, key)
	}
	n.fields[key] = value
}

// get returns the value of a map's key, nil where there is none.
func (n *node) get(key string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	return n.fields[key]
}

// text returns a map's text value, empty where there is none or where it is none.
func (n *node) text(key string) string {
	if value := n.get(key); value != nil && value.kind == scalar {
		text, _ := value.value.(string)
		return text
	}
	return ""
}

// falsy says what Python's truth test says: that there is nothing in it.
func (n *node) falsy() bool {
	if n == nil {
		return true
	}
	switch n.kind {
	case mapping:
		return len(n.keys) == 0
	case list:
		return len(n.items) == 0
	default:
		switch v := n.value.(type) {
		case nil:
			return true
		case string:
			return v == ""
		case bool:
			return !v
		case int:
			return v == 0
		case float64:
			return v == 0
		default:
			return false
		}
	}
}

// plain is the value as decoded JSON would have it.
func (n *node) plain() any {
	switch n.kind {
	case mapping:
		fields := make(map[string]any, len(n.fields))
		for key, value := range n.fields {
			fields[key] = value.plain()
		}
		return fields
	case list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.plain()
		}
		return items
	default:
		return n.value
	}
}

// overlay lays over over base: maps key by key at every level, anything else replaced whole. lost is told of each
// value of base that does not count.
func overlay(base, over *node, lost func(lost, by *node)) *node {
	if base.kind != mapping || over.kind != mapping {
		lost(base, over)
		return over
	}
	merged := &node{kind: mapping, origin: over.origin, keys: slices.Clone(base.keys), fields: maps.Clone(base.fields)}
	for _, key := range over.keys {
		value := over.fields[key]
		if below := base.fields[key]; below != nil {
			value = overlay(below, value, lost)
		}
		merged.put(key, value)
	}
	return merged
}

// walk visits the scalars and the empty maps and lists below a node, with their paths.
func (n *node) walk(path string, visit func(path string, leaf *node)) {
	switch {
	case n.kind == mapping && len(n.keys) > 0:
		for _, key := range n.keys {
			below := key
			if path != "" {
				below = path + "." + key
			}
			n.fields[key].walk(below, visit)
		}
	case n.kind == list && len(n.items) > 0:
		for i, item := range n.items {
			item.walk(path+"["+number(float64(i))+"]", visit)
		}
	default:
		visit(path, n)
	}
}
