package rest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

const (
	goldenClient  = "golden-client"
	goldenVersion = "9.8.7"
)

// configOf returns the settings of a recorded emitter. Its schedules are those of the Python emitter, without chance.
func configOf(r recording, url string, time *clock) rest.Config {
	c := rest.Config{
		Server: url, Client: goldenClient, ClientVersion: goldenVersion, Now: time.Now, Sleep: time.Sleep,
		Retry: rest.RetryPolicy{Jitter: func() float64 { return 1 }},
		Wait:  rest.WaitPolicy{First: -1, Next: 2 * second, Max: 300 * second},
		API:   apiOf(r), Mode: rest.Mode(strings.TrimPrefix(r.EmitterArgs["default_emit_mode"], "EmitMode.")),
		ClientMode: strings.TrimPrefix(r.EmitterArgs["client_mode"], "ClientMode."),
		Token:      r.EmitterArgs["token"],
	}
	if r.EmitterArgs["retry_max_times"] == "0" {
		c.Retry.Max = -1
	}
	if headers := r.EmitterArgs["extra_headers"]; headers != "" {
		if err := json.Unmarshal([]byte(strings.ReplaceAll(headers, `'`, `"`)), &c.Headers); err != nil {
			panic(err)
		}
		c.Server += "/gms/" // what the recording's description says
	}
	return c
}

const second = time.Second

// apiOf returns how the recorded emitter came to its way: forced, or by asking the server.
func apiOf(r recording) rest.API {
	switch {
	case r.EmitterArgs["openapi_ingestion"] == "True":
		return rest.APIOpenAPI
	case r.CallsTestConnection && r.OpenAPI == nil, r.OpenAPI != nil && *r.OpenAPI:
		return rest.APIAuto
	case strings.HasSuffix(r.Name, "-old-server"):
		return rest.APIAuto
	default:
		return rest.APIRestli
	}
}

// optionsOf returns the mode of a recorded call, which stands in its name or can be told by what was logged.
func optionsOf(r recording) []rest.CallOption {
	var options []rest.CallOption
	switch {
	case strings.HasSuffix(r.Name, "-ASYNC_WAIT"), strings.HasPrefix(r.Name, "trace-"),
		slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "ASYNC_WAIT requested") }):
		options = append(options, rest.WithMode(rest.AsyncWait))
	case strings.HasPrefix(r.Name, "restli-default-emit-mode-ASYNC"):
		if _, override, ok := strings.Cut(r.Name, "-override-"); ok {
			options = append(options, rest.WithMode(rest.Mode(override)))
		}
	default:
		for _, mode := range []rest.Mode{rest.SyncWait, rest.SyncPrimary, rest.Async} {
			if strings.HasSuffix(r.Name, "-"+string(mode)) {
				options = append(options, rest.WithMode(mode))
			}
		}
	}
	if r.Name == "trace-timeout" {
		options = append(options, rest.WithWait(rest.WaitPolicy{}))
	}
	return options
}

func isBatch(r recording) bool {
	return strings.Contains(r.Name, "-batch-") || strings.HasSuffix(r.Name, "-batch")
}

// proposalsOf reads from the recorded requests what the recorded caller gave: entity, change, aspect and its value.
func proposalsOf(t *testing.T, r recording) []mcp.Proposal {
	t.Helper()
	if slices.ContainsFunc(r.Requests, func(q recordedRequest) bool { return q.Body == nil }) {
		return many(t, r)
	}
	var all []mcp.Proposal
	for _, q := range r.Requests {
		path, _, _ := strings.Cut(q.Path, "?")
		switch {
		case q.Method == "DELETE":
			_, id, _ := strings.Cut(path, "urn:")
			p, err := mcp.Delete("urn:" + id)
			if err != nil {
				t.Fatal(err)
			}
			return append(all, p)
		case strings.HasSuffix(path, "/aspects"):
			return restliProposals(t, *q.Body) // a retried request is the same again
		case strings.HasPrefix(path, "/openapi/v3/entity/"):
			all = append(all, openAPIProposals(t, q)...)
		}
	}
	if r.Name == "openapi-create" { // as its description says: the request does not
		all[0].ChangeType = mcp.ChangeCreate
	}
	return all
}

func restliProposals(t *testing.T, body string) []mcp.Proposal {
	t.Helper()
	// The one URN that is not ASCII was sent wrongly: the caller had given it as it is here.
	body = strings.ReplaceAll(body, `tabl\\u00e9\\u1f600`, `tablé😀`)
	type proposal struct {
		EntityType, EntityURN string
		ChangeType            mcp.ChangeType
		AspectName            string
		Aspect                struct{ Value, ContentType string }
		Headers               map[string]string
	}
	var sent struct {
		Proposal  *proposal
		Proposals []proposal
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Proposal != nil {
		sent.Proposals = []proposal{*sent.Proposal}
	}
	var all []mcp.Proposal
	for _, p := range sent.Proposals {
		all = append(all, mcp.Proposal{
			EntityType: p.EntityType, EntityURN: p.EntityURN, ChangeType: p.ChangeType, AspectName: p.AspectName,
			Aspect: json.RawMessage(p.Aspect.Value), ContentType: p.Aspect.ContentType, Headers: p.Headers,
		})
	}
	return all
}

func openAPIProposals(t *testing.T, q recordedRequest) []mcp.Proposal {
	t.Helper()
	var items []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(*q.Body), &items); err != nil {
		t.Fatal(err)
	}
	var all []mcp.Proposal
	for _, item := range items {
		var urn string
		if err := json.Unmarshal(item["urn"], &urn); err != nil {
			t.Fatal(err)
		}
		entity, err := mcp.EntityType(urn)
		if err != nil {
			t.Fatal(err)
		}
		for name, raw := range item {
			if name == "urn" {
				continue
			}
			var aspect struct {
				Value   json.RawMessage
				Headers map[string]string
			}
			if err := json.Unmarshal(raw, &aspect); err != nil {
				t.Fatal(err)
			}
			delete(aspect.Headers, "X-DataHub-Sync-Index-Update")
			all = append(all, mcp.Proposal{
				EntityType: entity, EntityURN: urn, ChangeType: mcp.ChangeUpsert, AspectName: name,
				Aspect: aspect.Value, Headers: aspect.Headers,
			})
		}
	}
	return all
}

// many returns as many proposals as a recording without bodies had.
func many(t *testing.T, r recording) []mcp.Proposal {
	t.Helper()
	n := 0
	for _, q := range r.Requests {
		n += q.Items
		if n == 0 && strings.HasSuffix(q.Path, "ingestProposal") {
			n = 1
		}
	}
	var all []mcp.Proposal
	for i := range n {
		urn := goldenTable
		if n > 1 {
			urn = fmt.Sprintf("urn:li:dataset:(urn:li:dataPlatform:hive,t%s,PROD)", strconv.Itoa(i))
		}
		p, err := mcp.New(urn, properties{Description: "d"})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// properties is an aspect for tests.
type properties struct {
	Description string `json:"description"`
}

func (properties) AspectName() string { return "datasetProperties" }
