package openlineage_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/openlineage/oltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	// Indented, so that a difference can be read.
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// smallest returns an event that holds only what must be there.
func smallest() openlineage.Event {
	return openlineage.Event{
		Type:     "START",
		Time:     time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Producer: openlineage.Producer("1.2.3"),
		Run:      openlineage.Run{ID: uuid.MustParse("0197c348-87ff-770c-9c53-1b6cfa8de1d8")},
		Job:      openlineage.Job{Namespace: "default", Name: "etl"},
	}
}

func id(n byte) uuid.UUID { return uuid.UUID{0: 0x01, 6: 0x70, 8: 0x80, 15: n} }

// fullest returns an event that holds every typed facet.
func fullest() openlineage.Event {
	e := smallest()
	e.Type = "COMPLETE"
	e.Time = time.Date(2026, 11, 30, 13, 0, 0, 123456789, time.FixedZone("", 3600))
	e.Run.Facets.Add(runFacets()...)
	e.Job.Facets.Add(jobFacets()...)
	e.Inputs = []openlineage.Dataset{{
		Namespace: "postgres://h:5432",
		Name:      "db.public.orders",
		Facets:    openlineage.NewFacets(datasetFacets()...),
		IOFacets:  openlineage.NewFacets(inputFacets()...),
	}}
	e.Outputs = []openlineage.Dataset{
		{Namespace: "s3://lake", Name: "a <b> & \"c\"", IOFacets: openlineage.NewFacets(outputFacets()...)},
		{Namespace: "file", Name: "/data/é"},
	}
	return e
}

func runFacets() []openlineage.Facet {
	parent := openlineage.ParentRunFacet{
		Run: openlineage.RunIdentifier{ID: id(1)},
		Job: openlineage.JobIdentifier{Namespace: "default", Name: "etl"},
		Root: &openlineage.RootRun{
			Run: openlineage.RunIdentifier{ID: id(2)},
			Job: openlineage.JobIdentifier{Namespace: "outside", Name: "dag"},
		},
	}
	return []openlineage.Facet{
		parent,
		openlineage.NominalTimeRunFacet{
			Start: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), End: time.Date(2026, 11, 30, 13, 0, 0, 1000, time.UTC),
		},
		openlineage.ProcessingEngineRunFacet{Version: "3.9.1", Name: "Prefect", AdapterVersion: "1.2.3"},
		openlineage.JobDependenciesRunFacet{Upstream: []openlineage.JobDependency{{
			Job: parent.Job, Run: &parent.Run, DependencyType: "DIRECT_INVOCATION",
		}}},
		openlineage.ErrorMessageRunFacet{Message: "line 1\nline 2", ProgrammingLanguage: "python", StackTrace: "at x"},
		openlineage.TagsRunFacet{Tags: []openlineage.Tag{{Key: "team", Value: "blue", Source: "USER"}}},
		openlineage.ExecutionParametersRunFacet{Parameters: []openlineage.ExecutionParameter{{Key: "n", Value: "1"}}},
		openlineage.PrefectDeploymentRunFacet{
			ID: id(3), Name: "prod", Version: "7", Created: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		},
		openlineage.PrefectRunFacet{
			Kind: "task-run", FlowRunID: id(4), TaskRunID: id(5), FlowID: id(6), FlowName: "etl", DeploymentID: id(3),
			DeploymentName: "prod", TaskKey: "load-4d7a2869", EnclosingTaskRunID: id(7), ParentTaskRunID: id(8),
			URL: "https://prefect.example.com/runs/task-run/x", RunName: "load-612", StateName: "Cached",
			StateType: "COMPLETED", RunCount: new(0), WorkPool: "k8s", WorkQueue: "default", Cached: new(true),
			Inferred: new(false),
		},
	}
}

func jobFacets() []openlineage.Facet {
	return []openlineage.Facet{
		openlineage.JobTypeJobFacet{ProcessingType: "BATCH", Integration: "PREFECT", JobType: "TASK"},
		openlineage.DocumentationJobFacet{Description: "Loads.", ContentType: "text/markdown"},
		openlineage.SourceCodeLocationJobFacet{
			Type: "git", URL: "https://github.com/org/repo/blob/main/flow.py", RepoURL: "https://github.com/org/repo",
			Path: "flow.py", Version: "abc", Tag: "v1", Branch: "main", PullRequestNumber: "7",
		},
		openlineage.TagsJobFacet{Tags: []openlineage.Tag{{Key: "pii", Value: "true", Source: "USER"}}},
		openlineage.OwnershipJobFacet{Owners: []openlineage.Owner{{Name: "team:data", Type: "MAINTAINER"}}},
	}
}

