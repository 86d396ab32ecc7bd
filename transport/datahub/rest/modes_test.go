package rest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// TestSyncWaitOnAnOldServer has one that does not know the headers of a proposal.
func TestSyncWaitOnAnOldServer(t *testing.T) {
	t.Parallel()
	old := func(w http.ResponseWriter, r sentRequest) {
		if strings.Contains(r.body, `"headers"`) {
			says(400, `{"message":"/proposal/headers :: unrecognized field found but not allowed"}`)(w, r)
		}
	}
	for _, allow := range []bool{false, true} {
		g := newGMS(t, old)
		e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Mode, c.AllowDegraded = rest.SyncWait, allow })
		results, err := e.EmitAll(t.Context(), proposals(t, 3))
		r := results[2]
		if allow {
			if err != nil || r.State != rest.Written || r.Mode != rest.SyncPrimary || r.Notice == "" {
				t.Errorf("got %+v, %v", r, err)
			}
			continue
		}
		if !errors.Is(r.Err, rest.ErrWaitUnsupported) || r.State != rest.Failed || !errors.Is(err, rest.ErrWaitUnsupported) {
			t.Errorf("got %+v, %v", r, err)
		}
	}
}

func TestTheCallersProposalStaysAsItIs(t *testing.T) {
	t.Parallel()
	g := newGMS(t, nil)
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Mode, c.RunID = rest.SyncWait, "nightly" })
	p := proposal(t, 1)
	p.Headers = map[string]string{"a": "b"}
	p.SystemMetadata = &mcp.SystemMetadata{LastObserved: 7, Properties: map[string]string{"clientId": "mine", "x": "y"}}
	if _, err := e.Emit(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if len(p.Headers) != 1 || len(p.SystemMetadata.Properties) != 2 || p.SystemMetadata.RunID != "" {
		t.Errorf("it was changed: %+v, %+v", p.Headers, p.SystemMetadata)
	}
	want := `"systemMetadata":{"lastObserved":7,"runId":"nightly","lastRunId":"no-run-id-provided",` +
		`"properties":{"clientId":"mine","x":"y"}},"headers":{"X-DataHub-Sync-Index-Update":"true","a":"b"}}`
	if body := g.requests()[0].body; !strings.Contains(body, want) {
		t.Errorf("got %s", body)
	}
}

func TestTheSyncMarker(t *testing.T) {
	t.Parallel()
	for _, respect := range []bool{false, true} {
		g := newGMS(t, nil)
		e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Mode, c.RespectSyncMarker = rest.Async, respect })
		all := proposals(t, 2)
		all[1].SystemMetadata = &mcp.SystemMetadata{Properties: map[string]string{"emitModeMarker": " Sync "}}
		results, err := e.EmitAll(t.Context(), all)
		if err != nil || (results[0].State == rest.Written) != respect || (results[0].Notice != "") != respect {
			t.Errorf("got %+v, %v", results, err)
		}
	}
}

func TestAModeThatIsNone(t *testing.T) {
	t.Parallel()
	g := newGMS(t, nil)
	e, _ := newEmitter(t, g.URL, nil)
	if r, err := e.Emit(t.Context(), proposal(t, 1), rest.WithMode("x")); err == nil || r.State != rest.Unsent || len(g.requests()) != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := e.Emit(t.Context(), proposal(t, 1), rest.WithMode("")); err != nil || r.Mode != rest.SyncPrimary {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestURNsArriveAsTheyAre deletes entities whose URNs have what an address would misread.
func TestURNsArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a/b", "50%", "a%2Cb", "x?y#z", "tablé😀", "a b+c", "../..", `"\`} {
		urn := "urn:li:tag:" + id
		remove, err := mcp.Delete(urn)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		mux := http.NewServeMux()
		mux.HandleFunc("DELETE /gms/openapi/v3/entity/{type}/{urn}", func(_ http.ResponseWriter, r *http.Request) {
			got = r.PathValue("type") + " " + r.PathValue("urn")
		})
		g := newGMS(t, nil)
		g.Config.Handler = mux
		e, _ := newEmitter(t, g.URL+"/gms", func(c *rest.Config) { c.API = rest.APIOpenAPI })
		if _, err := e.Emit(t.Context(), remove); err != nil || got != "tag "+urn {
			t.Errorf("%s: the server got %q, %v", urn, got, err)
		}
	}
}
