package told

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/openlineage/olvalidate"
	"github.com/prefect-openlineage/listener/test/rig"
)

// Validate holds events against the spec and the schemas of our own facets.
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
	}
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