func datasetFacets() []openlineage.Facet {
	return []openlineage.Facet{
		openlineage.SchemaDatasetFacet{Fields: []openlineage.SchemaField{
			{Name: "id", Type: "bigint", Description: "key", OrdinalPosition: new(1)},
			{Name: "address", Fields: []openlineage.SchemaField{{Name: "street"}}},
		}},
		openlineage.DocumentationDatasetFacet{Description: "Orders.", ContentType: "text/plain"},
		openlineage.OwnershipDatasetFacet{Owners: []openlineage.Owner{{Name: "team:data"}}},
		openlineage.ColumnLineageDatasetFacet{
			Fields: map[string]openlineage.ColumnLineage{"id": {InputFields: []openlineage.InputField{{
				Namespace: "s3://lake", Name: "raw", Field: "id", Transformations: []openlineage.Transformation{
					{Type: "DIRECT", Subtype: "IDENTITY", Masking: new(false)},
				},
			}}}},
			Dataset: []openlineage.InputField{{Namespace: "s3://lake", Name: "raw", Field: "day"}},
		},
		openlineage.DatasetVersionDatasetFacet{Version: "42"},
		openlineage.LifecycleStateChangeDatasetFacet{
			Change: "RENAME", Previous: &openlineage.DatasetIdentifier{Namespace: "postgres://h:5432", Name: "db.public.o"},
		},
		openlineage.DatasourceDatasetFacet{Name: "postgres://h:5432", URI: "postgres://h:5432/db"},
		openlineage.SymlinksDatasetFacet{Identifiers: []openlineage.Symlink{
			{Namespace: "hive://h:9083", Name: "db.orders", Type: "TABLE"},
		}},
	}
}

func inputFacets() []openlineage.Facet {
	return []openlineage.Facet{
		openlineage.InputStatisticsInputDatasetFacet{RowCount: new(int64(0)), Size: new(int64(1 << 60))},
		openlineage.DataQualityAssertionsDatasetFacet{Assertions: []openlineage.Assertion{{
			Assertion: "not_null", Success: true, Column: "id", Severity: "error",
			Params: map[string]json.RawMessage{"threshold": json.RawMessage(`0.10`)},
		}}},
	}
}

func outputFacets() []openlineage.Facet {
	return []openlineage.Facet{openlineage.OutputStatisticsOutputDatasetFacet{
		RowCount: new(int64(3)), Size: new(int64(100)), FileCount: new(int64(1)),
	}}
}

func canonicalOf(t testing.TB, e openlineage.Event) []byte {
	t.Helper()
	body, err := e.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestEventCanonical(t *testing.T) {
	t.Parallel()
	const want = `{"eventTime":"2026-11-30T12:00:00.000000Z","eventType":"START","inputs":[],` +
		`"job":{"facets":{},"name":"etl","namespace":"default"},"outputs":[],` +
		`"producer":"https://github.com/prefect-openlineage/listener/tree/v1.2.3",` +
		`"run":{"facets":{},"runId":"0197c348-87ff-770c-9c53-1b6cfa8de1d8"},` +
		`"schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"}`
	if got := canonicalOf(t, smallest()); string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	golden(t, "event_full.json", canonicalOf(t, fullest()))
}

func TestEventCanonicalKeepsToTheSpec(t *testing.T) {
	t.Parallel()
	v := oltest.Validator(t)
	for name, e := range map[string]openlineage.Event{"smallest": smallest(), "fullest": fullest()} {
		if err := v.Validate(canonicalOf(t, e)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEventTimeForms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		at   time.Time
		want string
	}{
		{"zone", time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 5400)), "2025-12-31T23:00:00.000000Z"},
		{"cut, not rounded", time.Date(2026, 1, 1, 0, 0, 0, 999999999, time.UTC), "2026-01-01T00:00:00.999999Z"},
		{"year 1", time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), "0001-01-01T00:00:00.000001Z"},
		{"year 9999", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), "9999-12-31T23:59:59.000000Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := smallest()
			e.Time = tt.at
			if got := string(canonicalOf(t, e)); !strings.Contains(got, `"eventTime":"`+tt.want+`"`) {
				t.Errorf("want %s in %s", tt.want, got)
			}
		})
	}
}

func TestEventCanonicalRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*openlineage.Event)
		want   string
	}{
		{"no type", func(e *openlineage.Event) { e.Type = "" }, "no event type"},
		{"no time", func(e *openlineage.Event) { e.Time = time.Time{} }, "no event time"},
		{"year 10000", func(e *openlineage.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "year 10000"},
		{"no producer", func(e *openlineage.Event) { e.Producer = "" }, "no producer"},
		{"no run id", func(e *openlineage.Event) { e.Run.ID = uuid.Nil }, "no run id"},
		{"no job namespace", func(e *openlineage.Event) { e.Job.Namespace = "" }, "no job namespace"},
		{"no job name", func(e *openlineage.Event) { e.Job.Name = "" }, "no job name"},
		{"dataset without a name", func(e *openlineage.Event) {
			e.Outputs = []openlineage.Dataset{{Namespace: "a"}}
		}, "no name"},
		{"dataset without a namespace", func(e *openlineage.Event) {
			e.Inputs = []openlineage.Dataset{{Name: "a"}}
		}, "no namespace"},
		{"nominal time out of range", func(e *openlineage.Event) {
			e.Run.Facets.Add(openlineage.NominalTimeRunFacet{Start: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)})
		}, "nominalTime"},
		{"nominal end out of range", func(e *openlineage.Event) {
			e.Run.Facets.Add(openlineage.NominalTimeRunFacet{Start: e.Time, End: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
		}, "nominalTime"},
		{"deployment out of range", func(e *openlineage.Event) {
			e.Run.Facets.Add(openlineage.PrefectDeploymentRunFacet{Created: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
		}, "prefect_deployment"},
		{"facet with broken JSON", func(e *openlineage.Event) {
			e.Inputs = []openlineage.Dataset{{Namespace: "a", Name: "b", IOFacets: openlineage.NewFacets(
				openlineage.DataQualityAssertionsDatasetFacet{Assertions: []openlineage.Assertion{
					{Params: map[string]json.RawMessage{"x": json.RawMessage(`{`)}},
				}},
			)}}
		}, "dataQualityAssertions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := smallest()
			tt.change(&e)
			if _, err := e.Canonical(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]openlineage.Event{"smallest": smallest(), "fullest": fullest()} {
		body := canonicalOf(t, e)
		parsed, err := openlineage.ParseEvent(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		parsed.Producer = "https://example.com/a-later-version" // facets keep the producer that they were made with
		again := canonicalOf(t, parsed)
		want := bytes.Replace(body, []byte(`,"producer":"`+e.Producer+`"`), []byte(`,"producer":"`+parsed.Producer+`"`), 1)
		if diff := cmp.Diff(string(want), string(again)); diff != "" {
			t.Errorf("%s changed:\n%s", name, diff)
		}
	}
	for _, bad := range []string{
		"", "[]", `{"run":1}`, `{"run":{"runId":"x"}}`, `{"run":{"facets":[]}}`, `{"job":{"facets":{"a":1}}}`,
		`{"inputs":[{"facets":1}]}`, `{"outputs":[{"outputFacets":{"a":[]}}]}`, `{"eventTime":"now"}`,
	} {
		if _, err := openlineage.ParseEvent([]byte(bad)); err == nil {
			t.Errorf("ParseEvent(%s) took it", bad)
		}
	}
}

// Whatever texts an event holds, decoding and encoding it again changes nothing.
func TestEventCanonicalSettles(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.StringN(1, 20, -1), rapid.SampledFrom([]string{"\xff", "a\x00b", "<&>", "\u2028", `"\`}))
	rapid.Check(t, func(t *rapid.T) {
		e := smallest()
		e.Time = time.UnixMicro(rapid.Int64Range(-62135596799000000, 253402300799999999).Draw(t, "time"))
		e.Job.Name, e.Job.Namespace = text.Draw(t, "name"), text.Draw(t, "namespace")
		e.Job.Facets.Add(openlineage.DocumentationJobFacet{Description: text.Draw(t, "documentation")})
		e.Outputs = []openlineage.Dataset{{Namespace: text.Draw(t, "ns"), Name: text.Draw(t, "dataset")}}
		raw, err := json.Marshal(map[string]any{"x": anyJSON(3).Draw(t, "raw")})
		if err != nil {
			t.Skip("no JSON")
		}
		if err := e.Outputs[0].Facets.AddRaw(openlineage.DatasetEntity, "custom", raw, openlineage.VerbatimNamer); err != nil {
			t.Fatal(err)
		}
		body, err := e.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if settled, err := openlineage.CanonicalJSON(body); err != nil || !bytes.Equal(settled, body) {
			t.Fatalf("not canonical: %s, %v", body, err)
		}
		parsed, err := openlineage.ParseEvent(body)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parsed.Canonical(); err != nil || !bytes.Equal(again, body) {
			t.Fatalf("changed:\n%s\n%s\n%v", body, again, err)
		}
	})
}

func FuzzParseEvent(f *testing.F) {
	f.Add(canonicalOf(f, smallest()))
	f.Add(canonicalOf(f, fullest()))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := openlineage.ParseEvent(body)
		if err != nil {
			return
		}
		once, err := e.Canonical()
		if err != nil {
			return
		}
		parsed, err := openlineage.ParseEvent(once)
		if err != nil {
			t.Fatalf("%s can't be read: %v", once, err)
		}
		if twice, err := parsed.Canonical(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s, %v", once, twice, err)
		}
	})
}
