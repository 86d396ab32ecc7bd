package adapter_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/test/docs"
)

// TestGuideTellsOfEveryField compares docs/events.md with events that have everything, both ways.
func TestGuideTellsOfEveryField(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, body := range everyEvent(t) {
		paths(object(t, body), "", shown)
	}
	told := map[string]bool{}
	page := docs.Read(t, filepath.Join("..", "docs", "events.md"))
	for heading, prefix := range map[string]string{
		"The event itself": "", "Run facets": "run.facets.", "Job facets": "job.facets.", "Dataset facets": "dataset.",
	} {
		for _, row := range page.Section(t, heading).Tables[0].Rows {
			for _, field := range docs.Spans(row[0]) {
				told[prefix+field] = true
			}
		}
	}
	for path := range shown {
		if !covered(path, told) && !anyFacet(path) {
			t.Errorf("docs/events.md does not tell of %s", path)
		}
	}
	for path := range told {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(shown)), func(s string) bool { return below(s, path) }) {
			t.Errorf("docs/events.md tells of %s, which no event has", path)
		}
	}
}

// TestGuideExample compares the example of docs/events.md with the golden event that it shows.
func TestGuideExample(t *testing.T) {
	t.Parallel()
	fences := docs.Read(t, filepath.Join("..", "docs", "events.md")).Section(t, "An example").Fences
	if len(fences) != 1 {
		t.Fatalf("%d examples", len(fences))
	}
	example := object(t, []byte(fences[0].Text))
	for _, e := range replay(t, goldenCases(t)["all-kinds"]).events {
		if event := object(t, e.Body); dig(event, "run", "runId") == dig(example, "run", "runId") && event["eventType"] == example["eventType"] {
			if diff := cmp.Diff(event, example); diff != "" {
				t.Errorf("the example is another event (-golden +page):\n%s", diff)
			}
			return
		}
	}
	t.Error("no golden event is the example")
}

// everyEvent returns the golden events and those of runs made up to have what the golden ones lack.
func everyEvent(t *testing.T) [][]byte {
	t.Helper()
	var all [][]byte
	for _, in := range goldenCases(t) {
		for _, e := range replay(t, in).events {
			all = append(all, e.Body)
		}
	}
	l := newListener(t, newAdapter(t, func(s *adapter.Settings) {
		s.Parameters, s.DatasetsOnFailure = true, adapter.DatasetsLast
		s.Additions = openlineage.Additions{Environment: []openlineage.EnvironmentVariable{{Name: "REGION", Value: "eu"}}}
	}))
	flowRun := flowRow()
	flowRun.Parameters = map[string]json.RawMessage{"day": json.RawMessage(`"2026-11-30"`)}
	flowRun.WorkPoolName, flowRun.WorkQueueName = new("pool"), new("queue")
	flowRun.CreatedBy = &prefect.Creator{ID: new(uuid.MustParse("3c1f3a0e-0d2f-4a55-9c7a-7a3f6c1f2b10")), Type: new("AUTOMATION"), DisplayValue: new("on failure")}
	l.see(flowSnapshot(flowRun))
	task := taskRow()
	task.State.Type = prefect.Failed
	s := taskSnapshot(task)
	told, _ := l.adapter.Pin(s, nil)
	last := []adapter.Edge{{Namespace: "postgres://h:5432", Name: "db.public.t", Output: true}}
	l.keep(s, l.adapter.Tell(s, told, adapter.Beside{Last: last}))
	s = taskSnapshot(taskRow())
	s.Assets = []prefect.AssetEvent{{
		Name: "prefect.asset.materialization.succeeded", Asset: prefect.Asset{Key: "s3://lake/raw/orders.parquet", Name: "Orders"}, TaskRunID: taskRunID,
	}}
	l.ledger = map[uuid.UUID]adapter.Told{}
	l.see(s)
	for _, e := range l.events {
		all = append(all, e.Body)
	}
	return all
}

// paths notes where every value of an event stands. Facets of datasets count as a whole, wherever they stand.
func paths(v any, path string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			switch {
			case key == "_producer" || key == "_schemaURL":
			case path == "inputs[]" || path == "outputs[]":
				if facets, ok := item.(map[string]any); ok {
					for name := range facets {
						into["dataset."+name] = true
					}
				}
			case path == "":
				paths(item, key, into)
			default:
				paths(item, path+"."+key, into)
			}
		}
	case []any:
		if len(v) == 0 {
			into[path] = true
		}
		for _, item := range v {
			paths(item, path+"[]", into)
		}
	default:
		into[path] = true
	}
}

func covered(path string, told map[string]bool) bool {
	for known := range told {
		if below(path, known) {
			return true
		}
	}
	return false
}

func below(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// anyFacet says whether a dataset's facet is one that a row gave as it is, by its own name.
func anyFacet(path string) bool {
	return strings.HasPrefix(path, "dataset.") && !strings.Contains(path, "prefect_")
}
