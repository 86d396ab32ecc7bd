package prefect_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

var one = prefect.Filter{Limit: 1}

// TestFaults plays a fault on every try and holds the error against what callers branch on.
func TestFaults(t *testing.T) {
	t.Parallel()
	const missingPage = `{"detail":"Not Found"}`
	for _, test := range []struct {
		name   string
		fault  prefecttest.Fault
		kind   error
		reason string
		tries  int
		says   string
	}{
		{"400", prefecttest.Answer(400, "application/json", `{"detail":"this server requires version 0.9.0"}`), prefect.ErrRefused, "status-400", 1, "this server requires version 0.9.0"},
		{"401", prefecttest.Status(401), prefect.ErrUnauthorized, "status-401", 1, "PREFECT_API_AUTH_STRING"},
		{"403", prefecttest.Status(403), prefect.ErrUnauthorized, "status-403", 1, "Forbidden"},
		{"403 of a proxy", prefecttest.Answer(403, "text/html", "<title>Blocked\nby us</title>"), prefect.ErrUnauthorized, "status-403", 1, `HTML page titled "Blocked\nby us"`},
		{"404 for a list", prefecttest.Answer(404, "application/json", `{"detail":"Workspace not found"}`), prefect.ErrNotPrefect, "status-404", 1, "Workspace not found"},
		{"404 without such a page", prefecttest.Answer(404, "application/json", missingPage), prefect.ErrNotPrefect, "status-404", 1, "login page"},
		{"405", prefecttest.Status(405), prefect.ErrNotPrefect, "status-405", 1, "Method Not Allowed"},
		{"407", prefecttest.Status(407), prefect.ErrUnauthorized, "status-407", 1, "HTTP_PROXY"},
		{"408", prefecttest.Status(408), prefect.ErrUnavailable, "status-408", 3, "Request Timeout"},
		{"409", prefecttest.Status(409), prefect.ErrRefused, "status-409", 1, "Conflict"},
		{"413", prefecttest.Status(413), prefect.ErrTooLarge, "status-413", 1, "Too Large"},
		{"422", prefecttest.Answer(422, "application/json", `{"exception_message":"Invalid request received.","exception_detail":[{"type":"uuid_parsing","loc":["body","id"],"msg":"bad"}]}`), prefect.ErrRefused, "status-422", 1, "[id: bad]"},
		{"422 that is no JSON", prefecttest.Answer(422, "text/plain", "what?"), prefect.ErrRefused, "status-422", 1, "what?"},
		{"425", prefecttest.Status(425), prefect.ErrUnavailable, "status-425", 3, "Too Early"},
		{"429", prefecttest.Status(429), prefect.ErrUnavailable, "status-429", 3, "Too Many Requests"},
		{"500", prefecttest.Answer(500, "text/plain", "database is\n locked"), prefect.ErrUnavailable, "status-500", 3, "database is locked"},
		{"502", prefecttest.Status(502), prefect.ErrUnavailable, "status-502", 3, "Bad Gateway"},
		{"503", prefecttest.Status(503), prefect.ErrUnavailable, "status-503", 3, "Service Unavailable"},
		{"an unknown 5xx", prefecttest.Status(599), prefect.ErrUnavailable, "status-599", 3, "599"},
		{"login page", prefecttest.LoginPage(), prefect.ErrNotPrefect, "not-json", 1, `HTML page titled "Sign in"`},
		{"redirect to a login page", prefecttest.Redirect(302, "https://sso.example/login?state=s3cret"), prefect.ErrNotPrefect, "status-302", 1, "redirects to https://sso.example/login:"},
		{"redirect to its own login page", prefecttest.Redirect(302, "/login"), prefect.ErrNotPrefect, "status-302", 1, "redirects to http://prefect.test/login:"},
		{"redirect without a place", prefecttest.Redirect(307, ""), prefect.ErrNotPrefect, "status-307", 1, "is PREFECT_API_URL the Prefect API"},
		{"redirect round in a circle", prefecttest.Redirect(308, "/api/flows/filter"), prefect.ErrNotPrefect, "status-308", 5, "redirects to"},
		{"half JSON", prefecttest.HalfJSON(), prefect.ErrUnavailable, "truncated", 3, "no whole JSON document"},
		{"an empty answer", prefecttest.Answer(200, "application/json", ""), prefect.ErrUnavailable, "truncated", 3, "no whole JSON document"},
		{"broken off", prefecttest.BrokenOff(), prefect.ErrUnavailable, "truncated", 3, "unexpected EOF"},
		{"reset", prefecttest.Reset(), prefect.ErrUnavailable, "connection", 3, "EOF"},
		{"hangs", prefecttest.Hang(), prefect.ErrTimeout, "timeout", 1, "nothing whole within 1m0s (PREFECT_API_REQUEST_TIMEOUT"},
		{"another form", prefecttest.Answer(200, "application/json", `{"rows":[]}`), prefect.ErrNotPrefect, "not-prefect", 1, "unexpected form"},
		{"JSON without a content type", prefecttest.Answer(200, "", "[]"), nil, "", 1, ""},
		{"JSON of a kind", prefecttest.Answer(200, "application/problem+json; charset=utf-8", "[]"), nil, "", 1, ""},
		{"slow", prefecttest.Slow(59 * time.Second), nil, "", 1, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := prefecttest.New(t)
				server.FaultAlways(prefecttest.Any(), test.fault)
				begun := time.Now()
				_, err := server.Client(t).Flows(t.Context(), one)
				if got := server.Count(""); got != test.tries {
					t.Errorf("%d tries, want %d", got, test.tries)
				}
				if test.kind == nil {
					if err != nil {
						t.Error(err)
					}
					return
				}
				fault := faultOf(t, err)
				if !errors.Is(err, test.kind) || fault.Reason != test.reason || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v (%s), want %v (%s) that says %q", err, fault.Reason, test.kind, test.reason, test.says)
				}
				if !strings.HasPrefix(err.Error(), "POST /flows/filter: ") || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("the error does not name the request, or a secret: %v", err)
				}
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestQuickTries: a passing trouble is not seen by the caller.
func TestQuickTries(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]prefecttest.Fault{
		"500": prefecttest.Status(500), "reset": prefecttest.Reset(), "half JSON": prefecttest.HalfJSON(),
		"broken off": prefecttest.BrokenOff(), "429": prefecttest.Status(429),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := prefecttest.New(t)
				server.AddFlow("One")
				server.Fault(prefecttest.Any(), fault, fault)
				begun := time.Now()
				page, err := server.Client(t).Flows(t.Context(), one)
				if err != nil || len(page.Rows) != 1 {
					t.Errorf("%d rows, %v", len(page.Rows), err)
				}
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("the quick tries took %s", took)
				}
				if bodies := server.Requests(); string(bodies[0].Body) != string(bodies[2].Body) || bodies[2].Length < 1 {
					t.Errorf("the last try sent %q", bodies[2].Body)
				}
			})
		})
	}
}

