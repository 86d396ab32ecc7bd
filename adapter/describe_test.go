package adapter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDatasetFacets reads the further cells of a row: a value as such and as JSON inside a text must come to the same.
func TestDatasetFacets(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	type l = []any
	field := func(name string) any { return m{"name": name} }
	tests := []struct {
		name   string
		cells  string // as JSON members
		facets m
		input  m
		output m
		faults []string
	}{
		{name: "none", facets: m{}},
		{name: "null and blank say nothing", cells: `"schema":null,"description":" ","row_count":null,"facets":""`, facets: m{}},
		{name: "schema by names", cells: `"schema":["id","amount"]`, facets: m{"schema": m{"fields": l{field("id"), field("amount")}}}},
		{name: "schema by types", cells: `"columns":{"id":"int","amount":"decimal"}`, facets: m{"schema": m{"fields": l{m{"name": "amount", "type": "decimal"}, m{"name": "id", "type": "int"}}}}},
		{
			name:   "schema by fields",
			cells:  `"schema":[{"name":"id","type":"int","description":"key","fields":[{"name":"part"}]}]`,
			facets: m{"schema": m{"fields": l{m{"name": "id", "type": "int", "description": "key", "fields": l{field("part")}}}}},
		},
		{name: "empty schema", cells: `"schema":[]`, facets: m{}},
		{name: "schema counts before columns", cells: `"columns":["c"],"schema":["s"]`, facets: m{"schema": m{"fields": l{field("s")}}}},
		{name: "field without name", cells: `"schema":[{"type":"int"}]`, facets: m{}, faults: []string{"schema: column 1 has no name"}},
		{name: "nested field without name", cells: `"schema":[{"name":"a","fields":[{"type":"x"}]}]`, facets: m{}, faults: []string{"schema: column 1 has no name"}},
		{name: "schema that is a number", cells: `"schema":7`, facets: m{}, faults: []string{"schema: it is a number"}},
		{name: "schema of numbers", cells: `"columns":[1]`, facets: m{}, faults: []string{"columns: column 1 is neither"}},
		{
			name:   "counts",
			cells:  `"row_count":12,"size":"2048","file_count":3.0`,
			facets: m{}, input: m{"inputStatistics": m{"rowCount": 12.0, "size": 2048.0, "fileCount": 3.0}},
			output: m{"outputStatistics": m{"rowCount": 12.0, "size": 2048.0, "fileCount": 3.0}},
		},
		{
			name: "counts that are none", cells: `"row_count":-1,"size":1.5,"file_count":"many"`, facets: m{},
			faults: []string{"row_count: it is not a count", "size: it is not", "file_count: it is not"},
		},
		{name: "description", cells: `"description":"Orders, from postgres://u:hunter2@h/db"`, facets: m{"documentation": m{"description": "Orders, from postgres://***@h/db"}}},
		{name: "description that is a list", cells: `"description":["x"]`, facets: m{}, faults: []string{"description: it is a list"}},
		{name: "version", cells: `"version":7`, facets: m{"version": m{"datasetVersion": "7"}}},
		{name: "one owner", cells: `"owners":"ada"`, facets: m{"ownership": m{"owners": l{field("ada")}}}},
		{name: "owners", cells: `"owners":["ada",{"name":"bob","type":"STEWARD"}]`, facets: m{"ownership": m{"owners": l{field("ada"), m{"name": "bob", "type": "STEWARD"}}}}},
		{name: "owner without name", cells: `"owners":["ada",{}]`, facets: m{}, faults: []string{"owners: owner 2 has no name"}},
		{name: "owners that are an object", cells: `"owners":{"ada":1}`, facets: m{}, faults: []string{"owners: it is an object"}},
		{name: "lifecycle", cells: `"lifecycle":"overwrite"`, facets: m{"lifecycleStateChange": m{"lifecycleStateChange": "OVERWRITE"}}},
		{name: "lifecycle unknown", cells: `"lifecycle":"eaten"`, facets: m{}, faults: []string{"lifecycle: it takes ALTER"}},
		{
			name:   "column lineage",
			cells:  `"column_lineage":{"id":{"inputFields":[{"namespace":"postgres://u:p@h:1","name":"t","field":"i"}]}}`,
			facets: m{"columnLineage": m{"fields": m{"id": m{"inputFields": l{m{"namespace": "postgres://h:1", "name": "t", "field": "i"}}}}}},
		},
		{
			name:   "column lineage as the facet",
			cells:  `"column_lineage":{"fields":{"id":{"inputFields":[]}}}`,
			facets: m{"columnLineage": m{"fields": m{"id": m{"inputFields": l{}}}}},
		},
		{name: "column lineage without field", cells: `"column_lineage":{"id":{"inputFields":[{"namespace":"n","name":"t"}]}}`, facets: m{}, faults: []string{`input 1 of column "id" lacks`}},
		{name: "column lineage without inputs", cells: `"column_lineage":{"id":{}}`, facets: m{}, faults: []string{"has no inputFields"}},
		{name: "column lineage that is a list", cells: `"column_lineage":[1]`, facets: m{}, faults: []string{"column_lineage: it is not"}},
		{
			name: "assertions", cells: `"assertions":[{"assertion":"not_null","success":true,"column":"id"}]`, facets: m{},
			input: m{"dataQualityAssertions": m{"assertions": l{m{"assertion": "not_null", "success": true, "column": "id"}}}},
		},
		{name: "assertions without name", cells: `"assertions":[{"success":true}]`, facets: m{}, faults: []string{"assertions: assertion 1 has no name"}},
		{name: "assertions that are a number", cells: `"assertions":1`, facets: m{}, faults: []string{"assertions: it is not"}},
		{
			name: "raw facets", cells: `"description":"x","facets":{"documentation":{"description":"raw"},"acme_cost":{"usd":1.50},"inputStatistics":{"rowCount":1},"outputStatistics":{"rowCount":2}}`,
			facets: m{"documentation": m{"description": "raw"}, "acme_cost": m{"usd": 1.5}},
			input:  m{"inputStatistics": m{"rowCount": 1.0}}, output: m{"outputStatistics": m{"rowCount": 2.0}},
		},
		{name: "raw facet that is a text", cells: `"facets":{"a":"x","b":{"c":1}}`, facets: m{"b": m{"c": 1.0}}, faults: []string{"facets: "}},
		{name: "raw facets that are a list", cells: `"facets":[1]`, facets: m{}, faults: []string{"facets: it is not an object"}},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			row := `{"database_uri":"duckdb:///d","table":"t"`
			if tt.cells != "" {
				row += "," + tt.cells
			}
			row += "}"
			for form, data := range map[string]string{"values": "[" + row + "]", "texts": "[" + dumped(t, row) + "]", "object": row} {
				telling := tell(t, a, taskSnapshot(taskRow(), table(1, "ol-dataset_input ol-dataset_output", data)), nil)
				end := last(t, telling)
				input, output := end["inputs"].([]any)[0], end["outputs"].([]any)[0]
				got := []any{bareAll(dig(input, "facets")), bareAll(dig(output, "facets")), bareAll(dig(input, "inputFacets")), bareAll(dig(output, "outputFacets"))}
				if diff := cmp.Diff([]any{any(tt.facets), any(tt.facets), any(orEmpty(tt.input)), any(orEmpty(tt.output))}, got); diff != "" {
					t.Errorf("%s: facets of input and output, inputFacets, outputFacets (-want +got):\n%s", form, diff)
				}
				if len(telling.Warnings) != len(tt.faults) {
					t.Fatalf("%s: warnings %v", form, telling.Warnings)
				}
				for i, w := range telling.Warnings {
					if w.Rule != "facet-refused" || !strings.Contains(w.Message, tt.faults[i]) {
						t.Errorf("%s: warning %q lacks %q", form, w.Message, tt.faults[i])
					}
				}
			}
		})
	}
}

// dumped returns a row in which every list and object is JSON in a text.
func dumped(t testing.TB, row string) string {
	t.Helper()
	var cells map[string]json.RawMessage
	if err := json.Unmarshal([]byte(row), &cells); err != nil {
		t.Fatal(err)
	}
	for key, cell := range cells {
		if cell[0] == '[' || cell[0] == '{' {
			cells[key] = json.RawMessage(quoted(t, string(cell)))
		}
	}
	raw, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func bareAll(v any) any {
	facets, _ := v.(map[string]any)
	for key, facet := range facets {
		facets[key] = bare(facet)
	}
	return v
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
