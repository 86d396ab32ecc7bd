package adapter_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/openlineage/oltest"
	"github.com/prefect-openlineage/listener/openlineage/olvalidate"
)

// FuzzDatasets gives any data and description to a table artifact, under every way of naming. The run must be told all
// the same, in events that follow the spec, that nothing in Marquez breaks for, and that are the same bytes each time.
func FuzzDatasets(f *testing.F) {
	for _, data := range []string{
		``, `null`, `[]`, `{}`, `[{}]`, `[[]]`, `[[1]]`, `[["table"],["x"]]`, `{"a":{"b":1}}`,
		`"[{\"database_uri\": \"duckdb:///d\", \"table\": \"t\"}]"`,
		`[["database_uri","table"],["duckdb:///d","t"],["x"],3]`,
		`{"database_uri":["postgresql://u:p@h/db"],"table":["public.t","u"],"columns":[["a","b"]]}`, `[{"database_uri":"s3://b/k","size":NaN}]`,
		`[{"database_uri":"duckdb:///d","table":"t","schema":[{"name":"a","fields":{"b":"int"}}],"row_count":1,"owners":["x",{"name":"y","type":"z"}]}]`,
		`[{"database_uri":"duckdb:///d","table":"t","column_lineage":{"a":[{"database_uri":"mysql://h/d","table":"t","field":"f"}]},"version":1e400,"size":3.0}]`,
		`[{"database_uri":"duckdb:///d","table":"t","assertions":[{"assertion":"x","success":true,"expected":1}],"lifecycle":{"change":"rename","previous":{"namespace":"a b","name":"c"}}}]`,
		`[{"database_uri":"duckdb:///d","table":"t","symlinks":[{"database_uri":"hive://h/d","table":"t"}],"facets":{"a":{"b":1},"schema":{"fields":[{"name":"x","type":1}]}}}]`,
		`[{"database_uri":"duckdb:///d","table":"t","facets":{"storage":{"storageLayer":"x"},"tags":{"tags":[{"key":"a","value":"b"}]},"dataSource":{"name":"a","uri":"b:c"},"catalog":{"framework":"a","type":"b","name":"c"}}}]`,
		`[{"database_uri":"duckdb:///d","table":"t","facets":{"dataQualityMetrics":{"lastUpdated":"2026-11-30T00:00:00Z","columnMetrics":{"a":{"min":1}}},"hierarchy":{"hierarchy":[]},"datasetType":{"datasetType":"x"}}}]`,
		`[{"database_uri":"duckdb:///d","table":"t","facets":{"subset":{"inputCondition":{"type":"partition","partitions":[{"dimensions":{}}]},"outputCondition":{"type":"binary","left":{"type":"location","locations":[]},"right":{"type":"compare","left":{"type":"field","field":"a"},"right":{"type":"literal","value":"b"},"comparison":"="},"operator":"and"}}}}]`,
		`[{"database_uri":"duckdb:///d","table":"t","facets":{"lineage":{"inputs":[{"type":"DATASET","namespace":"a","name":"b"}],"fields":{"x":{"inputs":[]}}},"inputStatistics":{"rowCount":1},"outputStatistics":{"size":2}}}]`,
	} {
		for _, description := range []string{"ol-dataset_input and ol-dataset_output", "ol-dataset_output"} {
			f.Add(data, description)
		}
	}
	validator := oltest.Known(f)
	renamed, err := openlineage.NewNameMap([]openlineage.NameRule{
		{Match: `duckdb:///(.*)/(.*)`, Namespace: "duck $1", Name: "$2"}, {Match: `(.)(.*)`, Name: "$2"},
	})
	if err != nil {
		f.Fatal(err)
	}
	adapters := []*adapter.Adapter{
		newAdapter(f),
		newAdapter(f, func(s *adapter.Settings) { s.DatasetNaming = adapter.DatasetNamingVerbatim }),
		newAdapter(f, func(s *adapter.Settings) { s.DatasetMap = renamed }),
	}
	f.Fuzz(func(t *testing.T, data, description string) {
		// One of them each time: what is fuzzed comes past all.
		checkTelling(t, adapters[len(data)%len(adapters)], validator, data, description)
	})
}

// checkTelling tells a run with one table artifact and judges what was told.
func checkTelling(t *testing.T, a *adapter.Adapter, validator *olvalidate.Validator, data, description string) {
	s := taskSnapshot(taskRow(), table(1, description, data))
	telling := tell(t, a, s, nil)
	if len(telling.Events) != 2 {
		t.Fatalf("%d events, warnings %v", len(telling.Events), telling.Warnings)
	}
	body := telling.Events[1].Body
	event, err := openlineage.ParseEvent(body)
	if err != nil {
		t.Fatalf("not readable: %v", err)
	}
	if canonical, err := openlineage.CanonicalJSON(body); err != nil || !bytes.Equal(canonical, body) {
		t.Errorf("not canonical: %v\n%s", err, body)
	}
	if len(telling.Edges) != len(event.Inputs)+len(event.Outputs) {
		t.Errorf("%d edges of %d inputs and %d outputs", len(telling.Edges), len(event.Inputs), len(event.Outputs))
	}
	for _, found := range poison(t, body) {
		t.Error(found)
	}
	// An author may name a schema of their own, by which nobody here can judge.
	if validator != nil && !bytes.Contains(body, []byte(`"_schemaURL":"`+ownSchema(body))) {
		if err := validator.Validate(body); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
	}
	for _, w := range telling.Warnings {
		if len(w.Message) > 1500 || oddLine(w.Message) || !utf8.ValidString(w.Message) || !strings.Contains(w.Message, taskRunID.String()) {
			t.Errorf("a warning of %d bytes: %q", len(w.Message), w.Message)
		}
	}
	if again := tell(t, a, s, nil); !bytes.Equal(again.Events[1].Body, body) {
		t.Error("the second telling differs")
	}
}

// ownSchema returns the first _schemaURL in an event that is neither the spec's nor this program's; a text that is
// nowhere if there is none.
func ownSchema(body []byte) string {
	rest := body
	for {
		_, after, ok := bytes.Cut(rest, []byte(`"_schemaURL":`))
		if !ok {
			return "\x00"
		}
		rest = after
		var url string
		if json.NewDecoder(bytes.NewReader(after)).Decode(&url) == nil &&
			!strings.HasPrefix(url, "https://openlineage.io/spec/") && !strings.HasPrefix(url, producer) {
			return url
		}
	}
}
