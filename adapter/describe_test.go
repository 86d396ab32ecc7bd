package adapter_test

import (
	"encoding/json"
	"maps"
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
		name    string
		cells   string // as JSON members
		facets  m
		written m // further facets of an output
		input   m
		output  m
		faults  []string
	}{
		{name: "none", facets: m{}},
		{name: "null and blank say nothing", cells: `"schema":null,"description":" ","row_count":null,"facets":""`, facets: m{}},
		{name: "schema by names", cells: `"schema":["id","amount"]`, facets: m{"schema": m{"fields": l{field("id"), field("amount")}}}},
		{name: "schema by types, in order", cells: `"columns":{"id":"int","amount":"decimal","note":null}`, facets: m{"schema": m{"fields": l{m{"name": "id", "type": "int"}, m{"name": "amount", "type": "decimal"}, field("note")}}}},
		{
			name:   "schema by fields by name",
			cells:  `"schema":{"id":{"type":"int","description":"key"},"address":{"type":"struct","fields":{"street":"text","town":"text"}}}`,
			facets: m{"schema": m{"fields": l{m{"name": "id", "type": "int", "description": "key"}, m{"name": "address", "type": "struct", "fields": l{m{"name": "street", "type": "text"}, m{"name": "town", "type": "text"}}}}}},
		},
		{name: "schema as the facet", cells: `"schema":{"fields":[{"name":"id","ordinal_position":1}]}`, facets: m{"schema": m{"fields": l{m{"name": "id", "ordinal_position": 1.0}}}}},
		{name: "schema with a column named fields", cells: `"schema":{"fields":"text","id":"int"}`, facets: m{"schema": m{"fields": l{m{"name": "fields", "type": "text"}, m{"name": "id", "type": "int"}}}}},
		{name: "nested names", cells: `"schema":[{"name":"a","fields":["b"]}]`, facets: m{"schema": m{"fields": l{m{"name": "a", "fields": l{field("b")}}}}}},
		{name: "schema with a type that is a list", cells: `"schema":{"id":["int"]}`, facets: m{}, faults: []string{"schema: column 1 is neither a type nor a field"}},
		{name: "schema with a type that is a number", cells: `"schema":[{"name":"id","type":3}]`, facets: m{}, faults: []string{"schema: column 1 has a name, type, description or position of another kind"}},
		{name: "schema with a long name", cells: `"schema":["` + strings.Repeat("é", 256) + `"]`, facets: m{}, faults: []string{"schema: column 1 has a name of more than 255 characters"}},
		{name: "schema with a long type", cells: `"schema":{"a":"` + strings.Repeat("x", 2601) + `"}`, facets: m{}, faults: []string{"schema: column 1 has a name and a type of more than 2600 bytes"}},
		{name: "secrets in a schema", cells: `"schema":[{"name":"a","type":"t password=hunter2","description":"from postgres://u:hunter2@h"}]`, facets: m{"schema": m{"fields": l{m{"name": "a", "type": "t password=***", "description": "from postgres://***@h"}}}}},
		{
			name:   "schema by fields",
			cells:  `"schema":[{"name":"id","type":"int","description":"key","fields":[{"name":"part"}]}]`,
			facets: m{"schema": m{"fields": l{m{"name": "id", "type": "int", "description": "key", "fields": l{field("part")}}}}},
		},
		{name: "empty schema", cells: `"schema":[]`, facets: m{}},
		{name: "schema counts before columns", cells: `"columns":["c"],"schema":["s"]`, facets: m{"schema": m{"fields": l{field("s")}}}},
		{name: "field without name", cells: `"schema":[{"type":"int"}]`, facets: m{}, faults: []string{"schema: column 1 has no name"}},
		{name: "nested field without name", cells: `"schema":[{"name":"a","fields":[{"type":"x"}]}]`, facets: m{}, faults: []string{"schema: column 1 has fields, of which column 1 has no name"}},
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
		{
			name:   "lifecycle with what was before",
			cells:  `"lifecycle":{"change":"rename","previous":{"database_uri":"postgresql://u:p@H/db","table":"old"}}`,
			facets: m{"lifecycleStateChange": m{"lifecycleStateChange": "RENAME", "previousIdentifier": m{"namespace": "postgres://h:5432", "name": "db.public.old"}}},
		},
		{
			name:   "lifecycle as the facet",
			cells:  `"lifecycle":{"lifecycleStateChange":"RENAME","previousIdentifier":{"namespace":"postgres://h:5432","name":"db.public.old"}}`,
			facets: m{"lifecycleStateChange": m{"lifecycleStateChange": "RENAME", "previousIdentifier": m{"namespace": "postgres://h:5432", "name": "db.public.old"}}},
		},
		{name: "lifecycle with a bad name before", cells: `"lifecycle":{"change":"RENAME","previous":{"namespace":"n","name":"a\nb"}}`, facets: m{}, faults: []string{"lifecycle: previousIdentifier: the dataset's name holds a control character"}},
		{name: "lifecycle with half a name before", cells: `"lifecycle":{"change":"RENAME","previous":{"name":"a"}}`, facets: m{}, faults: []string{"lifecycle: previousIdentifier.namespace is missing"}},
		{name: "lifecycle without a change", cells: `"lifecycle":{"previous":{"namespace":"n","name":"a"}}`, facets: m{}, faults: []string{"lifecycle: it takes ALTER"}},
		{name: "lifecycle unknown", cells: `"lifecycle":"eaten"`, facets: m{}, faults: []string{"lifecycle: it takes ALTER"}},
		{
			name:   "column lineage",
			cells:  `"column_lineage":{"id":{"inputFields":[{"namespace":"postgres://u:p@h:1","name":"db.s.t","field":"i"}]}}`,
			facets: m{"columnLineage": m{"fields": m{"id": m{"inputFields": l{m{"namespace": "postgres://h:1", "name": "db.s.t", "field": "i"}}}}}},
		},
		{
			name:  "column lineage by lists, named as datasets are",
			cells: `"column_lineage":{"id":[{"database_uri":"postgresql://u:p@H/db","table":"t","field":"i"},{"database_uri":"s3a://lake/raw/token=x/o.csv","field":"f","transformations":[{"type":"DIRECT","description":"password=hunter2"}]}]}`,
			facets: m{"columnLineage": m{"fields": m{"id": m{"inputFields": l{
				m{"namespace": "postgres://h:5432", "name": "db.public.t", "field": "i"},
				m{"namespace": "s3://lake", "name": "raw/token=x/o.csv", "field": "f", "transformations": l{m{"type": "DIRECT", "description": "password=***"}}},
			}}}}},
		},
		{
			name:   "column lineage of a column named fields",
			cells:  `"column_lineage":{"fields":{"inputFields":[{"namespace":"n","name":"t","field":"i"}]}}`,
			facets: m{"columnLineage": m{"fields": m{"fields": m{"inputFields": l{m{"namespace": "n", "name": "t", "field": "i"}}}}}},
		},
		{
			name:   "column lineage of the whole dataset",
			cells:  `"column_lineage":{"fields":{"id":{"inputFields":[]}},"dataset":[{"database_uri":"mysql://h/d","table":"t","field":"i"}]}`,
			facets: m{"columnLineage": m{"fields": m{"id": m{"inputFields": l{}}}, "dataset": l{m{"namespace": "mysql://h:3306", "name": "d.t", "field": "i"}}}},
		},
		{name: "column lineage with a bad name", cells: `"column_lineage":{"id":[{"namespace":"n","name":"a\nb","field":"i"}]}`, facets: m{}, faults: []string{`column_lineage: fields "id".inputFields[0]: the dataset's name holds a control character`}},
		{name: "column lineage with a long name", cells: `"column_lineage":{"` + strings.Repeat("x", 3000) + `":1}`, facets: m{}, faults: []string{strings.Repeat("x", 200) + `…": it is a number, not a list of inputs`}},
		{name: "no column lineage", cells: `"column_lineage":{}`, facets: m{}},
		{
			name:   "symlinks",
			cells:  `"symlinks":[{"database_uri":"hive://u:p@h/d","table":"t"},{"namespace":"s3://b","name":"k","type":"LOCATION"}]`,
			facets: m{"symlinks": m{"identifiers": l{m{"namespace": "hive://h:10000", "name": "d.t", "type": "TABLE"}, m{"namespace": "s3://b", "name": "k", "type": "LOCATION"}}}},
		},
		{name: "symlink with odd characters", cells: `"symlinks":[{"namespace":"mine and yours","name":"t"}]`, facets: m{"symlinks": m{"identifiers": l{m{"namespace": "mine_and_yours", "name": "t", "type": "TABLE"}}}}},
		{name: "no symlinks", cells: `"symlinks":[]`, facets: m{}},
		{name: "symlink without a name", cells: `"symlinks":[{"namespace":"n","name":" "}]`, facets: m{}, faults: []string{"symlinks: identifiers[0]: the dataset's name is empty"}},
		{name: "symlink that is a text", cells: `"symlinks":["x"]`, facets: m{}, faults: []string{"symlinks: 1 is not a dataset"}},
		{name: "symlinks that are an object", cells: `"symlinks":{"namespace":"n"}`, facets: m{}, faults: []string{"symlinks: it is not a list of datasets"}},
		{
			name: "the last one", cells: `"column_lineage":null`, facets: m{},
		},
		{
			name:   "column lineage as the facet",
			cells:  `"column_lineage":{"fields":{"id":{"inputFields":[]}}}`,
			facets: m{"columnLineage": m{"fields": m{"id": m{"inputFields": l{}}}}},
		},
		{name: "column lineage without field", cells: `"column_lineage":{"id":{"inputFields":[{"namespace":"n","name":"t"}]}}`, facets: m{}, faults: []string{`column_lineage: fields "id".inputFields[0].field is missing`}},
		{name: "column lineage without inputs", cells: `"column_lineage":{"id":{}}`, facets: m{}, faults: []string{`fields "id".inputFields is missing`}},
		{name: "column lineage that is a list", cells: `"column_lineage":[1]`, facets: m{}, faults: []string{"column_lineage: it is a list, not an object of columns"}},
		{
			name: "assertions", cells: `"assertions":[{"assertion":"not_null","success":true,"column":"id"}]`, facets: m{},
			input: m{"dataQualityAssertions": m{"assertions": l{m{"assertion": "not_null", "success": true, "column": "id"}}}},
		},
		{name: "assertions without name", cells: `"assertions":[{"success":true}]`, facets: m{}, faults: []string{"assertions: assertions[0].assertion is missing"}},
		{name: "assertions without success", cells: `"assertions":[{"assertion":"unique"}]`, facets: m{}, faults: []string{"assertions: assertions[0].success is missing"}},
		{name: "no assertions", cells: `"assertions":[]`, facets: m{}},
		{
			name: "assertions with numbers", cells: `"assertions":[{"assertion":"row_count","success":false,"expected":1000,"actual":999.5,"params":{"min":1},"description":"token=hunter2"}]`, facets: m{},
			input: m{"dataQualityAssertions": m{"assertions": l{m{"assertion": "row_count", "success": false, "expected": "1000", "actual": "999.5", "params": m{"min": 1.0}, "description": "token=***"}}}},
		},
		{name: "assertions that are a number", cells: `"assertions":1`, facets: m{}, faults: []string{"assertions: it is not"}},
		{
			name: "raw facets", cells: `"description":"x","facets":{"documentation":{"description":"raw"},"acme_cost":{"usd":1.50},"inputStatistics":{"rowCount":1},"outputStatistics":{"rowCount":2}}`,
			facets: m{"documentation": m{"description": "raw"}, "acme_cost": m{"usd": 1.5}},
			input:  m{"inputStatistics": m{"rowCount": 1.0}}, output: m{"outputStatistics": m{"rowCount": 2.0}},
		},
		{
			name:   "raw facets name datasets as rows do",
			cells:  `"facets":{"symlinks":{"identifiers":[{"namespace":"postgresql://u:hunter2@H/db","name":"t","type":"TABLE"}]}}`,
			facets: m{"symlinks": m{"identifiers": l{m{"namespace": "postgres://h:5432", "name": "db.public.t", "type": "TABLE"}}}},
		},
		{name: "secrets in a raw facet", cells: `"facets":{"acme":{"note":"password=hunter2","at":"https://u:hunter2@h/x"}}`, facets: m{"acme": m{"note": "password=***", "at": "https://***@h/x"}}},
		{
			name: "quality metrics", cells: `"facets":{"dataQualityMetrics":{"rowCount":7,"columnMetrics":{"id":{"nullCount":0}}}}`, facets: m{},
			input:   m{"dataQualityMetrics": m{"rowCount": 7.0, "columnMetrics": m{"id": m{"nullCount": 0.0}}}},
			written: m{"dataQualityMetrics": m{"rowCount": 7.0, "columnMetrics": m{"id": m{"nullCount": 0.0}}}},
		},
		{
			name: "subset of both sides", cells: `"facets":{"subset":{"inputCondition":{"type":"location","locations":["a"]},"outputCondition":{"type":"location","locations":["b"]}}}`, facets: m{},
			input:  m{"subset": m{"inputCondition": m{"type": "location", "locations": l{"a"}}, "outputCondition": m{"type": "location", "locations": l{"b"}}}},
			output: m{"subset": m{"inputCondition": m{"type": "location", "locations": l{"a"}}, "outputCondition": m{"type": "location", "locations": l{"b"}}}},
		},
		{name: "raw facet with a wrong type", cells: `"facets":{"schema":{"fields":[{"name":"a","type":{}}]},"null":null}`, facets: m{}, faults: []string{`facets: "schema": fields[0].type is no text`}},
		{name: "raw facet of another lifecycle", cells: `"facets":{"lifecycleStateChange":{"lifecycleStateChange":"eaten"}}`, facets: m{}, faults: []string{`facets: "lifecycleStateChange": lifecycleStateChange takes ALTER`}},
		{name: "raw facet with an odd key", cells: `"facets":{"a\nb":{}}`, facets: m{}, faults: []string{`facets: "a\nb": its key is too long or holds a control character`}},
		{name: "raw facet with a long key", cells: `"facets":{"` + strings.Repeat("k", 5000) + `":{}}`, facets: m{}, faults: []string{strings.Repeat("k", 200) + `…": its key is too long`}},
		{name: "raw facet that is huge", cells: `"facets":{"acme":{"x":"` + strings.Repeat("k", 1<<20) + `"}}`, facets: m{}, faults: []string{`facets: "acme": it is larger than 1048576 bytes`}},
		{name: "raw facet that is a text", cells: `"facets":{"a":"x","b":{"c":1}}`, facets: m{"b": m{"c": 1.0}}, faults: []string{`facets: "a": it is not a JSON object`}},
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
				written := maps.Clone(tt.facets)
				maps.Copy(written, tt.written)
				got := []any{bareAll(dig(input, "facets")), bareAll(dig(output, "facets")), bareAll(dig(input, "inputFacets")), bareAll(dig(output, "outputFacets"))}
				if diff := cmp.Diff([]any{any(tt.facets), any(written), any(orEmpty(tt.input)), any(orEmpty(tt.output))}, got); diff != "" {
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
