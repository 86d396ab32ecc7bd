package adapter_test

import (
	"encoding/json"
	"testing"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
)

// FuzzArtifactData gives any data and description to a table artifact: the run's events must go out, be well formed, and
// be the same each time.
func FuzzArtifactData(f *testing.F) {
	for _, data := range []string{
		``, `null`, `[]`, `{}`, `[{}]`, `[[]]`, `[["table"],["x"]]`, `"[{\"database_uri\": \"duckdb:///d\", \"table\": \"t\"}]"`,
		`{"database_uri":["postgresql://u:p@h/db"],"table":["public.t"],"columns":[["a","b"]]}`, `[{"database_uri":"s3://b/k","size":NaN}]`,
		`[{"database_uri":"duckdb:///d","table":"t","schema":[{"name":"a"}],"row_count":1,"owners":["x"],"facets":{"a":{"b":1}}}]`,
		`[{"database_uri":"duckdb:///d","table":"t","column_lineage":{"a":{"inputFields":[]}},"assertions":[{"assertion":"x"}],"version":1e400}]`,
	} {
		f.Add(data, "ol-dataset_input and ol-dataset_output")
	}
	a := newAdapter(f)
	flow := flowTold(f, a)
	f.Fuzz(func(t *testing.T, data, description string) {
		s := taskSnapshot(taskRow(), table(1, description, data))
		told, _ := a.Pin(s, &flow)
		telling := a.Tell(s, told, adapter.Beside{})
		if len(telling.Events) != 2 {
			t.Fatalf("%d events, warnings %v", len(telling.Events), telling.Warnings)
		}
		body := telling.Events[1].Body
		if !json.Valid(body) {
			t.Fatalf("no JSON: %s", body)
		}
		event, err := openlineage.ParseEvent(body)
		if err != nil {
			t.Fatalf("not readable: %v", err)
		}
		if len(telling.Edges) != len(event.Inputs)+len(event.Outputs) {
			t.Errorf("%d edges of %d inputs and %d outputs", len(telling.Edges), len(event.Inputs), len(event.Outputs))
		}
		for _, d := range append(event.Inputs, event.Outputs...) {
			if _, _, err := openlineage.CheckDataset(d.Namespace, d.Name); err != nil {
				t.Errorf("%q %q: %v", d.Namespace, d.Name, err)
			}
		}
		if again := a.Tell(s, told, adapter.Beside{}); string(again.Events[1].Body) != string(body) {
			t.Error("the second telling differs")
		}
	})
}
