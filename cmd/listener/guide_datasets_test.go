package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/test/docs"
)

const datasetsGuide = "../../docs/datasets.md"

// side is what an event says of a dataset that a run read or wrote.
type side struct {
	Namespace, Name                   string
	Facets, InputFacets, OutputFacets map[string]map[string]any
}

// tellRow tells a run with one table artifact of one row, that is read and written.
func tellRow(t *testing.T, names config.Names, row string) (input, output *side, warnings []string) {
	t.Helper()
	a, err := adapter.New(adapter.Settings{
		Producer: "https://example.com/listener", Version: "1.2.3",
		DatasetNaming: adapter.DatasetNaming(names.DatasetNaming), DatasetMap: names.DatasetMap,
	})
	if err != nil {
		t.Fatal(err)
	}
	id, at := uuid.UUID{15: 1}, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := prefect.Snapshot{
		FlowRun: &prefect.FlowRun{
			ID: id, Name: "run", RunCount: 1, StartTime: &at, EndTime: &at,
			State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: at},
		},
		Flow: &prefect.Flow{Name: "guide"},
		Artifacts: []prefect.Artifact{{
			ID: id, Type: new("table"), Description: new("ol-dataset_input ol-dataset_output"),
			Data: json.RawMessage("[" + row + "]"), FlowRunID: &id,
		}},
	}
	told, _ := a.Pin(s, nil)
	telling := a.Tell(s, told, adapter.Beside{})
	for _, w := range telling.Warnings {
		warnings = append(warnings, w.Message)
	}
	var end struct{ Inputs, Outputs []side }
	if err := json.Unmarshal(telling.Events[len(telling.Events)-1].Body, &end); err != nil {
		t.Fatal(err)
	}
	if len(end.Inputs) == 0 {
		return nil, nil, warnings
	}
	for _, d := range []*side{&end.Inputs[0], &end.Outputs[0]} {
		for _, facets := range []map[string]map[string]any{d.Facets, d.InputFacets, d.OutputFacets} {
			for _, facet := range facets {
				delete(facet, "_producer")
				delete(facet, "_schemaURL")
			}
		}
	}
	return &end.Inputs[0], &end.Outputs[0], warnings
}

func decodeJSON(t *testing.T, where, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v in %s", where, err, text)
	}
}

// What a row says is in the event as the guide shows it, for every key that the guide has.
func TestTheGuideOnDatasetsKeys(t *testing.T) {
	t.Parallel()
	page := docs.Read(t, datasetsGuide)
	shown := map[string]bool{}
	for _, section := range page {
		if section.Level != 3 {
			continue
		}
		if len(section.Fences)%2 != 0 {
			t.Fatalf("%s: a row without what comes of it", section.Heading)
		}
		for pair := range slices.Chunk(section.Fences, 2) {
			var row map[string]any
			decodeJSON(t, section.Heading, pair[0].Text, &row)
			for key := range row {
				shown[key] = true
			}
			// As text, since the order of its members counts.
			whole := `{"database_uri": "duckdb:///guide", "table": "t", ` + strings.TrimPrefix(pair[0].Text, "{")
			input, output, warnings := tellRow(t, config.Names{}, whole)
			if input == nil || len(warnings) > 0 {
				t.Fatalf("%s: %v", section.Heading, warnings)
			}
			type facets = map[string]map[string]any
			want := side{Facets: facets{}, InputFacets: facets{}, OutputFacets: facets{}}
			decodeJSON(t, section.Heading, pair[1].Text, &want)
			equal(t, want, side{Facets: input.Facets, InputFacets: input.InputFacets, OutputFacets: output.OutputFacets})
			equal(t, input.Facets, output.Facets)
		}
	}
	for _, row := range page.Section(t, "What a row can say").Tables[0].Rows {
		for _, key := range docs.Spans(row[0]) {
			if !shown[key] {
				t.Errorf("there is no example of %s", key)
			}
		}
	}
	if len(shown) != 13 {
		t.Errorf("the guide shows %d keys: %v", len(shown), slices.Sorted(maps.Keys(shown)))
	}
}

