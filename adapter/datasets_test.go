package adapter_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// table returns a table artifact of taskRow's run.
func table(n int, description, data string) prefect.Artifact {
	return prefect.Artifact{
		ID: uuid.UUID{15: byte(n)}, Key: new(fmt.Sprintf("key-%d", n)), Type: new("table"), Description: &description,
		Data: json.RawMessage(data), FlowRunID: new(flowRunID), TaskRunID: new(taskRunID), Created: at(float64(n)),
	}
}

// quoted returns data as Prefect's client posts it: JSON in a JSON string.
func quoted(t testing.TB, data string) string {
	t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// names returns the datasets of one side of an event as namespace|name.
func names(event map[string]any, side string) []string {
	list := []string{}
	for _, d := range event[side].([]any) {
		list = append(list, fmt.Sprintf("%s|%s", dig(d, "namespace"), dig(d, "name")))
	}
	return list
}

func TestArtifactForms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data string
		want       []string // inputs
		warnings   []string // a part of each
	}{
		{"rows", `[{"database_uri":"duckdb:///d","table":"b"},{"database_uri":"duckdb:///d","table":"a"}]`, []string{"duckdb:///d|a", "duckdb:///d|b"}, nil},
		{"columns", `{"database_uri":["duckdb:///d","duckdb:///d"],"table":["b","a"],"n":[1,2]}`, []string{"duckdb:///d|a", "duckdb:///d|b"}, nil},
		{"columns with one URI", `{"database_uri":"duckdb:///d","table":["b","a"]}`, []string{"duckdb:///d|a", "duckdb:///d|b"}, nil},
		{"one row as an object", `{"database_uri":"duckdb:///d","table":"a","columns":["x"]}`, []string{"duckdb:///d|a"}, nil},
		{"a short column", `{"database_uri":["duckdb:///d","duckdb:///d"],"table":["b"]}`, []string{"duckdb:///d|b"}, []string{"row 2 is left out: it has no table"}},
		{"lists under names", `[["table","database_uri","n"],["a","duckdb:///d",1],["b","duckdb:///d"],["c"],7]`, []string{"duckdb:///d|a", "duckdb:///d|b"}, []string{"row 3", "row 4 is left out: it is no row"}},
		{"lists without names", `[[1,2],["a","b"]]`, []string{}, []string{"its first row does not name its columns, of which one has to be database_uri, it is left out"}},
		{"one list", `[[1]]`, []string{}, []string{"its first row does not name its columns"}},
		{"one list of names", `[["table"]]`, []string{}, []string{"its first row does not name its columns"}},
		{"names alone", `[["table","database_uri"]]`, []string{}, nil},
		{"an empty list in a list", `[[]]`, []string{}, []string{"its first row does not name its columns"}},
		{"objects in an object", `{"a":{"b":1}}`, []string{}, []string{"row 1 is left out: it has no database_uri"}},
		{"columns by index", `{"database_uri":{"0":"duckdb:///d"},"table":{"0":"a"}}`, []string{}, []string{"row 1 is left out: its database_uri is an object, not a text"}},
		{"columns of unequal length", `{"database_uri":["duckdb:///d"],"table":["a","b","c"]}`, []string{"duckdb:///d|a"}, []string{"row 2 is left out: it has no database_uri", "row 3"}},
		{"nested lists in columns", `{"database_uri":["duckdb:///d",["x"]],"table":["a",{"b":1}]}`, []string{"duckdb:///d|a"}, []string{"row 2 is left out: its database_uri is a list"}},
		{"true", `true`, []string{}, []string{"its data is true or false, not a table"}},
		{"numbers", `[1,2.5]`, []string{}, []string{"row 1 is left out: it is no row", "row 2"}},
		{"NaN as a name", `[{"database_uri":"duckdb:///d","table":NaN}]`, []string{}, []string{"row 1 is left out: it has no table"}},
		{"what Prefect 2 makes of rows with two values", `{"database_uri":"table"}`, []string{}, []string{"row 1 is left out: it has no table"}},
		{"no rows", `[]`, []string{}, nil},
		{"no columns", `{"database_uri":[],"table":[]}`, []string{}, nil},
		{"an empty object", `{}`, []string{}, []string{"row 1 is left out: it has no database_uri"}},
		{"twice the same", `[{"database_uri":"duckdb:///d","table":"a"},{"database_uri":" duckdb:///d ","table":"a "}]`, []string{"duckdb:///d|a"}, nil},
		{"null, true and numbers beside", `[{"database_uri":"duckdb:///d","table":"a","x":null,"y":true,"z":1.5}]`, []string{"duckdb:///d|a"}, nil},
		{"NaN beside", `[{"database_uri":"duckdb:///d","table":"NaN \" -Infinity","x":NaN,"y":-Infinity,"z":Infinity}]`, []string{`duckdb:///d|NaN " -Infinity`}, nil},
		{"odd rows alone are refused", `[{"database_uri":"duckdb:///d","table":"a"},null,3,"x",[],{},{"table":"b"},{"database_uri":null,"table":"b"},
			{"database_uri":"","table":"b"},{"database_uri":5,"table":"b"},{"database_uri":"duckdb:///d"},{"database_uri":"duckdb:///d","table":null},
			{"database_uri":"duckdb:///d","table":["b"]},{"database_uri":"duckdb:///d","table":"b\nc"},{"database_uri":"duckdb:///d","table":"ok"}]`,
			[]string{"duckdb:///d|a", "duckdb:///d|ok"},
			[]string{
				"row 2 is left out: it is no row", "row 3", "row 4", "row 5", "row 6 is left out: it has no database_uri", "row 7", "row 8", "row 9",
				"row 10 is left out: its database_uri is a number", "row 11 is left out: it has no table", "row 12", "row 13 is left out: its table is a list", "row 14 is left out: the dataset's name holds a control character",
			}},
		{"known systems", `[{"database_uri":"postgresql://u:p@h/db","table":"public.t"},{"database_uri":"s3://lake","table":"raw/x.parquet"}]`, []string{"postgres://h:5432|db.public.t", "s3://lake|raw/x.parquet"}, nil},
		{"a store's address is enough", `[{"database_uri":"s3://lake/raw/x.parquet"}]`, []string{"s3://lake|raw/x.parquet"}, nil},
		{"null", `null`, []string{}, []string{"its data is null, not a table"}},
		{"a number", `3`, []string{}, []string{"its data is a number, not a table"}},
		{"no JSON", `[{"database_uri":`, []string{}, []string{"its data is no JSON"}},
		{"nothing", ``, []string{}, []string{"its data is no JSON"}},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for form, data := range map[string]string{"string": quoted(t, tt.data), "value": tt.data} {
				telling := tell(t, a, taskSnapshot(taskRow(), table(1, "ol-dataset_input", data)), nil)
				end := last(t, telling)
				if diff := cmp.Diff(tt.want, names(end, "inputs")); diff != "" {
					t.Errorf("%s: inputs (-want +got):\n%s", form, diff)
				}
				if outputs := names(end, "outputs"); len(outputs) > 0 {
					t.Errorf("%s: outputs %v", form, outputs)
				}
				if len(telling.Warnings) != len(tt.warnings) {
					t.Fatalf("%s: warnings %v", form, telling.Warnings)
				}
				for i, w := range telling.Warnings {
					for _, part := range []string{tt.warnings[i], `"key-1"`, uuid.UUID{15: 1}.String(), taskRunID.String()} {
						if !strings.Contains(w.Message, part) || w.Run != taskRunID {
							t.Errorf("%s: warning %q lacks %q", form, w.Message, part)
						}
					}
				}
			}
		})
	}
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	const data = `[{"database_uri":"duckdb:///d","table":"t"}]`
	tests := []struct {
		name            string
		change          func(*prefect.Artifact)
		inputs, outputs int
	}{
		{"input", func(a *prefect.Artifact) { a.Description = new("ol-dataset_input") }, 1, 0},
		{"output", func(a *prefect.Artifact) { a.Description = new("ol-dataset_output") }, 0, 1},
		{"any case, anywhere", func(a *prefect.Artifact) { a.Description = new("What we read: OL-Dataset_INPUT, daily.") }, 1, 0},
		{"both", func(a *prefect.Artifact) { a.Description = new("ol-dataset_input, ol-dataset_output") }, 1, 1},
		{"none", func(a *prefect.Artifact) { a.Description = new("a table for people") }, 0, 0},
		{"half a word", func(a *prefect.Artifact) { a.Description = new("ol-dataset") }, 0, 0},
		{"no description", func(a *prefect.Artifact) { a.Description = nil }, 0, 0},
		{"no type", func(a *prefect.Artifact) { a.Type = nil }, 0, 0},
		{"another type", func(a *prefect.Artifact) { a.Type = new("markdown") }, 0, 0},
		{"another task's", func(a *prefect.Artifact) { a.TaskRunID = new(placeholderID) }, 0, 0},
		{"no key", func(a *prefect.Artifact) { a.Key = nil }, 0, 1},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			artifact := table(1, "ol-dataset_output", data)
			tt.change(&artifact)
			telling := tell(t, a, taskSnapshot(taskRow(), artifact), nil)
			end := last(t, telling)
			if got := [2]int{len(names(end, "inputs")), len(names(end, "outputs"))}; got != [2]int{tt.inputs, tt.outputs} {
				t.Errorf("inputs and outputs %v", got)
			}
			if start := object(t, telling.Events[0].Body); len(names(start, "inputs"))+len(names(start, "outputs")) > 0 {
				t.Error("START has datasets")
			}
		})
	}
}

