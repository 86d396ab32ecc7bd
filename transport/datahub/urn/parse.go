package urn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const prefix = "urn:li:"

// The types of the URNs that this package knows by their parts.
const (
	DatasetType              = "dataset"
	DataFlowType             = "dataFlow"
	DataJobType              = "dataJob"
	DataProcessInstanceType  = "dataProcessInstance"
	DataPlatformType         = "dataPlatform"
	DataPlatformInstanceType = "dataPlatformInstance"
	SchemaFieldType          = "schemaField"
	TagType                  = "tag"
	UserType                 = "corpuser"
	GroupType                = "corpGroup"
	DomainType               = "domain"
	ContainerType            = "container"
)

// anyType stands for a URN of whatever type in shapes.
const anyType = "*"

// shapes are the parts of each known type: "" is a text, anything else a URN of that type.
func shapes(entity string) ([]string, bool) {
	switch entity {
	case DatasetType:
		return []string{DataPlatformType, "", ""}, true
	case DataFlowType:
		return []string{"", "", ""}, true
	case DataJobType:
		return []string{DataFlowType, ""}, true
	case DataPlatformInstanceType:
		return []string{DataPlatformType, ""}, true
	case SchemaFieldType:
		return []string{anyType, ""}, true
	case DataProcessInstanceType, DataPlatformType, TagType, UserType, GroupType, DomainType, ContainerType:
		return []string{""}, true
	default:
		return nil, false
	}
}

// URN is one that was read: its entity type and its parts as they stand in it, escapes included.
type URN struct {
	Type  string
	Parts []string
}

// String writes the URN; reading it gives the same parts.
func (u URN) String() string {
	if len(u.Parts) == 1 && (!strings.HasPrefix(u.Parts[0], "(") || !strings.HasSuffix(u.Parts[0], ")")) {
		return prefix + u.Type + ":" + u.Parts[0]
	}
	return prefix + u.Type + ":(" + strings.Join(u.Parts, ",") + ")"
}

// Parse reads a URN of any type. Of a type that this package knows the number and the kinds of the parts are checked,
// and that no text holds a reserved character; of others only that the brackets are balanced and no part is empty.
func Parse(text string) (URN, error) {
	u, err := split(text)
	if err != nil {
		return URN{}, err
	}
	shape, known := shapes(u.Type)
	if !known {
		return u, nil
	}
	if len(u.Parts) != len(shape) {
		return URN{}, fmt.Errorf("%s should have %d parts, not %d: %.200q", u.Type, len(shape), len(u.Parts), text)
	}
	for i, part := range u.Parts {
		if err := checkPart(part, shape[i]); err != nil {
			return URN{}, fmt.Errorf("part %d of %.200q: %w", i+1, text, err)
		}
	}
	return u, nil
}

// split takes a URN apart without knowing its type.
func split(text string) (URN, error) {
	rest, ok := strings.CutPrefix(text, prefix)
	entity, id, colon := strings.Cut(rest, ":")
	if !ok || !colon || entity == "" {
		return URN{}, fmt.Errorf("%.200q is no URN: it should be urn:li:, a type, a colon and an id", text)
	}
	parts := []string{id}
	if inner, ok := strings.CutPrefix(id, "("); ok && strings.HasSuffix(inner, ")") {
		var err error
		if parts, err = splitParts(strings.TrimSuffix(inner, ")")); err != nil {
			return URN{}, fmt.Errorf("%.200q: %w", text, err)
		}
	}
	if slices.Contains(parts, "") {
		return URN{}, fmt.Errorf("%.200q has an empty part", text)
	}
	return URN{Type: entity, Parts: parts}, nil
}

// splitParts splits at the commas that are in no brackets.
func splitParts(inner string) ([]string, error) {
	var parts []string
	depth, from := 0, 0
	for i := range len(inner) {
		switch inner[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return nil, errors.New("a bracket is closed that was not opened")
			}
		case ',':
			if depth == 0 {
				parts, from = append(parts, inner[from:i]), i+1
			}
		}
	}
	if depth > 0 {
		return nil, errors.New("a bracket is not closed")
	}
	return append(parts, inner[from:]), nil
}

func checkPart(part, shape string) error {
	if shape == "" {
		if Encode(part) != part {
			return errors.New("holds a reserved character (comma, bracket or U+241F)")
		}
		return nil
	}
	inner, err := Parse(part)
	if err != nil {
		return err
	}
	if shape != anyType && inner.Type != shape {
		return fmt.Errorf("is a %s, not a %s", inner.Type, shape)
	}
	return nil
}

// parseAs reads a URN of one type and returns its parts without escapes; those that are URNs stay as they are.
func parseAs(text, entity string) ([]string, error) {
	u, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Type != entity {
		return nil, fmt.Errorf("%.200q is a %s, not a %s", text, u.Type, entity)
	}
	shape, _ := shapes(entity)
	for i, part := range u.Parts {
		if shape[i] == "" {
			u.Parts[i] = Decode(part)
		}
	}
	return u.Parts, nil
}

// build writes a URN of a known type; texts are escaped. An empty part has no place in a URN.
func build(entity string, parts ...string) (string, error) {
	shape, _ := shapes(entity)
	encoded := make([]string, len(parts))
	for i, part := range parts {
		if part == "" {
			return "", fmt.Errorf("a %s needs all its %d parts, and part %d is empty", entity, len(shape), i+1)
		}
		encoded[i] = part
		if shape[i] == "" {
			encoded[i] = Encode(part)
		}
		if err := checkPart(encoded[i], shape[i]); err != nil {
			return "", fmt.Errorf("part %d of a %s: %w", i+1, entity, err)
		}
	}
	return URN{Type: entity, Parts: encoded}.String(), nil
}
