package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// traced is a server of today that answers polls as scripted, each answer once and the last for ever. ALL in an answer
// stands for each aspect that was asked for, with the text between the colon and the next semicolon as its status.
func traced(t *testing.T, polls ...string) *gms {
	n := 0
	return newGMS(t, versioned("v1.3.0", "core", func(w http.ResponseWriter, r sentRequest) {
		if !strings.HasPrefix(r.path, "/openapi/v1/trace/") {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := polls[min(n, len(polls)-1)]
		n++
		status, ok := strings.CutPrefix(answer, "ALL:")
		if !ok {
			fmt.Fprint(w, answer)
			return
		}
		var asked map[string][]string
		if err := json.Unmarshal([]byte(r.body), &asked); err != nil {
			t.Error(err)
		}
		found := map[string]map[string]json.RawMessage{}
		for urn, aspects := range asked {
			found[urn] = map[string]json.RawMessage{}
			for _, aspect := range aspects {
				found[urn][aspect] = json.RawMessage(status)
			}
		}
		if err := json.NewEncoder(w).Encode(found); err != nil {
			t.Error(err)
		}
	}))
}

const (
	pending = `ALL:{"success":true,"primaryStorage":{"writeStatus":"ACTIVE_STATE"},"searchStorage":{"writeStatus":"PENDING"}}`
	done    = `ALL:{"success":true,"primaryStorage":{"writeStatus":"ACTIVE_STATE"},"searchStorage":{"writeStatus":"ACTIVE_STATE"}}`
	unknown = `ALL:{"success":true,"primaryStorage":{"writeStatus":"UNKNOWN"},"searchStorage":{"writeStatus":"TRACE_NOT_IMPLEMENTED"}}`
	failed  = `ALL:{"success":false,"primaryStorage":{"writeStatus":"ERROR","writeMessage":"no such column"},"searchStorage":{"writeStatus":"PENDING"}}`
	refused = `ALL:{"success":false,"primaryStorage":{"writeStatus":"NO_OP"},"searchStorage":{"writeStatus":"NO_OP"}}`
	extra   = `{"urn:li:tag:other":{"tagKey":{"success":false}}}`
)

// TestAsyncWait is the table of how a wait ends.
func TestAsyncWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		polls  []string
		option rest.CallOption
		state  rest.State
		error  string
		sleeps []float64
	}{
		"done at once":                 {[]string{done}, nil, rest.Confirmed, "", []float64{0.25}},
		"done later":                   {[]string{pending, pending, done}, nil, rest.Confirmed, "", []float64{0.25, 1, 2}},
		"what can't be traced is done": {[]string{unknown}, nil, rest.Confirmed, "", []float64{0.25}},
		"failed": {
			[]string{pending, failed}, nil, rest.Failed,
			"then failed at it (trace " + goldenTrace + "): datasetProperties of urn:li:dataset:(urn:li:dataPlatform:hive,t1,PROD): " +
				"primary storage ERROR: no such column", []float64{0.25, 1},
		},
		"failed, by that word alone": {
			[]string{refused}, nil, rest.Failed, "primary storage NO_OP", []float64{0.25},
		},
		"an answer about something else": {[]string{extra, done}, nil, rest.Confirmed, "", []float64{0.25, 1}},
		"an answer that is no JSON":      {[]string{`[`}, nil, rest.Queued, "reading the answer", []float64{0.25}},
		"never": {
			// The last wait is cut so that the deadline is met, and the last poll is made at it.
			[]string{pending}, rest.WithWait(rest.WaitPolicy{Timeout: 10 * time.Second, Max: 4 * time.Second}), rest.Queued,
			"is not confirmed after 10s", []float64{0.25, 1, 2, 4, 2.75},
		},
		"at the deadline": {
			[]string{pending, pending, done}, rest.WithWait(rest.WaitPolicy{Timeout: 2 * time.Second}), rest.Confirmed,
			"", []float64{0.25, 1, 0.75},
		},
		"no time to wait": {[]string{done}, rest.WithWait(rest.WaitPolicy{}), rest.Queued, "is not confirmed after 0s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := traced(t, c.polls...)
			e, time := newEmitter(t, g.URL, func(config *rest.Config) { config.API, config.Mode = rest.APIAuto, rest.AsyncWait })
			var options []rest.CallOption
			if c.option != nil {
				options = append(options, c.option)
			}
			r, err := e.Emit(t.Context(), proposal(t, 1), options...)
			if r.State != c.state || r.TraceID != goldenTrace || r.API != rest.APIOpenAPI {
				t.Errorf("got %+v", r)
			}
			if (c.error == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.error)) {
				t.Errorf("got %v, want %q", err, c.error)
			}
			if diff := cmp.Diff(c.sleeps, time.Slept()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEachAspectHasItsOwnFate has three aspects in one trace: one done, one failed, one that stays away.
func TestEachAspectHasItsOwnFate(t *testing.T) {
	t.Parallel()
	all := proposals(t, 4)
	all[3] = all[0] // the same aspect twice shares its fate
	status := func(text string) string { return strings.TrimPrefix(text, "ALL:") }
	g := traced(t,
		fmt.Sprintf(`{%q:{"datasetProperties":%s},%q:{"datasetProperties":%s}}`,
			all[0].EntityURN, status(done), all[1].EntityURN, status(failed)), pending)
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.API, c.Wait.Timeout = rest.APIOpenAPI, time.Minute })
	results, err := e.EmitAll(t.Context(), all, rest.WithMode(rest.AsyncWait))
	batch, ok := errors.AsType[*rest.BatchError](err)
	if !ok || batch.Failed != 1 || batch.Unconfirmed != 1 {
		t.Errorf("got %v", err)
	}
	if results[0].State != rest.Confirmed || results[3].State != rest.Confirmed {
		t.Errorf("got %+v, %+v", results[0], results[3])
	}
	trace, ok := errors.AsType[*rest.TraceError](results[1].Err)
	want := []rest.TraceFailure{{
		URN: all[1].EntityURN, Aspect: "datasetProperties", Storage: "primary", Status: "ERROR", Message: "no such column",
	}}
	if !ok || results[1].State != rest.Failed || cmp.Diff(want, trace.Failures) != "" {
		t.Errorf("got %+v", results[1])
	}
	late, ok := errors.AsType[*rest.WaitTimeoutError](results[2].Err)
	if !ok || results[2].State != rest.Queued || late.After != time.Minute || late.URN != all[2].EntityURN {
		t.Errorf("got %+v", results[2])
	}
	for i, r := range g.requests()[3:] { // after /config, the write and the first poll
		if strings.Contains(r.body, "hive,t0") || strings.Contains(r.body, "hive,t1") || !holds(r.body, 2) {
			t.Fatalf("poll %d asks for what is known: %s", i+1, r.body)
		}
	}
}