// TestNotFound: only Prefect's own word for a missing row makes a run gone.
func TestNotFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault prefecttest.Fault
		kind  error
	}{
		{"the server's word", prefecttest.Pass(), prefect.ErrNotFound},
		{"the other form", prefecttest.Answer(404, "application/json", `{"exception_message":"Flow run not found"}`), prefect.ErrNotFound},
		{"no such page", prefecttest.Answer(404, "application/json", `{"detail":"Not Found"}`), prefect.ErrNotPrefect},
		{"a proxy's page", prefecttest.Answer(404, "text/html", "<html>404</html>"), prefect.ErrNotPrefect},
		{"a proxy's JSON", prefecttest.Answer(404, "application/json", `{"error":"no backend"}`), prefect.ErrNotPrefect},
		{"nothing", prefecttest.Answer(404, "", ""), prefect.ErrNotPrefect},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := prefecttest.New(t)
			server.FaultAlways(prefecttest.Any(), test.fault)
			_, err := server.Client(t).FlowRun(t.Context(), uuid.New())
			if !errors.Is(err, test.kind) || errors.Is(err, prefect.ErrNotFound) != errors.Is(test.kind, prefect.ErrNotFound) {
				t.Errorf("%v, want %v", err, test.kind)
			}
		})
	}
}

// TestUnknownField: what a server is too old for is told apart from a wrong request, on each version in its own form.
func TestUnknownField(t *testing.T) {
	t.Parallel()
	now := time.Now()
	byEnd := &prefect.RunFilter{EndTime: &prefect.Window{After: &now}}
	for _, test := range []struct {
		version string
		filter  prefect.Filter
		field   string // empty: the server knows all
	}{
		{prefecttest.V3_9, prefect.Filter{Limit: 1, TaskRuns: byEnd}, ""},
		{prefecttest.V3_6, prefect.Filter{Limit: 1, TaskRuns: byEnd}, "task_runs.end_time"},
		{prefecttest.V3_6, prefect.Filter{Limit: 1, FlowRuns: byEnd}, ""},
		{prefecttest.V2_20, prefect.Filter{Limit: 1, FlowRuns: byEnd}, "flow_runs.end_time"},
		{prefecttest.V2_20, prefect.Filter{Limit: 1, Sort: "START_TIME_ASC"}, "sort"},
		{prefecttest.V3_9, prefect.Filter{Limit: 1, Sort: "START_TIME_ASC"}, "sort"},
	} {
		t.Run(fmt.Sprint(test.version, test.field), func(t *testing.T) {
			t.Parallel()
			server := prefecttest.New(t, prefecttest.Version(test.version))
			_, err := server.Client(t).TaskRuns(t.Context(), test.filter)
			if test.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			fault := faultOf(t, err)
			if !errors.Is(err, prefect.ErrUnknownField) || !errors.Is(err, prefect.ErrRefused) || len(fault.Fields) != 1 || fault.Fields[0] != test.field {
				t.Errorf("%v with %v, want %s", err, fault.Fields, test.field)
			}
		})
	}
	// A field that is too new beside one that is wrong: leaving the first out would not help.
	server := prefecttest.New(t)
	server.FaultAlways(prefecttest.Any(), prefecttest.Answer(422, "application/json", `{"exception_detail":[`+
		`{"type":"extra_forbidden","loc":["body","task_runs","x"],"msg":""},{"type":"missing","loc":["body"],"msg":""}]}`))
	if _, err := server.Client(t).TaskRuns(t.Context(), one); errors.Is(err, prefect.ErrUnknownField) || !errors.Is(err, prefect.ErrRefused) {
		t.Errorf("a wrong request: %v", err)
	}
}

