package told

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage/olvalidate"
	"github.com/prefect-openlineage/listener/test/rig"
)

// Validate holds events against the spec and the schemas of our own facets, and wants them whole.
func Validate(t testing.TB, events []Event) {
	t.Helper()
	validator, err := olvalidate.Open(rig.SpecDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := validator.Validate(e.Raw); err != nil {
			t.Errorf("%s of %s: %v", e.EventType, e.Job.Name, err)
		}
		if err := Whole(e.Raw); err != nil {
			t.Errorf("%s of %s: %v", e.EventType, e.Job.Name, err)
		}
	}
}

// Whole says what an event lacks that the spec lets it leave out and that consumers, and OpenLineage's own check of what
// producers send (the compatibility-tests of its GitHub organization), take for granted.
func Whole(event []byte) error {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(event, &e); err != nil {
		return fmt.Errorf("reading an event: %w", err)
	}
	var lacks []error
	object := func(of string, raw json.RawMessage, keys ...string) {
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(raw, &fields) // what is no object has no keys
		for _, key := range keys {
			if value := string(fields[key]); value == "" || value == "null" {
				lacks = append(lacks, fmt.Errorf("%s has no %s", of, key))
			}
		}
	}
	object("the event", event, "eventType", "inputs", "outputs")
	object("run", e["run"], "facets")
	object("job", e["job"], "facets")
	for side, more := range map[string]string{"inputs": "inputFacets", "outputs": "outputFacets"} {
		var sets []json.RawMessage
		_ = json.Unmarshal(e[side], &sets) // what is no list is said above
		for _, set := range sets {
			object(side, set, "facets", more)
		}
	}
	return errors.Join(lacks...)
}

// Bodies are the events' bytes by run, type and time.
func Bodies(t testing.TB, events []Event) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range events {
		key := strings.Join([]string{e.Run.RunID, e.EventType, e.EventTime.String()}, " ")
		if _, twice := all[key]; twice {
			t.Errorf("told twice: %s", key)
		}
		all[key] = string(e.Raw)
	}
	return all
}