func TestAServerThatCantConfirm(t *testing.T) {
	t.Parallel()
	t.Run("an old one is sent nothing", func(t *testing.T) {
		t.Parallel()
		g := newGMS(t, versioned("v0.14.1", "core", nil))
		e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.API = rest.APIAuto })
		r, err := e.Emit(t.Context(), proposal(t, 1), rest.WithMode(rest.AsyncWait))
		if !errors.Is(err, rest.ErrWaitUnsupported) || r.State != rest.Unsent || !strings.Contains(err.Error(), `"v0.14.1"`) {
			t.Errorf("got %+v, %v", r, err)
		}
		if diff := cmp.Diff([]string{"GET /config"}, g.paths()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an old one may queue", func(t *testing.T) {
		t.Parallel()
		g := newGMS(t, versioned("v0.14.1", "core", nil))
		e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.API = rest.APIAuto })
		r, err := e.Emit(t.Context(), proposal(t, 1), rest.WithMode(rest.AsyncWait), rest.WithAllowDegraded(true))
		if err != nil || r.State != rest.Queued || r.Mode != rest.Async || r.Notice == "" {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("an answer without a trace", func(t *testing.T) {
		t.Parallel()
		for header, degraded := range map[string]bool{"": false, "00-short-1-01": false, "00-" + strings.Repeat("z", 32) + "-1-01": true} {
			g := newGMS(t, versioned("v1.3.0", "core", says(202, "", "Traceparent", header)))
			e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.API = rest.APIAuto })
			r, err := e.Emit(t.Context(), proposal(t, 1), rest.WithMode(rest.AsyncWait), rest.WithAllowDegraded(degraded))
			if errors.Is(err, rest.ErrWaitUnsupported) == degraded || r.State != rest.Queued || (r.Notice != "") != degraded {
				t.Errorf("%q: got %+v, %v", header, r, err)
			}
		}
	})
	t.Run("no traces at that address", func(t *testing.T) {
		t.Parallel()
		g := newGMS(t, versioned("v1.3.0", "core", func(w http.ResponseWriter, r sentRequest) {
			if strings.Contains(r.path, "/trace/") {
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.API = rest.APIAuto })
		r, err := e.Emit(t.Context(), proposal(t, 1), rest.WithMode(rest.AsyncWait))
		if !errors.Is(err, rest.ErrWaitUnsupported) || r.State != rest.Queued {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("traces that break", func(t *testing.T) {
		t.Parallel()
		g := newGMS(t, versioned("v1.3.0", "core", func(w http.ResponseWriter, r sentRequest) {
			if strings.Contains(r.path, "/trace/") {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.API = rest.APIAuto })
		r, err := e.Emit(t.Context(), proposal(t, 1), rest.WithMode(rest.AsyncWait))
		if problem, ok := errors.AsType[*rest.Error](err); !ok || problem.Status != 503 || r.State != rest.Queued {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestAContextEndsAWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("enough")
	g := traced(t, pending)
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) {
		c.Mode = rest.AsyncWait
		sleep := c.Sleep
		c.Sleep = func(ctx context.Context, d time.Duration) error {
			if d > 10*time.Second {
				cancel(ended)
			}
			return sleep(ctx, d)
		}
	})
	r, err := e.Emit(ctx, proposal(t, 1))
	if !errors.Is(err, ended) || r.State != rest.Queued {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	g := traced(t, failed)
	e, _ := newEmitter(t, g.URL, nil)
	got, err := e.Status(t.Context(), rest.Trace{ID: goldenTrace, Targets: map[string][]string{"urn:li:tag:a": {"status"}}})
	if err != nil {
		t.Fatal(err)
	}
	if s := got["urn:li:tag:a"]["status"]; !s.Failed() || s.Done() || s.Primary.Message != "no such column" {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"POST " + tracePath}, g.paths()); diff != "" {
		t.Error(diff)
	}
}

// TestADeletionIsNotWaitedFor has one beside a write in one call: it is done when it is answered.
func TestADeletionIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	g := traced(t, done)
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Mode, c.API = rest.AsyncWait, rest.APIOpenAPI })
	remove, err := mcp.Delete("urn:li:tag:a")
	if err != nil {
		t.Fatal(err)
	}
	results, err := e.EmitAll(t.Context(), []mcp.Proposal{remove, proposal(t, 1)})
	if err != nil || results[0].State != rest.Written || results[1].State != rest.Confirmed {
		t.Errorf("got %+v, %v", results, err)
	}
}