// TestFlowBodyArtifacts checks that a flow run has the artifacts of its body alone, not those of its tasks.
func TestFlowBodyArtifacts(t *testing.T) {
	t.Parallel()
	body, task := table(1, "ol-dataset_input", `[{"database_uri":"duckdb:///d","table":"body"}]`), table(2, "ol-dataset_input", `[{"database_uri":"duckdb:///d","table":"task"}]`)
	body.TaskRunID = nil
	s := flowSnapshot(flowRow())
	s.Artifacts = []prefect.Artifact{body, task}
	if diff := cmp.Diff([]string{"duckdb:///d|body"}, names(last(t, tell(t, newAdapter(t), s, nil)), "inputs")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyArtifacts checks a loop that reuses keys: every version counts, in whatever order they were read, and what is
// said of a dataset last stands.
func TestManyArtifacts(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	var artifacts []prefect.Artifact
	for i := range 700 {
		artifact := table(1, "ol-dataset_output", fmt.Sprintf(`[{"database_uri":"duckdb:///d","table":"t%03d","row_count":%d}]`, i%350, i))
		artifact.ID, artifact.Created = uuid.UUID{14: byte(i >> 8), 15: byte(i)}, at(float64(i))
		artifacts = append(artifacts, artifact)
	}
	telling := tell(t, a, taskSnapshot(taskRow(), artifacts...), nil)
	for i := range len(artifacts) / 2 {
		j := len(artifacts) - 1 - i
		artifacts[i], artifacts[j] = artifacts[j], artifacts[i]
	}
	again := tell(t, a, taskSnapshot(taskRow(), artifacts...), nil)
	if diff := cmp.Diff(string(telling.Events[1].Body), string(again.Events[1].Body)); diff != "" {
		t.Errorf("the order of reading shows (-first +second):\n%s", diff)
	}
	end := last(t, telling)
	if n := len(end["outputs"].([]any)); n != 350 {
		t.Fatalf("%d outputs", n)
	}
	if got := dig(end["outputs"].([]any)[7], "outputFacets", "outputStatistics", "rowCount"); got != 357.0 {
		t.Errorf("rowCount of t007 is %v", got)
	}
	want := adapter.Edge{Namespace: "duckdb:///d", Name: "t000", Output: true}
	if len(telling.Edges) != 350 || telling.Edges[0] != want {
		t.Errorf("%d edges, the first %+v", len(telling.Edges), telling.Edges[0])
	}
}

func TestVerbatimNaming(t *testing.T) {
	t.Parallel()
	a := newAdapter(t, func(s *adapter.Settings) { s.DatasetNaming = adapter.DatasetNamingVerbatim })
	data := `[{"database_uri":"postgresql://u:hunter2@h/db?password=x","table":"public.t"},{"database_uri":"s3://lake/x"}]`
	telling := tell(t, a, taskSnapshot(taskRow(), table(1, "ol-dataset_input", data)), nil)
	if diff := cmp.Diff([]string{"postgresql://h/db|public.t"}, names(last(t, telling), "inputs")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(telling.Warnings) != 1 {
		t.Errorf("warnings %v", telling.Warnings)
	}
}
