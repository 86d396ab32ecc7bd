package kafka_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// decode reads a value with a decoder that knows only the schema.
func decode(tb rapid.TB, value []byte) map[string]any {
	tb.Helper()
	schema, err := avro.Parse(kafka.Schema)
	if err != nil {
		tb.Fatal(err)
	}
	if len(value) < 5 || value[0] != 0 {
		tb.Fatalf("no header: %x", value)
	}
	var got map[string]any
	rest, err := schema.Decode(value[5:], &got)
	if err != nil || len(rest) > 0 {
		tb.Fatalf("decoding: %v, %d bytes left", err, len(rest))
	}
	return got
}

func TestEveryFieldIsRead(t *testing.T) {
	t.Parallel()
	version := int64(0)
	p := proposal(0)
	p.SystemMetadata = &mcp.SystemMetadata{
		LastObserved: 1700000000000, RunID: "r", LastRunID: "l", PipelineName: "p", RegistryName: "n", RegistryVersion: "v",
		Properties: map[string]string{"b": "2", "a": "1"}, Version: "7", SchemaVersion: &version,
		AspectCreated:  &mcp.AuditStamp{Time: 1, Actor: "urn:li:corpuser:a", Impersonator: "urn:li:corpuser:b", Message: "m"},
		AspectModified: &mcp.AuditStamp{Actor: "urn:li:corpuser:c"},
	}
	p.Headers = map[string]string{"é": "😀"}
	value, err := kafka.Encode(p, 0x01020304)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]byte{0, 1, 2, 3, 4}, value[:5]); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{
		"auditHeader": nil, "entityType": "dataset", "entityUrn": p.EntityURN, "entityKeyAspect": nil,
		"changeType": "UPSERT", "aspectName": "status",
		"aspect": map[string]any{"value": []byte(p.Aspect), "contentType": "application/json"},
		"systemMetadata": map[string]any{
			"lastObserved": int64(1700000000000), "runId": "r", "lastRunId": "l", "pipelineName": "p", "registryName": "n",
			"registryVersion": "v", "properties": map[string]any{"a": "1", "b": "2"}, "version": "7", "schemaVersion": int64(0),
			"aspectCreated": map[string]any{
				"time": int64(1), "actor": "urn:li:corpuser:a", "impersonator": "urn:li:corpuser:b", "message": "m",
			},
			"aspectModified": map[string]any{"time": int64(0), "actor": "urn:li:corpuser:c", "impersonator": nil, "message": nil},
		},
		"headers": map[string]any{"é": "😀"},
	}
	if diff := cmp.Diff(want, decode(t, value)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNotSetIsTheSchemasDefault(t *testing.T) {
	t.Parallel()
	p := mcp.Proposal{
		EntityType: "dataset", EntityURN: "urn:li:dataset:x", ChangeType: mcp.ChangeDelete,
		SystemMetadata: &mcp.SystemMetadata{},
	}
	value, err := kafka.Encode(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, value)
	for _, name := range []string{"aspectName", "aspect", "headers", "auditHeader", "entityKeyAspect"} {
		if got[name] != nil {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	metadata, _ := got["systemMetadata"].(map[string]any)
	want := map[string]any{
		"lastObserved": int64(0), "runId": mcp.DefaultRunID, "lastRunId": mcp.DefaultRunID, "pipelineName": nil,
		"registryName": nil, "registryVersion": nil, "properties": nil, "version": nil, "schemaVersion": nil,
		"aspectCreated": nil, "aspectModified": nil,
	}
	if diff := cmp.Diff(want, metadata); diff != "" {
		t.Error(diff)
	}
}

func TestChangeTypes(t *testing.T) {
	t.Parallel()
	for _, change := range mcp.ChangeTypes() {
		p := proposal(0)
		p.ChangeType = change
		value, err := kafka.Encode(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, value)["changeType"]; got != string(change) {
			t.Errorf("%s is read as %v", change, got)
		}
	}
	p := proposal(0)
	p.ChangeType = "upsert"
	if _, err := kafka.Encode(p, 0); err == nil {
		t.Error("a change type that the schema does not have is taken")
	}
}

func TestTextHasToBeUTF8(t *testing.T) {
	t.Parallel()
	for field, spoil := range map[string]func(*mcp.Proposal){
		"runId": func(p *mcp.Proposal) { p.SystemMetadata = &mcp.SystemMetadata{RunID: "\xff"} },
		"properties": func(p *mcp.Proposal) {
			p.SystemMetadata = &mcp.SystemMetadata{Properties: map[string]string{"a": "\xff"}}
		},
		"aspectCreated.actor": func(p *mcp.Proposal) {
			p.SystemMetadata = &mcp.SystemMetadata{AspectCreated: &mcp.AuditStamp{Actor: "\xff"}}
		},
	} {
		p := proposal(0)
		spoil(&p)
		_, err := kafka.Encode(p, 0)
		want := "encoding the proposal for " + p.EntityURN + ": " + field + " is not UTF-8"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Whatever a proposal holds is what a decoder reads, and the same proposal is always the same bytes.
func TestEncodingIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.MapOf(rapid.String(), rapid.String())
		p := mcp.Proposal{
			EntityType: rapid.String().Draw(t, "type"), EntityURN: "urn:li:" + rapid.String().Draw(t, "urn"),
			ChangeType: rapid.SampledFrom(mcp.ChangeTypes()).Draw(t, "change"), AspectName: "a" + rapid.String().Draw(t, "aspect"),
			Aspect:         rapid.SliceOf(rapid.Byte()).Draw(t, "value"),
			ContentType:    rapid.StringMatching(`[a-z]+/[a-z]+`).Draw(t, "content type"),
			Headers:        texts.Draw(t, "headers"),
			SystemMetadata: &mcp.SystemMetadata{LastObserved: rapid.Int64().Draw(t, "observed"), Properties: texts.Draw(t, "properties")},
		}
		value, err := kafka.Encode(p, 7)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := kafka.Encode(p, 7)
		if diff := cmp.Diff(value, again); diff != "" {
			t.Fatal("two encodings of one proposal differ: ", diff)
		}
		got := decode(t, value)
		aspect, _ := got["aspect"].(map[string]any)
		if got["entityType"] != p.EntityType || got["entityUrn"] != p.EntityURN || got["changeType"] != string(p.ChangeType) ||
			got["aspectName"] != p.AspectName || aspect["contentType"] != p.ContentType {
			t.Fatalf("%v is read as %v", p, got)
		}
		if value, _ := aspect["value"].([]byte); string(value) != string(p.Aspect) {
			t.Fatalf("the aspect %x is read as %x", p.Aspect, value)
		}
		sameTexts(t, p.Headers, got["headers"])
		metadata, _ := got["systemMetadata"].(map[string]any)
		sameTexts(t, p.SystemMetadata.Properties, metadata["properties"])
		if metadata["lastObserved"] != p.SystemMetadata.LastObserved {
			t.Fatalf("%d is read as %v", p.SystemMetadata.LastObserved, metadata["lastObserved"])
		}
	})
}

func sameTexts(t *rapid.T, want map[string]string, got any) {
	t.Helper()
	texts, _ := got.(map[string]any)
	if len(texts) != len(want) {
		t.Fatalf("%v is read as %v", want, got)
	}
	for key, value := range want {
		if texts[key] != value {
			t.Fatalf("%v is read as %v", want, got)
		}
	}
}
