package adapter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/openlineage/oltest"
	"github.com/prefect-openlineage/listener/prefect"
)

const (
	materialized = "prefect.asset.materialization.succeeded"
	notMade      = "prefect.asset.materialization.failed"
	referenced   = "prefect.asset.referenced"
)

// assetEnd tells a task run with these events and returns its end.
func assetEnd(t *testing.T, a *adapter.Adapter, events []prefect.AssetEvent, artifacts ...prefect.Artifact) (end endBody, telling adapter.Telling) {
	t.Helper()
	s := taskSnapshot(taskRow())
	s.Assets, s.Artifacts = events, artifacts
	told, _ := a.Pin(s, nil)
	telling = a.Tell(s, told, adapter.Beside{})
	if len(telling.Events) != 2 {
		t.Fatalf("%d events", len(telling.Events))
	}
	if err := json.Unmarshal(telling.Events[1].Body, &end); err != nil {
		t.Fatal(err)
	}
	return end, telling
}

type endBody struct {
	Inputs, Outputs []struct {
		Namespace, Name string
		Facets          map[string]map[string]any
		InputFacets     map[string]map[string]any
		OutputFacets    map[string]map[string]any
	}
}

func (e endBody) names() []string {
	list := []string{}
	for _, d := range e.Inputs {
		list = append(list, "<"+d.Namespace+" "+d.Name)
	}
	for _, d := range e.Outputs {
		list = append(list, ">"+d.Namespace+" "+d.Name)
	}
	return list
}

func TestAssetsAreDatasets(t *testing.T) {
	t.Parallel()
	asset := func(key string) prefect.Asset { return prefect.Asset{Key: key} }
	tests := []struct {
		name   string
		events []prefect.AssetEvent
		want   []string
	}{
		{"made of others", []prefect.AssetEvent{
			{Name: referenced, Asset: asset("s3://lake/raw")},
			{Name: materialized, Asset: asset("s3://lake/clean"), Upstream: []string{"s3://lake/raw", "postgres://h.example/shop/orders"}},
		}, []string{"<postgres://h.example:5432 shop.public.orders", "<s3://lake raw", ">s3://lake clean"}},
		{"not made", []prefect.AssetEvent{
			{Name: notMade, Asset: asset("s3://lake/clean"), Upstream: []string{"s3://lake/raw"}},
		}, []string{"<s3://lake raw"}},
		{"several", []prefect.AssetEvent{
			{Name: materialized, Asset: asset("s3://lake/b"), Upstream: []string{"s3://lake/raw"}},
			{Name: materialized, Asset: asset("s3://lake/a"), Upstream: []string{"s3://lake/raw"}},
		}, []string{"<s3://lake raw", ">s3://lake a", ">s3://lake b"}},
		{"the same twice", []prefect.AssetEvent{
			{Name: materialized, Asset: asset("s3://lake/a")}, {Name: materialized, Asset: asset("s3a://lake/a/")},
		}, []string{">s3://lake a"}},
		{"only referenced", []prefect.AssetEvent{{Name: referenced, Asset: asset("s3://lake/a")}}, []string{}},
		{"of another kind", []prefect.AssetEvent{{Name: "prefect.asset.checked", Asset: asset("s3://lake/a"), Upstream: []string{"s3://x/y"}}}, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			end, telling := assetEnd(t, newAdapter(t), tt.events)
			if diff := cmp.Diff(tt.want, end.names()); diff != "" {
				t.Errorf("datasets (-want +got):\n%s", diff)
			}
			if len(telling.Warnings) > 0 || len(telling.Edges) != len(tt.want) {
				t.Errorf("warnings %v, edges %v", telling.Warnings, telling.Edges)
			}
		})
	}
}

