package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ValidationError says what is wrong with a proposal. No server was asked: the proposal can't be sent as it is.
type ValidationError struct {
	URN     string // of the proposal, as given
	Field   string // what is at fault, such as entity type
	Problem string // such as: is empty
}

func (e *ValidationError) Error() string {
	if e.URN == "" {
		return fmt.Sprintf("the proposal is not valid: its %s %s", e.Field, e.Problem)
	}
	return fmt.Sprintf("the proposal for %s is not valid: its %s %s", e.URN, e.Field, e.Problem)
}

func invalid(urn, field, problem string) error {
	return &ValidationError{URN: urn, Field: field, Problem: problem}
}

// EntityType returns the type in a URN: dataset for urn:li:dataset:(...). Its error is a *ValidationError.
func EntityType(urn string) (string, error) {
	switch {
	case urn == "":
		return "", invalid(urn, "entity urn", "is empty")
	case !utf8.ValidString(urn):
		return "", invalid(urn, "entity urn", "is not UTF-8")
	}
	rest, ok := strings.CutPrefix(urn, "urn:li:")
	if !ok {
		return "", invalid(urn, "entity urn", "does not begin with urn:li:")
	}
	entity, id, ok := strings.Cut(rest, ":")
	if !ok || id == "" || !isName(entity) {
		return "", invalid(urn, "entity urn", "is not of the form urn:li:type:id")
	}
	return entity, nil
}

// isName reports whether s can be the name of an entity type or of an aspect: it stands in addresses and as a JSON key.
func isName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return s != ""
}

// Validate says what keeps a proposal from being sent. Its error is a *ValidationError. Whether the server knows the
// aspect and takes its value is for the server to say.
func (p Proposal) Validate() error {
	entity, err := EntityType(p.EntityURN)
	if err != nil {
		return err
	}
	if p.EntityType != entity {
		return invalid(p.EntityURN, "entity type", fmt.Sprintf("is %q and its urn is that of a %s", p.EntityType, entity))
	}
	if _, ok := p.ChangeType.Ordinal(); !ok {
		return invalid(p.EntityURN, "change type", fmt.Sprintf("is %q, which is none of %s", p.ChangeType, names()))
	}
	for name, value := range p.Headers {
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return invalid(p.EntityURN, "headers", fmt.Sprintf("have a name or value that is empty or not UTF-8: %q", name))
		}
	}
	if p.ChangeType == ChangeDelete {
		return p.validateDelete()
	}
	return p.validateAspect()
}

func (p Proposal) validateDelete() error {
	if p.AspectName != "" && p.AspectName != KeyAspect(p.EntityType) {
		return invalid(p.EntityURN, "aspect name", fmt.Sprintf(
			"is %s: an entity is deleted as a whole, by %s", p.AspectName, KeyAspect(p.EntityType)))
	}
	if p.Aspect != nil {
		return invalid(p.EntityURN, "aspect", "is set, and a deletion has none")
	}
	return nil
}

func (p Proposal) validateAspect() error {
	if !isName(p.AspectName) || p.AspectName == "urn" {
		return invalid(p.EntityURN, "aspect name", fmt.Sprintf("is %q, which is no name of an aspect", p.AspectName))
	}
	value := bytes.TrimLeft(p.Aspect, " \t\r\n")
	switch {
	case len(value) == 0:
		return invalid(p.EntityURN, "aspect "+p.AspectName, "is missing")
	case !json.Valid(value) || !utf8.Valid(value):
		return invalid(p.EntityURN, "aspect "+p.AspectName, "is not JSON in UTF-8")
	case value[0] != '{' && (p.ChangeType != ChangePatch || value[0] != '['):
		return invalid(p.EntityURN, "aspect "+p.AspectName, "is not a JSON object")
	default:
		return nil
	}
}

// names returns the change types for people.
func names() string {
	var all []string
	for _, c := range ChangeTypes() {
		all = append(all, string(c))
	}
	return strings.Join(all, ", ")
}
