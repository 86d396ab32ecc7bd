package rest_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// TestTheWayFollowsTheVersion is the table of which API a server is sent to.
func TestTheWayFollowsTheVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config string
		want   rest.API
	}{
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"v1.3.0"}},"datahub":{"serverEnv":"core"}}`, rest.APIOpenAPI},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"1.0.1"}}}`, rest.APIOpenAPI},
		{`{"noCode":true,"versions":{"acryldata/datahub":{"version":"v1.0.1.0rc2"}}}`, rest.APIOpenAPI},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"v1.0.0.9"}}}`, rest.APIRestli},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"v0.14.1"}},"datahub":{"serverEnv":"core"}}`, rest.APIRestli},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"v0.3.11"}},"datahub":{"serverEnv":"prod"}}`, rest.APIOpenAPI},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"v0.3.10.5-x"}},"datahub":{"serverEnv":"prod"}}`, rest.APIRestli},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"v1.3"}}}`, rest.APIRestli},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":null}}}`, rest.APIRestli},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"head"}}}`, rest.APIRestli},
		{`{"noCode":"true","versions":{"acryldata/datahub":"v9.9.9"},"datahub":[]}`, rest.APIRestli},
		{`{"noCode":"true","versions":{"acryldata/datahub":{"version":"v99999999999999999999.0.0"}}}`, rest.APIRestli},
		{`{"noCode":"true"}`, rest.APIRestli},
	} {
		g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
			if r.path == "/config" {
				says(200, c.config)(w, r)
			}
		})
		e, _ := newEmitter(t, g.URL, func(config *rest.Config) { config.API = rest.APIAuto })
		r, err := e.Emit(t.Context(), proposal(t, 1))
		if err != nil || r.API != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.config, r.API, err, c.want)
		}
	}
}

func TestTestConnection(t *testing.T) {
	t.Parallel()
	full := `{"noCode":"true","patchCapable":true,"statefulIngestionCapable":true,"supportsImpactAnalysis":true,` +
		`"versions":{"acryldata/datahub":{"version":"v1.3.0","commit":"abc"}},` +
		`"managedIngestion":{"enabled":true,"defaultCliVersion":"1.3.0.1"},"datahub":{"serverType":"quickstart","serverEnv":"core"}}`
	for name, c := range map[string]struct {
		answer answer
		want   rest.Server
		status int // of the error
		notGMS bool
	}{
		"whole": {says(200, full), rest.Server{
			Version: "v1.3.0", Commit: "abc", Type: "quickstart", Env: "core", PatchCapable: true, StatefulIngestion: true,
			ImpactAnalysis: true, ManagedIngestion: true, CLIVersion: "1.3.0.1",
		}, 0, false},
		"the frontend's":      {says(200, `{"appName":"datahub-frontend"}`), rest.Server{}, 200, true},
		"the frontend's page": {says(200, page), rest.Server{}, 200, true},
		"something":           {says(200, `[]`), rest.Server{}, 200, true},
		"nothing":             {says(200, ``), rest.Server{}, 200, true},
		"401":                 {says(401, `bad token`), rest.Server{}, 401, false},
		"404":                 {says(404, ``), rest.Server{}, 404, false},
		"too long":            {says(200, strings.Repeat(" ", 17<<20)), rest.Server{}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, c.answer)
			e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Retry.Max = -1 })
			got, err := e.TestConnection(t.Context())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			problem, ok := errors.AsType[*rest.Error](err)
			if ok != (c.want.Version == "") || errors.Is(err, rest.ErrNotGMS) != c.notGMS || (ok && problem.Status != c.status) {
				t.Errorf("got %v", err)
			}
			if c.notGMS && !strings.Contains(err.Error(), "/api/gms") {
				t.Errorf("the error does not say where GMS is: %v", err)
			}
		})
	}
}

// TestTheServerIsAskedOnce emits at once from many goroutines, and again when the answer is old.
func TestTheServerIsAskedOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	version, asked, away := "v0.14.1", 0, false
	g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
		mu.Lock()
		defer mu.Unlock()
		if r.path != "/config" {
			return
		}
		if asked++; away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		versioned(version, "core", nil)(w, r)
	})
	e, clock := newEmitter(t, g.URL, func(c *rest.Config) { c.API, c.Retry.Max = rest.APIAuto, -1 })
	emit := func(want rest.API) {
		t.Helper()
		if r, err := e.Emit(t.Context(), proposal(t, 1)); err != nil || r.API != want {
			t.Errorf("got %+v, %v, want %s", r, err, want)
		}
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { emit(rest.APIRestli) })
	}
	group.Wait()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	set := func(v string, gone bool) {
		mu.Lock()
		defer mu.Unlock()
		version, away = v, gone
	}
	set("v1.3.0", false)
	emit(rest.APIRestli)
	if err := clock.Sleep(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	emit(rest.APIOpenAPI) // it was upgraded
	set("v1.3.0", true)
	if err := clock.Sleep(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	emit(rest.APIOpenAPI) // what it was counts while it can't say
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

func TestAServerThatCantBeAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		state  rest.State
	}{
		"401 is told":         {401, rest.Unsent},
		"404 means Rest.li":   {404, rest.Written},
		"503 is told for now": {503, rest.Unsent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
				if r.path == "/config" {
					w.WriteHeader(c.status)
				}
			})
			e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.API = rest.APIAuto })
			r, err := e.Emit(t.Context(), proposal(t, 1))
			problem, ok := errors.AsType[*rest.Error](err)
			if r.State != c.state || ok != (c.state == rest.Unsent) || (ok && problem.Status != c.status) {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}
