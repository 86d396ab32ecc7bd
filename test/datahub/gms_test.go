package datahub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// request is one that a server got, as the check of DataHub's classes reads it.
type request struct {
	Path string          `json:"path"`
	Body json.RawMessage `json:"body"`
}

// proposal is what DataHub is told of one aspect.
type proposal struct {
	EntityURN, AspectName, ChangeType string
	Aspect                            json.RawMessage
}

// gms is a server that takes everything and says which version it has.
type gms struct {
	URL string

	mu       sync.Mutex
	requests []request
	told     []proposal
	odd      []string
}

func newGMS(t *testing.T, version string) *gms {
	t.Helper()
	g := &gms{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/config" {
			fmt.Fprintf(w, `{"noCode":"true","versions":{"acryldata/datahub":{"version":%q}},"datahub":{"serverEnv":"core"}}`, version)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = g.take(r.Method, r.URL.RequestURI(), body)
		}
		if err != nil {
			g.mu.Lock()
			g.odd = append(g.odd, fmt.Sprintf("%s %s: %v", r.Method, r.URL, err))
			g.mu.Unlock()
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

func (g *gms) take(method, path string, body []byte) error {
	told, err := proposals(method, path, body)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests = append(g.requests, request{path, body})
	g.told = append(g.told, told...)
	return nil
}

// proposals reads the body of a Rest.li or OpenAPI request.
func proposals(method, path string, body []byte) ([]proposal, error) {
	if _, rest, ok := strings.Cut(path, "/openapi/v3/entity/"); ok {
		return openAPI(method, rest, body)
	}
	type restli struct {
		EntityURN, AspectName, ChangeType string
		Aspect                            struct{ Value string }
	}
	var sent struct {
		Proposal  *restli
		Proposals []restli
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	if sent.Proposal != nil {
		sent.Proposals = append(sent.Proposals, *sent.Proposal)
	}
	var all []proposal
	for _, p := range sent.Proposals {
		all = append(all, proposal{p.EntityURN, p.AspectName, p.ChangeType, json.RawMessage(p.Aspect.Value)})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no proposal in %s", body)
	}
	return all, nil
}

func openAPI(method, entity string, body []byte) ([]proposal, error) {
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, err
	}
	change := map[string]string{http.MethodPost: "UPSERT", http.MethodPatch: "PATCH"}[method]
	entity, _, _ = strings.Cut(entity, "?")
	var all []proposal
	for _, item := range items {
		var urn string
		if err := json.Unmarshal(item["urn"], &urn); err != nil || !strings.HasPrefix(urn, "urn:li:"+entity+":") {
			return nil, fmt.Errorf("%s among those of type %s: %w", urn, entity, err)
		}
		for name, raw := range item {
			var aspect struct{ Value json.RawMessage }
			if name == "urn" {
				continue
			}
			if err := json.Unmarshal(raw, &aspect); err != nil {
				return nil, err
			}
			all = append(all, proposal{urn, name, change, aspect.Value})
		}
	}
	return all, nil
}

// all returns what the server was told and the requests that it came in.
func (g *gms) all(t *testing.T) ([]proposal, []request) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, odd := range g.odd {
		t.Errorf("a request that can't be read: %s", odd)
	}
	return g.told, g.requests
}
