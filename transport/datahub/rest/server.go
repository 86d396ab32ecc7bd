package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server is what GMS says of itself at /config.
type Server struct {
	// Version as the server writes it, such as v1.3.0; "" when it says none.
	Version string
	Commit  string
	// Type and Env are datahub.serverType and serverEnv; Env is core for a server of one's own.
	Type, Env string
	// PatchCapable says that the server takes PATCH.
	PatchCapable bool
	// StatefulIngestion and ImpactAnalysis say what else it can do.
	StatefulIngestion, ImpactAnalysis bool
	// ManagedIngestion says whether ingestion is run from the server's page, CLIVersion with which client.
	ManagedIngestion bool
	CLIVersion       string
}

// The versions from which OpenAPI v3 and the tracing of writes are complete.
const (
	coreComplete  = "1.0.1.0"
	cloudComplete = "0.3.11.0"
)

// Cloud reports whether the server is one of DataHub Cloud, which counts its versions by itself.
func (s Server) Cloud() bool { return s.Env != "" && s.Env != "core" }

// SupportsOpenAPI reports whether /openapi/v3/entity takes whatever the emitter sends.
func (s Server) SupportsOpenAPI() bool {
	needed := coreComplete
	if s.Cloud() {
		needed = cloudComplete
	}
	return !parseVersion(s.Version).before(parseVersion(needed))
}

// SupportsTracing reports whether the server can say what became of a queued write. It came with OpenAPI v3.
func (s Server) SupportsTracing() bool { return s.SupportsOpenAPI() }

// version is four numbers; a text that is none is all zeros, the oldest.
type version [4]int

// parseVersion reads three or four numbers after an optional v. What follows them (rc1, a suffix) does not count.
func parseVersion(text string) version {
	var v version
	rest := strings.TrimPrefix(strings.TrimSpace(text), "v")
	for i := range v {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			if i < 3 {
				return version{}
			}
			return v
		}
		v[i], rest = n, rest[len(digits):]
		next, ok := strings.CutPrefix(rest, ".")
		if !ok {
			if i < 2 {
				return version{}
			}
			return v
		}
		rest = next
	}
	return v
}

func (v version) before(o version) bool {
	for i := range v {
		if v[i] != o[i] {
			return v[i] < o[i]
		}
	}
	return false
}

// configAnswer is the part of /config that counts. A member of another type than expected is as if it were not there.
type configAnswer struct {
	NoCode            any               `json:"noCode"`
	Versions          map[string]member `json:"versions"`
	DataHub           member            `json:"datahub"`
	ManagedIngestion  member            `json:"managedIngestion"`
	PatchCapable      any               `json:"patchCapable"`
	StatefulIngestion any               `json:"statefulIngestionCapable"`
	ImpactAnalysis    any               `json:"supportsImpactAnalysis"`
}

// member is a JSON object of which only texts and truths are read.
type member map[string]any

// UnmarshalJSON takes what is no object as an empty one.
func (m *member) UnmarshalJSON(raw []byte) error {
	var object map[string]any
	if json.Unmarshal(raw, &object) == nil {
		*m = object
	}
	return nil
}

func (m member) text(name string) string { return text(m[name]) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

// isTrue takes true and "true": servers have written both.
func isTrue(v any) bool { return v == true || v == "true" }

// TestConnection asks the server what it is. It fails where nothing answers, where the token is refused, and with
// ErrNotGMS where something else answers, such as DataHub's web page.
func (e *Emitter) TestConnection(ctx context.Context) (Server, error) {
	ans, err := e.client.do(ctx, request{method: http.MethodGet, path: "/config", limit: answerWhole, whole: true})
	if err != nil {
		return Server{}, err
	}
	op := "GET " + e.client.mask.Text(display(e.client.base)) + "/config"
	var config configAnswer
	if err := json.Unmarshal(ans.body, &config); err != nil || !isTrue(config.NoCode) {
		return Server{}, &Error{
			Op: op, Status: ans.status, Attempts: ans.attempts, Body: clip(e.client.mask.Bytes(ans.body)), Err: ErrNotGMS,
		}
	}
	own := config.Versions["acryldata/datahub"]
	s := Server{
		Version: own.text("version"), Commit: own.text("commit"),
		Type: config.DataHub.text("serverType"), Env: config.DataHub.text("serverEnv"),
		PatchCapable: isTrue(config.PatchCapable), StatefulIngestion: isTrue(config.StatefulIngestion),
		ImpactAnalysis: isTrue(config.ImpactAnalysis), ManagedIngestion: isTrue(config.ManagedIngestion["enabled"]),
		CLIVersion: config.ManagedIngestion.text("defaultCliVersion"),
	}
	e.known.set(s, e.config.Now())
	return s, nil
}

// knowledge is what is known of the server, and since when.
type knowledge struct {
	// asking is held by the one call that asks; others wait for it or for their context.
	asking chan struct{}
	mu     sync.Mutex
	server Server
	at     time.Time
	ok     bool
}

func (k *knowledge) set(s Server, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.server, k.at, k.ok = s, now, true
}

// get returns what is known, and whether it is younger than refresh.
func (k *knowledge) get(now time.Time, refresh time.Duration) (s Server, known, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.server, k.ok, k.ok && now.Sub(k.at) < refresh
}

// server returns what the server is, asking it where nothing is known or long ago.
func (e *Emitter) server(ctx context.Context) (Server, error) {
	if s, _, fresh := e.known.get(e.config.Now(), e.config.ServerRefresh); fresh {
		return s, nil
	}
	select {
	case e.known.asking <- struct{}{}:
		defer func() { <-e.known.asking }()
	case <-ctx.Done():
		return Server{}, context.Cause(ctx)
	}
	s, known, fresh := e.known.get(e.config.Now(), e.config.ServerRefresh)
	if fresh {
		return s, nil
	}
	found, err := e.TestConnection(ctx)
	if err != nil {
		if known && ctx.Err() == nil {
			e.known.set(s, e.config.Now()) // what it was, it most likely still is; the emit itself will tell
			return s, nil
		}
		return Server{}, fmt.Errorf("asking the server what it is: %w", err)
	}
	return found, nil
}

// way returns the API of a call.
func (e *Emitter) way(ctx context.Context) (API, error) {
	if e.config.API != APIAuto {
		return e.config.API, nil
	}
	s, err := e.server(ctx)
	if problem, ok := errors.AsType[*Error](err); ok && problem.Status == http.StatusNotFound {
		return APIRestli, nil // /config is shut off before GMS: Rest.li is what every server has
	}
	if err != nil {
		return "", err
	}
	if s.SupportsOpenAPI() {
		return APIOpenAPI, nil
	}
	return APIRestli, nil
}
