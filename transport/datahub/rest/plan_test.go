package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// memory takes requests without a network and notes, per entity, what came in which order.
type memory struct {
	mu       sync.Mutex
	seen     map[string][]string
	problems []string
	most     int
	refuse   func(item string) bool
}

func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := httptest.NewRecorder()
	items := m.items(r, string(body))
	if len(items) > m.most && len(items) > 1 {
		m.problems = append(m.problems, fmt.Sprintf("%d items in a request", len(items)))
	}
	for _, item := range items {
		if m.refuse != nil && m.refuse(item[1]) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return w.Result(), nil
		}
	}
	for _, item := range items {
		m.seen[item[0]] = append(m.seen[item[0]], item[1])
	}
	return w.Result(), nil
}

// items returns the URN and what is done to it for each proposal of a request.
func (m *memory) items(r *http.Request, body string) [][2]string {
	var items [][2]string
	switch {
	case r.Method == http.MethodDelete:
		_, id, _ := strings.Cut(r.URL.Path, "urn:")
		return [][2]string{{"urn:" + id, "DELETE"}}
	case r.URL.Path == "/entities":
		var named struct{ URN string }
		m.parse(body, &named)
		return [][2]string{{named.URN, "DELETE"}}
	case r.URL.Path == "/aspects":
		var sent struct {
			Proposals []struct {
				EntityURN, ChangeType string
				Aspect                struct{ Value string }
			}
		}
		m.parse(body, &sent)
		for _, p := range sent.Proposals {
			items = append(items, [2]string{p.EntityURN, p.ChangeType + p.Aspect.Value})
		}
	default:
		var sent []struct {
			URN        string
			Properties struct{ Value json.RawMessage } `json:"datasetProperties"`
		}
		m.parse(body, &sent)
		for _, p := range sent {
			if entity := strings.Split(p.URN, ":")[2]; !strings.HasSuffix(r.URL.Path, "/entity/"+entity) {
				m.problems = append(m.problems, p.URN+" was sent to "+r.URL.Path)
			}
			change := map[string]string{http.MethodPost: "UPSERT", http.MethodPatch: "PATCH"}[r.Method]
			items = append(items, [2]string{p.URN, change + string(p.Properties.Value)})
		}
	}
	return items
}

func (m *memory) parse(body string, into any) {
	if err := json.Unmarshal([]byte(body), into); err != nil {
		m.problems = append(m.problems, err.Error())
	}
}

// TestEachEntityKeepsItsOrder has any proposals in any chunks over any lanes, some of which the server refuses.
func TestEachEntityKeepsItsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config := rest.Config{
			Server: "http://gms", API: rapid.SampledFrom([]rest.API{rest.APIRestli, rest.APIOpenAPI}).Draw(t, "api"),
			ChunkProposals: rapid.IntRange(1, 9).Draw(t, "chunk"), ChunkBytes: rapid.IntRange(300, 5000).Draw(t, "bytes"),
			Parallel: rapid.IntRange(1, 4).Draw(t, "parallel"),
		}
		server := &memory{seen: map[string][]string{}, most: config.ChunkProposals}
		refused := rapid.IntRange(0, 30).Draw(t, "refused")
		server.refuse = func(item string) bool {
			return strings.Contains(item, fmt.Sprintf(`"description":"%d"`, refused)) || item == "DELETE" && refused == 3
		}
		config.Transport = server
		emitter, err := rest.New(config)
		if err != nil {
			t.Fatal(err)
		}
		defer emitter.Close()
		all := drawProposals(t)
		results, _ := emitter.EmitAll(t.Context(), all)
		want := map[string][]string{}
		for i, p := range all {
			item := string(p.ChangeType)
			switch p.ChangeType {
			case mcp.ChangePatch:
				item += string(p.Aspect)
				if config.API == rest.APIOpenAPI {
					item = "PATCH" + `{"patch":` + string(p.Aspect) + `}`
				}
			case mcp.ChangeDelete:
			default:
				item += string(p.Aspect)
			}
			bad := server.refuse(item)
			if bad != (results[i].State == rest.Failed) || !bad && results[i].State != rest.Written {
				t.Errorf("proposal %d, refused %t: %+v", i, bad, results[i])
			}
			if !bad {
				want[p.EntityURN] = append(want[p.EntityURN], item)
			}
		}
		if diff := cmp.Diff(want, server.seen); diff != "" || len(server.problems) > 0 {
			t.Errorf("(-want +got)\n%s%v", diff, server.problems)
		}
	})
}

func drawProposals(t *rapid.T) []mcp.Proposal {
	var all []mcp.Proposal
	for i := range rapid.IntRange(0, 40).Draw(t, "proposals") {
		urn := rapid.SampledFrom([]string{"urn:li:dataset:a", "urn:li:dataset:b", "urn:li:tag:a", "urn:li:tag:é/1"}).Draw(t, "urn")
		p, err := mcp.New(urn, properties{Description: fmt.Sprint(i)})
		switch rapid.SampledFrom([]string{"write", "write", "write", "create", "patch", "delete"}).Draw(t, "change") {
		case "create":
			p.ChangeType = mcp.ChangeCreate
		case "patch":
			p, err = mcp.Patch(urn, "datasetProperties", []mcp.PatchOp{{Op: "add", Path: "/description", Value: i}})
		case "delete":
			p, err = mcp.Delete(urn)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}
