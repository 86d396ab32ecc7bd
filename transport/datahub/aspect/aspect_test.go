package aspect_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

const (
	flow       = "urn:li:dataFlow:(prefect,my-flow,PROD)"
	upstream1  = "urn:li:dataset:(urn:li:dataPlatform:bigquery,upstream1,PROD)"
	upstream2  = "urn:li:dataset:(urn:li:dataPlatform:bigquery,upstream2,PROD)"
	downstream = "urn:li:dataset:(urn:li:dataPlatform:bigquery,downstream,PROD)"
	prefect    = "urn:li:corpuser:prefect"
)

// recorded are aspects as acryl-datahub 1.7.0.17 sent them, by the name of the recording.
func recorded(t *testing.T) map[string]struct {
	Aspect string
	Value  any
} {
	t.Helper()
	raw, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Aspect string
		Value  any
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Each aspect is written as the Python client writes it, defaults included.
func TestAspectsAreThoseOfThePythonClient(t *testing.T) {
	t.Parallel()
	took := int64(5000)
	made := map[string]mcp.Aspect{
		"aspect-data-flow-info": aspect.DataFlowInfo{
			CustomProperties: aspect.Properties{"k": "v"}, ExternalURL: "http://prefect/flows/1", Name: "my-flow",
			Description: "d", Env: "PROD",
		},
		"aspect-data-job-info": aspect.DataJobInfo{Name: "my task", Type: aspect.Command, FlowURN: flow, Env: "PROD"},
		"aspect-data-job-input-output": aspect.DataJobInputOutput{
			InputDatasets: []string{upstream1}, OutputDatasets: []string{downstream}, InputDatajobs: []string{},
			FineGrainedLineages: []aspect.FineGrainedLineage{},
		},
		"aspect-data-platform-instance": aspect.DataPlatformInstance{
			Platform: "urn:li:dataPlatform:prefect", Instance: "urn:li:dataPlatformInstance:(urn:li:dataPlatform:prefect,prod1)",
		},
		"aspect-dataset-key": aspect.DatasetKey{
			Platform: "urn:li:dataPlatform:bigquery", Name: "my-project.my-dataset.user-table", Origin: "PROD",
		},
		"aspect-dpi-input":  aspect.DataProcessInstanceInput{Inputs: []string{upstream1}},
		"aspect-dpi-output": aspect.DataProcessInstanceOutput{Outputs: []string{downstream}},
		"aspect-dpi-properties": aspect.DataProcessInstanceProperties{
			CustomProperties: aspect.Properties{"a": "1"}, ExternalURL: "http://prefect/runs/1", Name: "curious-otter",
			Type: aspect.BatchScheduled, Created: aspect.AuditStamp{Time: 1700000000000, Actor: aspect.DataHubActor},
		},
		"aspect-dpi-run-event-complete": aspect.DataProcessInstanceRunEvent{
			TimestampMillis: 1700000005000, Status: aspect.Complete, Attempt: 1, DurationMillis: &took,
			Result: &aspect.RunResult{Type: aspect.Success, NativeResultType: "prefect"},
		},
		"aspect-dpi-run-event-started": aspect.DataProcessInstanceRunEvent{
			TimestampMillis: 1700000000000, Status: aspect.Started, Attempt: 1,
		},
		"aspect-global-tags": aspect.GlobalTags{Tags: []aspect.Tag{{Tag: "urn:li:tag:etl"}}},
		"aspect-ownership": aspect.Ownership{
			Owners: []aspect.Owner{{
				Owner: prefect, Type: aspect.OwnerDeveloper, Source: &aspect.OwnerSource{Type: aspect.SourceService},
			}},
			LastModified: aspect.AuditStamp{Actor: prefect},
		},
		"aspect-status":    aspect.Status{},
		"aspect-sub-types": aspect.SubTypes{TypeNames: []string{"Prefect Task"}},
		"dataset-properties-SYNC_PRIMARY": aspect.DatasetProperties{
			CustomProperties: aspect.Properties{"governance": "ENABLED"},
			Description:      "This table stored the canonical User profile",
		},
		"upstream-lineage-SYNC_PRIMARY": aspect.UpstreamLineage{Upstreams: []aspect.Upstream{
			{Dataset: upstream1, Type: aspect.Transformed}, {Dataset: upstream2, Type: aspect.Transformed},
		}},
	}
	for name, record := range recorded(t) {
		if name == "patch-upstream" {
			continue
		}
		a, ok := made[name]
		if !ok {
			t.Errorf("%s is not made here", name)
			continue
		}
		if a.AspectName() != record.Aspect {
			t.Errorf("%s is called %s, want %s", name, a.AspectName(), record.Aspect)
		}
		if diff := cmp.Diff(record.Value, written(t, a)); diff != "" {
			t.Errorf("%s (-Python +here):\n%s", name, diff)
		}
	}
	if n := len(recorded(t)); n != len(made)+1 {
		t.Errorf("%d recordings, want %d", n, len(made)+1)
	}
}

// written is a value as JSON reads it back.
func written(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back any
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// Of the recorded patch each part is the same.
func TestPatchIsThatOfThePythonClient(t *testing.T) {
	t.Parallel()
	ops := []mcp.PatchOp{aspect.AddUpstream(aspect.Upstream{Dataset: upstream1, Type: aspect.Transformed})}
	if diff := cmp.Diff(recorded(t)["patch-upstream"].Value, written(t, ops)); diff != "" {
		t.Errorf("(-Python +here):\n%s", diff)
	}
}

func TestPatches(t *testing.T) {
	t.Parallel()
	edge := aspect.Edge{DestinationURN: upstream1}
	from, to := "urn:li:schemaField:("+upstream1+",a/b)", "urn:li:schemaField:("+downstream+",c~d)"
	tests := []struct {
		name string
		op   mcp.PatchOp
		want string
	}{
		{"a tag", aspect.AddTag(aspect.Tag{Tag: "urn:li:tag:a/b"}), `{"op":"add","path":"/tags//urn:li:tag:a~1b","value":{"tag":"urn:li:tag:a/b"}}`},
		{"a tag, plain", aspect.AddPlainTag(aspect.Tag{Tag: "urn:li:tag:a"}), `{"op":"add","path":"/tags/urn:li:tag:a","value":{"tag":"urn:li:tag:a"}}`},
		{
			"an owner", aspect.AddOwner(aspect.Owner{Owner: prefect, Type: aspect.OwnerCustom, TypeURN: "urn:li:ownershipType:x"}),
			`{"op":"add","path":"/owners//urn:li:ownershipType:x/` + prefect + `/CUSTOM","value":{"owner":"` + prefect + `","type":"CUSTOM","typeUrn":"urn:li:ownershipType:x"}}`,
		},
		{
			"an owner, plain", aspect.AddPlainOwner(aspect.Owner{Owner: prefect, Type: aspect.OwnerTechnical}),
			`{"op":"add","path":"/owners/` + prefect + `/TECHNICAL_OWNER","value":{"owner":"` + prefect + `","type":"TECHNICAL_OWNER"}}`,
		},
		{"an input", aspect.AddInputDataset(edge), `{"op":"add","path":"/inputDatasetEdges/` + upstream1 + `","value":{"destinationUrn":"` + upstream1 + `"}}`},
		{"an output", aspect.AddOutputDataset(edge), `{"op":"add","path":"/outputDatasetEdges/` + upstream1 + `","value":{"destinationUrn":"` + upstream1 + `"}}`},
		{"a job", aspect.AddInputJob(aspect.Edge{DestinationURN: "urn:li:dataJob:x"}), `{"op":"add","path":"/inputDatajobEdges/urn:li:dataJob:x","value":{"destinationUrn":"urn:li:dataJob:x"}}`},
		{
			"a column", aspect.AddColumn("", to, from),
			`{"op":"add","path":"/fineGrainedLineages/TRANSFORM/urn:li:schemaField:(` + downstream + `,c~0d)/NONE/urn:li:schemaField:(` + upstream1 + `,a~1b)","value":{"confidenceScore":1}}`,
		},
		{"a description", aspect.SetDescription("x"), `{"op":"add","path":"/description","value":"x"}`},
		{"taken back", aspect.Remove(aspect.AddTag(aspect.Tag{Tag: "urn:li:tag:a"})), `{"op":"remove","path":"/tags//urn:li:tag:a"}`},
	}
	for _, tt := range tests {
		raw, err := json.Marshal(tt.op)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(raw)); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

func TestPatchWithKeys(t *testing.T) {
	t.Parallel()
	ops := []mcp.PatchOp{aspect.AddTag(aspect.Tag{Tag: "urn:li:tag:a"})}
	p, err := aspect.Patch(flow, "globalTags", aspect.TagKeys(), ops)
	want := `{"arrayPrimaryKeys":{"tags":["attribution␟source","tag"]},"patch":[{"op":"add","path":"/tags//urn:li:tag:a","value":{"tag":"urn:li:tag:a"}}]}`
	if err != nil || string(p.Aspect) != want || p.ContentType != mcp.ContentTypeJSONPatch {
		t.Errorf("%s, %v\nwant %s", p.Aspect, err, want)
	}
	if p, err := aspect.Patch(flow, "globalTags", nil, ops); err != nil || p.Aspect[0] != '[' {
		t.Errorf("without keys: %s, %v", p.Aspect, err)
	}
	if _, err := aspect.Patch("x", "globalTags", aspect.TagKeys(), ops); err == nil {
		t.Error("a patch of nothing was made")
	}
	for list, keys := range map[string]aspect.Keys{"tags": aspect.TagKeys(), "owners": aspect.OwnerKeys()} {
		op := aspect.AddTag(aspect.Tag{Tag: "t"})
		if list == "owners" {
			op = aspect.AddOwner(aspect.Owner{Owner: "o", Type: "T"})
		}
		if parts := strings.Split(op.Path, "/")[2:]; len(parts) != len(keys[list]) || parts[len(parts)-1] == "" {
			t.Errorf("the path %s has not the keys %v", op.Path, keys[list])
		}
	}
}

// What is not set is left out or written as its default.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	tests := map[string]any{
		`{"customProperties":{},"name":""}`:                           aspect.DataFlowInfo{},
		`{"customProperties":{},"name":"","type":{"string":""}}`:      aspect.DataJobInfo{},
		`{"inputDatasets":[],"outputDatasets":[]}`:                    aspect.DataJobInputOutput{},
		`{"customProperties":{},"tags":[]}`:                           aspect.DatasetProperties{},
		`{"upstreams":[]}`:                                            aspect.UpstreamLineage{},
		`{"upstreamType":"","downstreamType":"","confidenceScore":1}`: aspect.FineGrainedLineage{},
		`{"upstreamInstances":[]}`:                                    aspect.DataProcessInstanceRelationships{},
		`{"inputs":[]}`:                                               aspect.DataProcessInstanceInput{},
		`{"outputs":[]}`:                                              aspect.DataProcessInstanceOutput{},
		`{"tags":[]}`:                                                 aspect.GlobalTags{},
		`{"typeNames":[]}`:                                            aspect.SubTypes{},
		`{"customProperties":{},"version":"","versionType":""}`:       aspect.VersionInfo{},
		`{"time":0,"actor":"urn:li:corpuser:unknown"}`:                aspect.AuditStamp{},
		`{"type":{"com.linkedin.schema.NullType":{}}}`:                aspect.FieldType(""),
		`{"com.linkedin.schema.OtherSchema":{"rawSchema":"x"}}`:       aspect.OtherSchema{RawSchema: "x"},
		`{"owners":[],"ownerTypes":{},"lastModified":{"time":0,"actor":"` + unknown + `"}}`: aspect.Ownership{},
	}
	for want, v := range tests {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if string(raw) != want {
			t.Errorf("%T: %s, want %s", v, raw, want)
		}
	}
}

const unknown = aspect.UnknownActor

func TestUnionsAreReadBack(t *testing.T) {
	t.Parallel()
	want := aspect.SchemaMetadata{
		SchemaName: "t", Platform: "urn:li:dataPlatform:hive", PlatformSchema: aspect.OtherSchema{RawSchema: "raw"},
		Fields:  []aspect.SchemaField{{FieldPath: "a", Type: aspect.NumberType, NativeDataType: "int"}},
		Created: aspect.AuditStamp{Actor: unknown}, LastModified: aspect.AuditStamp{Actor: unknown},
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got aspect.SchemaMetadata
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	var job aspect.DataJobInfo
	if err := json.Unmarshal([]byte(`{"name":"x","type":{"string":"COMMAND"}}`), &job); err != nil || job.Type != aspect.Command {
		t.Errorf("%+v, %v", job, err)
	}
}