// cell is the text of a table's cell, without its backticks.
func cell(text string) string {
	if spans := docs.Spans(text); len(spans) > 0 {
		return spans[0]
	}
	return text
}

// named checks a table of URI, table, namespace and name, which begins at a column.
func named(t *testing.T, names config.Names, table docs.Table, from int) {
	t.Helper()
	for _, row := range table.Rows {
		uri, name := cell(row[from]), cell(row[from+1])
		whole, err := json.Marshal(map[string]string{"database_uri": uri, "table": name})
		if err != nil {
			t.Fatal(err)
		}
		input, _, warnings := tellRow(t, names, string(whole))
		if input == nil || len(warnings) > 0 {
			t.Errorf("%s %s: %v", uri, name, warnings)
			continue
		}
		equal(t, cell(row[from+2])+" "+cell(row[from+3]), input.Namespace+" "+input.Name)
	}
}

func TestTheGuideOnDatasetsNames(t *testing.T) {
	t.Parallel()
	table := docs.Read(t, datasetsGuide).Section(t, "Names").Tables[0]
	if len(table.Rows) < 38 {
		t.Errorf("the guide has %d systems", len(table.Rows))
	}
	named(t, config.Names{}, table, 1)
}

func TestTheGuideOnTheDatasetMap(t *testing.T) {
	t.Parallel()
	section := docs.Read(t, datasetsGuide).Section(t, "DATASET_MAP")
	load := func(w world) (config.Names, error) {
		w.env = append([]string{"OPENLINEAGE_URL=http://h"}, w.env...)
		s, err := w.load()
		return s.config.Names, err
	}
	for _, fence := range section.Fences {
		var w world
		switch fence.Language {
		case "yaml":
			w = world{env: []string{"DATASET_MAP=/etc/map.yml"}, files: map[string]string{"/etc/map.yml": fence.Text}}
		case "env":
			w = world{env: variables(t, fence.Text)}
		default:
			t.Fatalf("an example in %s", fence.Language)
		}
		names, err := load(w)
		if err != nil {
			t.Fatal(err)
		}
		table := section.Tables[0]
		if fence.Language == "env" { // it has one of the rules
			table.Rows = table.Rows[3:]
		}
		named(t, names, table, 0)
	}
	for _, row := range section.Tables[1].Rows {
		_, err := load(world{env: []string{"DATASET_MAP=" + cell(row[0])}})
		if err == nil || !strings.Contains(err.Error(), "DATASET_MAP: "+cell(row[1])) {
			t.Errorf("%s: got %v, the guide says %s", row[0], err, row[1])
		}
	}
}

func TestTheGuideOnRefusedRows(t *testing.T) {
	t.Parallel()
	for _, row := range docs.Read(t, datasetsGuide).Section(t, "What is refused").Tables[0].Rows {
		_, _, warnings := tellRow(t, config.Names{}, cell(row[0]))
		if len(warnings) != 1 || !strings.HasSuffix(warnings[0], cell(row[1])) {
			t.Errorf("%s: got %q, the guide says %s", row[0], warnings, row[1])
		}
	}
}

func TestTheGuideOnSecretsOfDatasets(t *testing.T) {
	t.Parallel()
	for _, row := range docs.Read(t, datasetsGuide).Section(t, "Secrets").Tables[0].Rows {
		whole, err := json.Marshal(map[string]string{"database_uri": cell(row[0]), "table": "t"})
		if err != nil {
			t.Fatal(err)
		}
		input, _, warnings := tellRow(t, config.Names{}, string(whole))
		if input == nil || len(warnings) > 0 {
			t.Errorf("%s: %v", row[0], warnings)
			continue
		}
		equal(t, cell(row[1]), input.Namespace)
		if !strings.Contains(row[0], "hunter2") || strings.Contains(input.Namespace+input.Name, "hunter2") {
			t.Errorf("%s: the example has no secret, or it is in %s", row[0], input.Namespace)
		}
	}
}
