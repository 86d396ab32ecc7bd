package mcp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

func TestPatchWritesTheMembersOfEachOperation(t *testing.T) {
	t.Parallel()
	p, err := mcp.Patch(table, "upstreamLineage", []mcp.PatchOp{
		{Op: "add", Path: mcp.PatchPath("upstreams", "urn:li:dataset:(urn:li:dataPlatform:s3,a/b~c,PROD)"), Value: map[string]int{"x": 1}},
		{Op: "add", Path: "/a"},
		{Op: "remove", Path: "/b", Value: "not sent"},
		{Op: "move", From: "/c", Path: "/d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"op":"add","path":"/upstreams/urn:li:dataset:(urn:li:dataPlatform:s3,a~1b~0c,PROD)","value":{"x":1}},` +
		`{"op":"add","path":"/a","value":null},{"op":"remove","path":"/b"},{"op":"move","from":"/c","path":"/d"}]`
	if string(p.Aspect) != want {
		t.Errorf("got  %s\nwant %s", p.Aspect, want)
	}
	if p.ContentType != mcp.ContentTypeJSONPatch || p.ChangeType != mcp.ChangePatch || p.EntityType != "dataset" {
		t.Errorf("got %+v", p)
	}
}

func TestPatchRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		urn  string
		ops  []mcp.PatchOp
		want string
	}{
		"no urn":                   {"", []mcp.PatchOp{{Op: "add", Path: "/a"}}, "entity urn is empty"},
		"nothing":                  {table, nil, "has no operation"},
		"an unknown operation":     {table, []mcp.PatchOp{{Op: "add", Path: "/a"}, {Op: "put", Path: "/a"}}, `operation 1 has the op "put"`},
		"a path without its slash": {table, []mcp.PatchOp{{Op: "add", Path: "a"}}, "does not begin with a slash"},
		"a from without its slash": {table, []mcp.PatchOp{{Op: "copy", Path: "/a", From: "b"}}, "does not begin with a slash"},
		"a value of no use":        {table, []mcp.PatchOp{{Op: "add", Path: "/a", Value: make(chan int)}}, "encoding the patch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := mcp.Patch(c.urn, "status", c.ops); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	_, err := mcp.Patch(table, "", []mcp.PatchOp{{Op: "add", Path: "/a"}})
	if _, ok := errors.AsType[*mcp.ValidationError](err); !ok {
		t.Errorf("got %v, want a ValidationError", err)
	}
}

func TestResolvedContentType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		proposal mcp.Proposal
		want     string
	}{
		{mcp.Proposal{ChangeType: mcp.ChangeUpsert}, "application/json"},
		{mcp.Proposal{ChangeType: mcp.ChangePatch}, "application/json-patch+json"},
		{mcp.Proposal{ChangeType: mcp.ChangePatch, ContentType: "x/y"}, "x/y"},
	} {
		if got := c.proposal.ResolvedContentType(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