func TestAddressHints(t *testing.T) {
	t.Parallel()
	server := prefecttest.New(t)
	for url, says := range map[string]string{
		"http://prefect.test":                     "is http://prefect.test/api meant?",
		"http://prefect.test/prefect/":            "is http://prefect.test/prefect/api meant?",
		"http://api.prefect.cloud/api/accounts/1": "names the account and the workspace",
	} {
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.URL = url })
		if _, err := client.Flows(t.Context(), one); !errors.Is(err, prefect.ErrNotPrefect) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want one that says %s", url, err, says)
		}
	}
}

// TestCallersContext: an end of the caller's context is the caller's, not the server's fault, wherever it strikes.
func TestCallersContext(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]prefecttest.Fault{
		"under way": prefecttest.Hang(), "between tries": prefecttest.Status(500), "sitting out": prefecttest.RetryAfter(429, "30"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := prefecttest.New(t)
				server.FaultAlways(prefecttest.Any(), fault)
				var seen results
				client := newObserved(t, server, &seen, nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				begun := time.Now()
				_, err := client.Flows(ctx, one)
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, prefect.ErrTimeout) || errors.Is(err, prefect.ErrUnavailable) {
					t.Errorf("%v", err)
				}
				if took := time.Since(begun); took != time.Millisecond {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

func TestRedirectsThatAreFollowed(t *testing.T) {
	t.Parallel()
	for _, code := range []int{307, 308} {
		server := prefecttest.New(t)
		server.AddFlow("One")
		server.Fault(prefecttest.Path("/old/"), prefecttest.Redirect(code, "/api/flows/filter"))
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.URL += "/old"; cfg.APIKey = "pnu_key" })
		page, err := client.Flows(t.Context(), one)
		if err != nil || len(page.Rows) != 1 {
			t.Errorf("%d: %d rows, %v", code, len(page.Rows), err)
			continue
		}
		last := server.Requests()[1]
		if last.Method != "POST" || string(last.Body) != `{"limit":1,"offset":0}` || last.Header.Get("Authorization") != "Bearer pnu_key" {
			t.Errorf("%d: the second request was %+v", code, last)
		}
	}
}

// TestRedirectElsewhere: no other server ever sees the credentials.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"http://other.test/api/flows/filter", "http://prefect.test:81/api/flows/filter", "ftp://prefect.test/"} {
		server := prefecttest.New(t)
		server.FaultAlways(prefecttest.Any(), prefecttest.Redirect(307, to))
		client := newClient(t, server, func(cfg *prefect.Config) { cfg.Headers = map[string]string{"X-Token": "s3cret"} })
		if _, err := client.Flows(t.Context(), one); !errors.Is(err, prefect.ErrNotPrefect) || !strings.Contains(err.Error(), to) {
			t.Errorf("%s: %v", to, err)
		}
		if got := server.Count(""); got != 1 {
			t.Errorf("%s: %d requests", to, got)
		}
	}
}

// TestClosedUnderTheRequest: a server that closes an idle connection just when it is used again costs no quick try and
// no wait, since every request here may be sent twice.
func TestClosedUnderTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := prefecttest.New(t)
		var seen results
		client := newObserved(t, server, &seen, nil)
		if _, err := client.Flows(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		server.Fault(prefecttest.Any(), prefecttest.Reset())
		begun := time.Now()
		if _, err := client.Flows(t.Context(), one); err != nil || time.Since(begun) != 0 {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if got := seen.all(); len(got) != 2 || got[1] != "flows ok" || server.Count("") != 3 {
			t.Errorf("observed %v of %d requests", got, server.Count(""))
		}
	})
}

func TestUnhealthy(t *testing.T) {
	t.Parallel()
	for body, kind := range map[string]error{"false": prefect.ErrUnavailable, `"fine"`: prefect.ErrNotPrefect} {
		server := prefecttest.New(t)
		server.FaultAlways(prefecttest.Any(), prefecttest.Answer(200, "application/json", body))
		if err := server.Client(t).Health(t.Context()); !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %v", body, err, kind)
		}
	}
}
