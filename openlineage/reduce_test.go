package openlineage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
)

// What becomes of a name is what the OpenLineage Python client 1.54.0 makes of it.
func TestReducerTrimsNames(t *testing.T) {
	t.Parallel()
	reducer := openlineage.Reducer{Trimmers: openlineage.Trimmers()}
	for _, test := range []struct{ name, want string }{
		{"/data/sales/day=2026-11-30", "/data/sales"},
		{"/data/sales/region=eu/day=1", "/data/sales"},
		{"/day=1", "/day=1"},
		{"day=1", "day=1"},
		{"a/day=1", "a"},
		{"s/a=b=c", "s/a=b=c"},
		{"/a/=", "/a"},
		{"/a//day=1", "/a/"},
		{"/tmp/20250721", "/tmp"},
		{"/tmp/20250722T0901Z", "/tmp"},
		{"/tmp/2025-07-22", "/tmp"},
		{"/20250721", "/20250721"},
		{"/tmp/2025-07-22T09:01:00.000Z", "/tmp"},
		{"/tmp/22.07.2025", "/tmp"},
		{"/tmp/32.07.2025", "/tmp/32.07.2025"},
		{"/tmp/20251345", "/tmp/20251345"},
		{"/tmp/0000-01-01", "/tmp/0000-01-01"},
		{"/tmp/part-20250721", "/tmp/part-20250721"},
		{"/tmp/20250721 x", "/tmp/20250721 x"},
		{"/t/2025-07-22\u00a0Z", "/t"},
		{"/t/2025-07-22z", "/t/2025-07-22z"},
		{"/t/12345678", "/t/12345678"},
		{"/t/1999123120000101", "/t"},
		{"/t/2025-07-22 2025-07-23", "/t"},
		{"/a/2026/11", "/a"},
		{"/a/2026/11/30", "/a"},
		{"/a/b/2026/1/5", "/a/b"},
		{"/a/2026/13", "/a/2026/13"},
		{"/a/b/2026/11/31", "/a/b/2026/11/31"},
		{"/2026/11", "/2026/11"},
		{"/2026/11/30", "/2026/11/30"},
		{"x/2026/11/30/", "x"},
		{"a//2026/11", "a/"},
		{"a/b/2026/ 1/ 5", "a/b/2026/ 1/ 5"},
		{"a/b/2026/01/ 5", "a/b"},
		{"bucket/2024/02/30", "bucket/2024/02/30"},
		{"bucket/x/2024/02/29", "bucket/x"},
		{"bucket/x/2023/02/29", "bucket/x/2023/02/29"},
		{"/a/202611", "/a"},
		{"/a/2026-11", "/a"},
		{"/a/202613", "/a/202613"},
		{"/a/0000-01", "/a/0000-01"},
		{"/a/day=1/2026/11/30/20261130T00", "/a"},
		{"/", "/"},
		{"/a/", "/a/"},
		{"db.public.t", "db.public.t"},
	} {
		got := reducer.Inputs([]openlineage.Dataset{{Namespace: "file", Name: test.name}})
		if len(got) != 1 || got[0].Name != test.want {
			t.Errorf("%q becomes %q, want %q", test.name, got[0].Name, test.want)
		}
	}
	if got := (openlineage.Reducer{}).Inputs([]openlineage.Dataset{{Name: "/a/day=1"}}); got[0].Name != "/a/day=1" {
		t.Errorf("without trimmers: %q", got[0].Name)
	}
	// Twenty parts that one pass takes off one by one are too many.
	deep := "/a" + strings.Repeat("/day=1", 20)
	if got := reducer.Inputs([]openlineage.Dataset{{Name: deep}}); got[0].Name != deep {
		t.Errorf("%q becomes %q", deep, got[0].Name)
	}
}

