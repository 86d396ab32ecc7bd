package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

const table = "urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)"

type status struct {
	Removed bool   `json:"removed"`
	Note    string `json:"note,omitempty"`
}

func (status) AspectName() string { return "status" }

type unencodable struct{ C chan int }

func (unencodable) AspectName() string { return "status" }

func TestNewReadsTheTypeFromTheURN(t *testing.T) {
	t.Parallel()
	got, err := mcp.New(table, status{Removed: true, Note: "</b> é"})
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.Proposal{
		EntityType: "dataset", EntityURN: table, ChangeType: mcp.ChangeUpsert, AspectName: "status",
		Aspect: json.RawMessage(`{"removed":true,"note":"</b> é"}`), ContentType: mcp.ContentTypeJSON,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		urn    string
		aspect mcp.Aspect
		want   string
	}{
		"no urn":              {"", status{}, "entity urn is empty"},
		"not a urn":           {"dataset:x", status{}, "does not begin with urn:li:"},
		"no id":               {"urn:li:tag:", status{}, "is not of the form urn:li:type:id"},
		"no type":             {"urn:li::x", status{}, "is not of the form urn:li:type:id"},
		"type with a slash":   {"urn:li:a/b:x", status{}, "is not of the form urn:li:type:id"},
		"not UTF-8":           {"urn:li:tag:\xff", status{}, "is not UTF-8"},
		"no aspect":           {table, nil, "aspect is nil"},
		"an aspect of no use": {table, unencodable{}, "encoding the aspect status of " + table},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := mcp.New(c.urn, c.aspect); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestDeleteNamesTheKey(t *testing.T) {
	t.Parallel()
	for urn, key := range map[string]string{
		table:                          "datasetKey",
		"urn:li:corpuser:jane":         "corpUserKey",
		"urn:li:corpGroup:g":           "corpGroupKey",
		"urn:li:dataProcessInstance:1": "dataProcessInstanceKey",
	} {
		p, err := mcp.Delete(urn)
		if err != nil {
			t.Fatal(err)
		}
		if p.AspectName != key || p.ChangeType != mcp.ChangeDelete || p.Aspect != nil {
			t.Errorf("%s: got %+v", urn, p)
		}
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
	if _, err := mcp.Delete("x"); err == nil {
		t.Error("a text that is no urn was taken")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	valid, err := mcp.New(table, status{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*mcp.Proposal)
		field  string // "": valid
	}{
		"as made":                    {func(*mcp.Proposal) {}, ""},
		"create":                     {func(p *mcp.Proposal) { p.ChangeType = mcp.ChangeCreate }, ""},
		"a patch as an object":       {func(p *mcp.Proposal) { p.ChangeType = mcp.ChangePatch }, ""},
		"no change type":             {func(p *mcp.Proposal) { p.ChangeType = "" }, "change type"},
		"a change type in lower":     {func(p *mcp.Proposal) { p.ChangeType = "upsert" }, "change type"},
		"another entity's type":      {func(p *mcp.Proposal) { p.EntityType = "dataJob" }, "entity type"},
		"no entity type":             {func(p *mcp.Proposal) { p.EntityType = "" }, "entity type"},
		"no aspect name":             {func(p *mcp.Proposal) { p.AspectName = "" }, "aspect name"},
		"an aspect named urn":        {func(p *mcp.Proposal) { p.AspectName = "urn" }, "aspect name"},
		"an aspect name with quotes": {func(p *mcp.Proposal) { p.AspectName = `a"b` }, "aspect name"},
		"no aspect":                  {func(p *mcp.Proposal) { p.Aspect = nil }, "aspect status"},
		"cut JSON":                   {func(p *mcp.Proposal) { p.Aspect = json.RawMessage(`{"a":`) }, "aspect status"},
		"a list":                     {func(p *mcp.Proposal) { p.Aspect = json.RawMessage(`[]`) }, "aspect status"},
		"not UTF-8":                  {func(p *mcp.Proposal) { p.Aspect = json.RawMessage("{\"a\":\"\xff\"}") }, "aspect status"},
		"a header without a name":    {func(p *mcp.Proposal) { p.Headers = map[string]string{"": "x"} }, "headers"},
		"a deletion with an aspect":  {func(p *mcp.Proposal) { p.ChangeType, p.AspectName = mcp.ChangeDelete, "datasetKey" }, "aspect"},
		"a deletion of one aspect":   {func(p *mcp.Proposal) { p.ChangeType, p.Aspect = mcp.ChangeDelete, nil }, "aspect name"},
		"a deletion without a name": {func(p *mcp.Proposal) {
			p.ChangeType, p.Aspect, p.AspectName = mcp.ChangeDelete, nil, ""
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := valid
			c.change(&p)
			err := p.Validate()
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			problem, ok := errors.AsType[*mcp.ValidationError](err)
			if !ok || problem.Field != c.field || problem.URN != table {
				t.Errorf("got %v, want one about %s", err, c.field)
			}
		})
	}
}

func TestOrdinalsAreTheSchemas(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"UPSERT", "CREATE", "UPDATE", "DELETE", "PATCH", "RESTATE", "CREATE_ENTITY"} {
		if got, ok := mcp.ChangeType(name).Ordinal(); !ok || got != i {
			t.Errorf("%s: got %d, %t, want %d", name, got, ok, i)
		}
	}
	if _, ok := mcp.ChangeType("").Ordinal(); ok {
		t.Error("the empty change type has an ordinal")
	}
}

func TestSystemMetadataLeavesOutWhatIsNotSet(t *testing.T) {
	t.Parallel()
	zero := int64(0)
	for want, m := range map[string]mcp.SystemMetadata{
		`{}`:                             {},
		`{"lastObserved":5,"runId":"r"}`: {LastObserved: 5, RunID: "r"},
		`{"schemaVersion":0}`:            {SchemaVersion: &zero},
		`{"aspectCreated":{"time":0,"actor":""}}`: {AspectCreated: &mcp.AuditStamp{}},
	} {
		got, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
