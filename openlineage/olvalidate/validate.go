package olvalidate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate returns everything that is wrong with an event, joined into one error, each finding with its place in the
// event. The event is judged by the definition that its schemaURL names, each facet by the one that its _schemaURL
// names; an unknown one is a finding.
func (v *Validator) Validate(body []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("reading event: %w", err)
	}
	event, ok := doc.(map[string]any)
	if !ok {
		return errors.New("the event is no JSON object")
	}
	var findings []error
	url, _ := event["schemaURL"].(string)
	if schema, ok := v.events[url]; ok {
		findings = append(findings, at("event", schema.Validate(doc)))
	} else {
		findings = append(findings, fmt.Errorf("event: unknown schemaURL %q", url))
	}
	findings = append(findings, v.facetsOf("run", event["run"], "facets")...)
	findings = append(findings, v.facetsOf("job", event["job"], "facets")...)
	findings = append(findings, v.facetsOf("dataset", event["dataset"], "facets")...)
	for _, side := range []string{"inputs", "outputs"} {
		items, _ := event[side].([]any)
		for i, item := range items {
			place := fmt.Sprintf("%s[%d]", side, i)
			findings = append(findings, v.facetsOf(place, item, "facets", "inputFacets", "outputFacets")...)
		}
	}
	return errors.Join(findings...)
}

// facetsOf checks the facets of one entity.
func (v *Validator) facetsOf(place string, entity any, members ...string) []error {
	object, _ := entity.(map[string]any)
	var findings []error
	for _, member := range members {
		set, _ := object[member].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(set)) {
			findings = append(findings, v.facetAt(place+"."+member+"."+key, key, set[key]))
		}
	}
	return findings
}

func (v *Validator) facetAt(place, key string, facet any) error {
	object, ok := facet.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: no JSON object", place)
	}
	url, _ := object["_schemaURL"].(string)
	schema, ok := v.facet(url)
	if !ok {
		return fmt.Errorf("%s: unknown _schemaURL %q", place, url)
	}
	var misplaced error
	if len(schema.keys) > 0 && !slices.Contains(schema.keys, key) {
		misplaced = fmt.Errorf("%s: the facet's key should be %s", place, schema.keys[0])
	}
	return errors.Join(misplaced, at(place, schema.schema.Validate(facet)))
}

// at puts the place before each finding of a schema.
func at(place string, err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	return errors.Join(leaves(place, *invalid.DetailedOutput())...)
}

// leaves returns the innermost findings: the outer ones only say that there are inner ones.
func leaves(place string, unit jsonschema.OutputUnit) []error {
	if len(unit.Errors) == 0 && unit.Error != nil {
		return []error{fmt.Errorf("%s%s: %s", place, unit.InstanceLocation, unit.Error)}
	}
	var findings []error
	for _, inner := range unit.Errors {
		findings = append(findings, leaves(place, inner)...)
	}
	return findings
}
