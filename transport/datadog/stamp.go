package datadog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport"
)

// The run tags by which Datadog's own libraries say what they report for
// (github.com/DataDog/dd-trace-java, AbstractDatadogSparkListener).
const (
	serviceTag = "_dd.ol_service"
	envTag     = "_dd.ol_env"
)

// tagSource is whom a tag is from. Datadog wants one in each tag, and its monitors see only those of this one.
const tagSource = "USER"

// stamp makes Datadog's copy of events.
type stamp struct{ env, service string }

// object is a JSON object whose values stay as they are written.
type object = map[string]json.RawMessage

// apply returns the copy: under the namespace that is the env, with the tags. Without either the event stays as it is.
func (s stamp) apply(event transport.Event) (transport.Event, error) {
	if s.env == "" && s.service == "" {
		return event, nil
	}
	top, err := s.body(event.Body)
	if err != nil {
		return transport.Event{}, &transport.Error{
			Outcome: transport.Permanent, Reason: transport.ReasonRefused, Err: fmt.Errorf("making Datadog's copy: %w", err),
		}
	}
	event.Body = top
	if s.env != "" {
		event.Namespace = s.env
	}
	return event, nil
}

func (s stamp) body(body []byte) ([]byte, error) {
	var top object
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, err
	}
	job, err := members(top["job"])
	if err != nil {
		return nil, fmt.Errorf("its job: %w", err)
	}
	run, err := members(top["run"])
	if err != nil {
		return nil, fmt.Errorf("its run: %w", err)
	}
	facets, err := members(run["facets"])
	if err != nil {
		return nil, fmt.Errorf("its run's facets: %w", err)
	}
	if s.env != "" {
		if err := s.rename(job, facets); err != nil {
			return nil, err
		}
		if top["job"], err = encode(job); err != nil {
			return nil, err
		}
	}
	if err := s.tag(top["producer"], facets); err != nil {
		return nil, err
	}
	if run["facets"], err = encode(facets); err != nil {
		return nil, err
	}
	if top["run"], err = encode(run); err != nil {
		return nil, err
	}
	return encode(top)
}

// tag adds the tags to the run's, in place of those of the same keys.
func (s stamp) tag(producer json.RawMessage, facets object) error {
	facet, err := members(facets["tags"])
	if err != nil {
		return fmt.Errorf("its run's tags: %w", err)
	}
	if facets["tags"] == nil {
		schema, err := encode(openlineage.TagsRunFacet{}.SchemaURL(""))
		if err != nil {
			return err
		}
		facet["_producer"], facet["_schemaURL"] = producer, schema
	}
	var tags, kept []json.RawMessage
	if raw := facet["tags"]; raw != nil {
		if err := json.Unmarshal(raw, &tags); err != nil {
			return fmt.Errorf("its run's tags: %w", err)
		}
	}
	for _, raw := range tags {
		var had openlineage.Tag
		if json.Unmarshal(raw, &had) != nil || (had.Key != serviceTag || s.service == "") && (had.Key != envTag || s.env == "") {
			kept = append(kept, raw)
		}
	}
	for _, add := range []openlineage.Tag{
		{Key: envTag, Value: s.env, Source: tagSource}, {Key: serviceTag, Value: s.service, Source: tagSource},
	} {
		if add.Value == "" {
			continue
		}
		raw, err := encode(add)
		if err != nil {
			return err
		}
		kept = append(kept, raw)
	}
	if facet["tags"], err = encode(kept); err != nil {
		return err
	}
	facets["tags"], err = encode(facet)
	return err
}

// members returns the members of an object; of one that is not there, none.
func members(raw json.RawMessage) (object, error) {
	all := object{}
	if raw == nil {
		return all, nil
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	if all == nil { // it is null
		all = object{}
	}
	return all, nil
}

// encode writes JSON with its keys sorted and nothing escaped that need not be.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("writing Datadog's copy: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