// reducedEvent is an event of datasets as the reducer leaves them.
func reducedEvent(t *testing.T, inputs, outputs []openlineage.Dataset) string {
	t.Helper()
	additions := openlineage.Additions{Reducer: &openlineage.Reducer{Trimmers: openlineage.Trimmers()}}
	e := openlineage.Event{
		Type: "COMPLETE", Time: time.Unix(1, 0), Producer: "https://example.com/p", Run: openlineage.Run{ID: uuid.Max},
		Job: openlineage.Job{Namespace: "n", Name: "j"},
	}
	e.Inputs, e.Outputs = additions.Datasets(inputs, outputs)
	body, err := e.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	_, sets, _ := strings.Cut(string(body), `"inputs":`)
	sets, _, _ = strings.Cut(sets, `,"producer"`)
	return sets
}

func TestReducerJoinsWhatIsAlike(t *testing.T) {
	t.Parallel()
	set := func(name string, facets ...openlineage.Facet) openlineage.Dataset {
		return openlineage.Dataset{Namespace: "s3://b", Name: name, Facets: openlineage.NewFacets(facets...)}
	}
	documented := openlineage.DocumentationDatasetFacet{Description: "x"}
	got := openlineage.Reducer{Trimmers: openlineage.Trimmers()}.Inputs([]openlineage.Dataset{
		set("t/day=2"), set("u"), set("t/day=1"), set("t/day=3", documented), set("t"), set("u"),
	})
	var names []string
	for _, d := range got {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"t", "u", "t"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const base = `"_producer":"https://example.com/p","_schemaURL":"https://openlineage.io/spec/facets/1-0-0/BaseSubsetDatasetFacet.json#/$defs/`
	want := `{` + base + `InputSubsetInputDatasetFacet","inputCondition":{"locations":["t/day=1","t/day=2"],"type":"location"}}`
	io, err := got[0].IOFacets.Canonical("https://example.com/p")
	if err != nil || string(io) != `{"subset":`+want+`}` {
		t.Errorf("%s, %v", io, err)
	}
	if got[1].IOFacets.Len() != 0 || !got[2].Facets.Has("documentation") || !got[2].IOFacets.Has("subset") {
		t.Errorf("%+v", got)
	}
}

// The names in a column lineage are trimmed as the inputs are, whether it was read or given as JSON; what it was made
// of stays as it was.
func TestReducerTrimsLineage(t *testing.T) {
	t.Parallel()
	field := openlineage.InputField{Namespace: "s3://b", Name: "in/day=1", Field: "a"}
	typed := openlineage.ColumnLineageDatasetFacet{
		Fields:  map[string]openlineage.ColumnLineage{"x": {InputFields: []openlineage.InputField{field}}},
		Dataset: []openlineage.InputField{field},
	}
	facets := openlineage.NewFacets(typed)
	raw, err := facets.Canonical("https://example.com/p")
	if err != nil {
		t.Fatal(err)
	}
	given, err := openlineage.ParseFacets(raw)
	if err != nil {
		t.Fatal(err)
	}
	var added openlineage.Facets
	const fields = `{"fields":{"x":{"inputFields":[{"namespace":"s3://b","name":"in/day=1","field":"a"}]}}}`
	if err := added.AddRaw(openlineage.DatasetEntity, "columnLineage", []byte(fields), openlineage.VerbatimNamer); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range []openlineage.Facets{facets, given, added} {
		texts = append(texts, reducedEvent(t, nil, []openlineage.Dataset{{Namespace: "s3://b", Name: "out/day=1", Facets: f}}))
	}
	if strings.Contains(texts[0], "in/day=1") || !strings.Contains(texts[0], `"locations":["out/day=1"]`) {
		t.Error(texts[0])
	}
	if strings.Contains(texts[1], "in/day=1") || strings.Count(texts[1], `"name":"in"`) != 2 {
		t.Error(texts[1])
	}
	if strings.Contains(texts[2], "in/day=1") || !strings.Contains(texts[2], `"name":"in"`) {
		t.Error(texts[2])
	}
	after, err := given.Canonical("https://example.com/p")
	if err != nil || string(after) != string(raw) || typed.Dataset[0].Name != "in/day=1" {
		t.Errorf("the facet that was given has changed: %s, %v", after, err)
	}
}