// TestAssetFacets holds an asset's properties and metadata to the facets that they become, secrets masked.
func TestAssetFacets(t *testing.T) {
	t.Parallel()
	end, telling := assetEnd(t, newAdapter(t), []prefect.AssetEvent{
		{Name: referenced, Asset: prefect.Asset{Key: "s3://lake/raw", Description: "As it came."}},
		{Name: materialized, Upstream: []string{"s3://lake/raw"}, By: "spark",
			Asset: prefect.Asset{
				Key: "s3://AKIA:sEcret@lake/clean", Name: "Orders", Description: "Cleaned.", Owners: []string{"data", " "},
				URL: "https://u:sEcret@example.com/orders",
			},
			Metadata: json.RawMessage(`{"row_count": 42, "schema": {"id": "int"}, "password": "sEcret", "size": "unknown"}`)},
	})
	if got := end.Inputs[0].Facets["documentation"]["description"]; got != "As it came." {
		t.Errorf("the upstream is described as %v", got)
	}
	out := end.Outputs[0]
	own := out.Facets["prefect_asset"]
	for what, pair := range map[string][2]any{
		"description": {out.Facets["documentation"]["description"], "Cleaned."},
		"rows":        {out.OutputFacets["outputStatistics"]["rowCount"], 42.0},
		"key":         {own["assetKey"], "s3://lake/clean"},
		"name":        {own["assetName"], "Orders"},
		"tool":        {own["materializedBy"], "spark"},
		"page":        {own["url"], "https://example.com/orders"},
		"metadata":    {own["metadata"].(map[string]any)["size"], "unknown"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
	if owners := out.Facets["ownership"]["owners"].([]any); len(owners) != 1 {
		t.Errorf("owners %v", owners)
	}
	if out.Facets["schema"] == nil {
		t.Error("the metadata's schema is no facet")
	}
	body := string(telling.Events[1].Body)
	if strings.Contains(body, "sEcret") || len(telling.Warnings) > 0 {
		t.Errorf("a secret went out, or there is a warning %v: %s", telling.Warnings, body)
	}
	if err := oltest.Validator(t).Validate(telling.Events[1].Body); err != nil {
		t.Error(err)
	}
}

// TestAssetAndArtifactAreOne merges the facets of a dataset that both name; the artifact's row counts first.
func TestAssetAndArtifactAreOne(t *testing.T) {
	t.Parallel()
	s := taskSnapshot(taskRow())
	row := prefect.Artifact{
		Type: new("table"), Description: new("ol-dataset_output"), TaskRunID: &s.TaskRun.ID,
		Data: json.RawMessage(`[{"database_uri": "s3://lake/clean", "description": "of the row", "row_count": 7}]`),
	}
	end, _ := assetEnd(t, newAdapter(t), []prefect.AssetEvent{{Name: materialized, Asset: prefect.Asset{
		Key: "s3://lake/clean", Description: "of the asset", Owners: []string{"data"}}}}, row)
	if len(end.Outputs) != 1 {
		t.Fatalf("outputs: %v", end.names())
	}
	facets := end.Outputs[0].Facets
	if facets["documentation"]["description"] != "of the row" || facets["ownership"] == nil || end.Outputs[0].OutputFacets["outputStatistics"] == nil {
		t.Errorf("facets: %v", facets)
	}
}

// TestOddAssets refuses what can't be a dataset alone, and renames by the rules.
func TestOddAssets(t *testing.T) {
	t.Parallel()
	rules, err := openlineage.NewNameMap([]openlineage.NameRule{
		{Match: `snowflake://prod/(.*)/(.*)`, Namespace: "snowflake://org-acct", Name: "PROD.$1.$2"}})
	if err != nil {
		t.Fatal(err)
	}
	a := newAdapter(t, func(s *adapter.Settings) { s.DatasetMap = rules })
	end, telling := assetEnd(t, a, []prefect.AssetEvent{
		{Name: materialized, Asset: prefect.Asset{Key: "no URI"}},
		{Name: materialized, Asset: prefect.Asset{Key: "s3://lake/" + strings.Repeat("x", 3000)}},
		{Name: materialized, Asset: prefect.Asset{Key: "snowflake://prod/sales/orders"}},
		{Name: materialized, Asset: prefect.Asset{Key: "s3://lake/m"}, Metadata: json.RawMessage(`{"big": "` + strings.Repeat("y", 40<<10) + `"}`)},
	})
	want := []string{">s3://lake m", ">snowflake://org-acct PROD.sales.orders"}
	if diff := cmp.Diff(want, end.names()); diff != "" {
		t.Errorf("datasets (-want +got):\n%s", diff)
	}
	if len(telling.Warnings) != 2 || telling.Warnings[0].Rule != "dataset-refused" {
		t.Errorf("warnings: %v", telling.Warnings)
	}
	if end.Outputs[0].Facets["prefect_asset"]["metadata"] != nil {
		t.Error("metadata of 40 KiB went out")
	}
}

// TestFailedMaterializationRepeats repeats the datasets of the last good run beside the inputs of an asset that was not
// made, but not those of a run that recorded some on its own.
func TestFailedMaterializationRepeats(t *testing.T) {
	t.Parallel()
	a := newAdapter(t, func(s *adapter.Settings) { s.DatasetsOnFailure = adapter.DatasetsLast })
	last := []adapter.Edge{{Namespace: "s3://lake", Name: "clean", Output: true, Facets: `{"documentation":{"description":"x"}}`}}
	row := taskRow()
	row.State = &prefect.State{Type: prefect.Failed, Name: "Failed", Timestamp: at(5)}
	s := taskSnapshot(row)
	told, _ := a.Pin(s, nil)
	ends := func(assets ...prefect.AssetEvent) []string {
		s.Assets = assets
		var end endBody
		if err := json.Unmarshal(a.Tell(s, told, adapter.Beside{Last: last}).Events[1].Body, &end); err != nil {
			t.Fatal(err)
		}
		return end.names()
	}
	notMade := prefect.AssetEvent{Name: notMade, Asset: prefect.Asset{Key: "s3://lake/clean"}, Upstream: []string{"s3://lake/raw"}}
	if diff := cmp.Diff([]string{"<s3://lake raw", ">s3://lake clean"}, ends(notMade)); diff != "" {
		t.Errorf("of a failed materialization (-want +got):\n%s", diff)
	}
	other := prefect.AssetEvent{Name: materialized, Asset: prefect.Asset{Key: "s3://lake/other"}}
	if diff := cmp.Diff([]string{"<s3://lake raw", ">s3://lake other"}, ends(notMade, other)); diff != "" {
		t.Errorf("beside one that was made (-want +got):\n%s", diff)
	}
}
