package gcplineage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// object is a JSON object whose values stay as they are written.
type object = map[string]json.RawMessage

// FacetKey is the job facet that Google's service reads (the OpenLineage registry's gcp/lineage).
const FacetKey = "gcp_lineage"

const facetSchema = "https://openlineage.io/spec/facets/1-0-0/GcpLineageJobFacet.json#/$defs/GcpLineageJobFacet"

// facet is GcpLineageJobFacet 1-0-0.
type facet struct {
	Producer  json.RawMessage `json:"_producer"`
	SchemaURL string          `json:"_schemaURL"`
	Display   string          `json:"displayName"`
	Origin    origin          `json:"origin"`
}

// origin says where a job is from. CUSTOM takes any name.
type origin struct {
	Name       string `json:"name"`
	SourceType string `json:"sourceType"`
}

// dataset is what is looked at of an input or output.
type dataset struct {
	namespace, name string
	fields          object
}

// event is an event taken apart as far as Google's copy differs.
type event struct {
	top, job        object
	namespace, name string // of the job
	inputs, outputs []dataset
	unmapped        []dataset // those that Google has no names for, as they were
}

// read takes an event apart. What is no run event with a job has nothing to change.
func read(body []byte) (event, error) {
	var e event
	if err := json.Unmarshal(body, &e.top); err != nil {
		return event{}, fmt.Errorf("reading the event: %w", err)
	}
	if err := json.Unmarshal(e.top["job"], &e.job); err != nil {
		return event{}, fmt.Errorf("reading its job: %w", err)
	}
	if e.job == nil {
		return event{}, errors.New("reading the event: it has no job")
	}
	e.namespace, e.name = text(e.job["namespace"]), text(e.job["name"])
	var err error
	if e.inputs, err = datasets(e.top["inputs"]); err != nil {
		return event{}, fmt.Errorf("reading its inputs: %w", err)
	}
	if e.outputs, err = datasets(e.top["outputs"]); err != nil {
		return event{}, fmt.Errorf("reading its outputs: %w", err)
	}
	return e, nil
}

func datasets(raw json.RawMessage) ([]dataset, error) {
	if raw == nil {
		return nil, nil
	}
	var list []object
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	all := make([]dataset, len(list))
	for i, fields := range list {
		all[i] = dataset{text(fields["namespace"]), text(fields["name"]), fields}
	}
	return all, nil
}

// text returns a JSON string, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// adapt makes the event Google's: with the facet, and with the datasets that Google can name.
func (e *event) adapt(unmapped Unmapped) error {
	if err := e.addFacet(); err != nil {
		return err
	}
	var err error
	if e.inputs, err = e.nameable(e.inputs, unmapped); err != nil {
		return err
	}
	e.outputs, err = e.nameable(e.outputs, unmapped)
	return err
}

// addFacet adds the job facet, unless the event has one of its own.
func (e *event) addFacet() error {
	var facets object
	if raw := e.job["facets"]; raw != nil {
		if err := json.Unmarshal(raw, &facets); err != nil {
			return fmt.Errorf("reading its job's facets: %w", err)
		}
	}
	if facets == nil {
		facets = object{}
	}
	if _, there := facets[FacetKey]; there {
		return nil
	}
	made, err := encode(facet{
		Producer: e.top["producer"], SchemaURL: facetSchema, Display: displayName(e.name),
		Origin: origin{Name: e.namespace, SourceType: "CUSTOM"},
	})
	if err != nil {
		return err
	}
	facets[FacetKey] = made
	if e.job["facets"], err = encode(facets); err != nil {
		return err
	}
	e.top["job"], err = encode(e.job)
	return err
}

// nameable returns the datasets as Google can name them.
func (e *event) nameable(all []dataset, unmapped Unmapped) ([]dataset, error) {
	var kept []dataset
	for _, d := range all {
		if d.fields == nil || mapped(d.namespace) { // what is no dataset is for Google to refuse
			kept = append(kept, d)
			continue
		}
		e.unmapped = append(e.unmapped, d)
		switch unmapped {
		case UnmappedDrop:
		case UnmappedCustom:
			renamed, err := d.renamed(customNamespace, customName(d.namespace, d.name))
			if err != nil {
				return nil, err
			}
			kept = append(kept, renamed)
		default:
			kept = append(kept, d)
		}
	}
	return kept, nil
}

func (d dataset) renamed(namespace, name string) (dataset, error) {
	fields := maps.Clone(d.fields)
	for key, value := range map[string]string{"namespace": namespace, "name": name} {
		raw, err := encode(value)
		if err != nil {
			return dataset{}, err
		}
		fields[key] = raw
	}
	return dataset{namespace, name, fields}, nil
}

// body writes the event with some of its datasets.
func (e *event) body(inputs, outputs []dataset) ([]byte, error) {
	top := maps.Clone(e.top)
	for key, all := range map[string][]dataset{"inputs": inputs, "outputs": outputs} {
		if top[key] == nil {
			continue
		}
		list := make([]object, len(all))
		for i, d := range all {
			list[i] = d.fields
		}
		raw, err := encode(list)
		if err != nil {
			return nil, err
		}
		top[key] = raw
	}
	return encode(top)
}

// encode writes JSON with its keys sorted and nothing escaped that need not be.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("writing Google's copy: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
