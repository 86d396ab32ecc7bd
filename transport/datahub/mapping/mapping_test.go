package mapping_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// upserted are the aspects that are written whole. All others of those that are shared are only added to.
var upserted = []string{
	"dataFlowInfo", "dataJobInfo", "status", "subTypes", "dataPlatformInstance", "datasetKey", "schemaMetadata",
	"dataProcessInstanceProperties", "dataProcessInstanceRelationships", "dataProcessInstanceInput",
	"dataProcessInstanceOutput", "dataProcessInstanceRunEvent",
}

// Whatever an event says, nothing that others may have written is replaced or taken away, and the change of a run's state
// is the last thing that is said.
func TestNothingIsEverTakenAway(t *testing.T) {
	t.Parallel()
	for _, scheme := range mapping.Schemes() {
		for _, history := range histories(t) {
			settings := usual()
			settings.URNs, settings.DatasetLineage = scheme, true
			for i, mapped := range mapAll(t, settings, told(t, history)) {
				for _, p := range slices.Concat(mapped.Structure, mapped.Run) {
					if !slices.Contains(upserted, p.AspectName) || p.ChangeType != mcp.ChangeUpsert {
						t.Errorf("%s %d: %s writes %s whole", history, i, p.ChangeType, p.AspectName)
					}
				}
				for _, a := range mapped.Additions {
					for _, op := range a.Ops {
						if op.Op != "add" {
							t.Errorf("%s %d: %s of %s", history, i, op.Op, op.Path)
						}
					}
				}
				for j, p := range mapped.Run {
					if last := j == len(mapped.Run)-1; (p.AspectName == "dataProcessInstanceRunEvent") && !last {
						t.Errorf("%s %d: the state is not the last that is said", history, i)
					}
				}
			}
		}
	}
}

// A failed run leaves the lineage of its job alone.
func TestAFailureSaysNothingOfTheJobsLineage(t *testing.T) {
	t.Parallel()
	events := told(t, "everything")
	all := mapAll(t, usual(), events)
	for i, mapped := range all {
		failed := strings.Contains(string(events[i]), `"eventType":"FAIL"`) || strings.Contains(string(events[i]), `"eventType":"ABORT"`)
		for _, a := range mapped.Additions {
			if failed && (a.Aspect == "dataJobInputOutput" || a.Aspect == "upstreamLineage") {
				t.Errorf("event %d adds to %s", i, a.Aspect)
			}
		}
	}
}

// The same event with the same memory gives the same proposals: what is sent twice is the same.
func TestTheSameEventSaysTheSame(t *testing.T) {
	t.Parallel()
	for _, history := range histories(t) {
		events := told(t, history)
		if diff := cmp.Diff(mapAll(t, usual(), events), mapAll(t, usual(), events)); diff != "" {
			t.Errorf("%s:\n%s", history, diff)
		}
	}
}

// What describes a flow, a task or a dataset is the same in all events of a history, so that it is sent once.
func TestStructureDoesNotFlicker(t *testing.T) {
	t.Parallel()
	for _, scheme := range mapping.Schemes() {
		settings := usual()
		settings.URNs = scheme
		for _, history := range []string{"all-kinds", "everything", "three-levels", "outside-parent", "without-flow"} {
			said := map[string]string{}
			for i, mapped := range mapAll(t, settings, told(t, history)) {
				for _, p := range mapped.Structure {
					key := p.EntityURN + " " + p.AspectName
					if before, ok := said[key]; ok && before != string(p.Aspect) {
						t.Errorf("%s, %s, event %d: %s\nwas  %s\nnow  %s", scheme, history, i, key, before, p.Aspect)
					}
					said[key] = string(p.Aspect)
				}
			}
		}
	}
}

func TestWhatCannotBeMapped(t *testing.T) {
	t.Parallel()
	event := func(run, namespace, name, at string) string {
		return fmt.Sprintf(`{"eventType":"START","eventTime":%q,"run":{"runId":%q},"job":{"namespace":%q,"name":%q}}`, at, run, namespace, name)
	}
	const at = "2026-11-30T02:00:00Z"
	tests := []struct{ name, body, problem string }{
		{"no JSON", "{", "reading the event"},
		{"no run", event("", "n", "j", at), "names no run"},
		{"no job", event("r", "n", "", at), "names no job"},
		{"no time", `{"run":{"runId":"r"},"job":{"namespace":"n","name":"j"}}`, "has no time"},
		{"a name that is too long", event("r", "n", strings.Repeat("j", 600), at), "DataHub takes 512"},
		{"a run that is too long", event(strings.Repeat("r", 600), "n", "j", at), "naming the run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := mapping.New(usual()).Map([]byte(tt.body), mapping.Memory{}); err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%v, want %q in it", err, tt.problem)
			}
		})
	}
	// A facet of another shape costs itself alone.
	body := `{"eventType":"START","eventTime":"` + at + `","run":{"runId":"r","facets":{"prefect_run":7,"parent":"x"}},"job":{"namespace":"n","name":"j","facets":{"tags":{"tags":3}}}}`
	mapped, err := mapping.New(usual()).Map([]byte(body), mapping.Memory{})
	if err != nil || len(mapped.Run) != 3 {
		t.Errorf("%d proposals of the run, %v", len(mapped.Run), err)
	}
}

func TestMemoryMayKnowNothing(t *testing.T) {
	t.Parallel()
	for _, scheme := range mapping.Schemes() {
		settings := usual()
		settings.URNs = scheme
		for i, event := range told(t, "everything") {
			mapped, err := mapping.New(settings).Map(event, mapping.Memory{})
			if err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			for _, p := range mapped.Run {
				if strings.Contains(string(p.Aspect), "durationMillis") {
					t.Errorf("event %d knows how long its run took", i)
				}
			}
		}
	}
}

// With the names of prefect-datahub a task waits for those tasks whose events went before.
func TestUpstreamJobsByMemory(t *testing.T) {
	t.Parallel()
	settings := usual()
	settings.URNs = mapping.PrefectDataHub
	want := "urn:li:dataJob:(urn:li:dataFlow:(prefect,nightly,PROD),extract-1a2b)"
	found := false
	for _, mapped := range mapAll(t, settings, told(t, "everything")) {
		for _, a := range mapped.Additions {
			for _, op := range a.Ops {
				found = found || op.Path == mcp.PatchPath("inputDatajobEdges", want)
			}
		}
	}
	if !found {
		t.Errorf("no task waits for %s", want)
	}
}

func FuzzMap(f *testing.F) {
	for _, event := range told(f, "everything") {
		f.Add(event)
	}
	for _, event := range told(f, "every-dataset-key") {
		f.Add(event)
	}
	settings := usual()
	settings.DatasetLineage = true
	f.Fuzz(func(t *testing.T, body []byte) {
		mapped, err := mapping.New(settings).Map(body, mapping.Memory{})
		if err != nil {
			return
		}
		for _, p := range slices.Concat(mapped.Structure, mapped.Run) {
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
			if !json.Valid(p.Aspect) {
				t.Errorf("%s", p.Aspect)
			}
		}
		for _, a := range mapped.Additions {
			if _, err := a.Proposal(a.Ops); err != nil {
				t.Error(err)
			}
		}
	})
}
