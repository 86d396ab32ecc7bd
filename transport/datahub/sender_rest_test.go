package datahub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// open returns a transport to a sink. Without more said it goes over Rest.li.
func open(t *testing.T, sink *transporttest.Sink, server m) *datahub.Transport {
	t.Helper()
	all := m{"url": sink.URL(), "endpoint": "RESTLI", "timeout": 5}
	maps.Copy(all, server)
	c := parsed(t, m{"server": all}, nil)
	tr, err := datahub.Open(c, datahub.Options{UserAgent: "prefect-openlineage-listener/1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// emptyAnswer is a server that takes everything.
func emptyAnswer() transporttest.Script {
	return transporttest.Always(transporttest.Reply{Status: 200, Body: "{}"})
}

// config answers /config as a server of a version, and all else by script.
func config(version string, rest transporttest.Script) transporttest.Script {
	return func(r transporttest.Request) transporttest.Reply {
		if r.URL.Path == "/config" {
			return transporttest.Reply{Status: 200, Body: fmt.Sprintf(`{"noCode":"true","versions":{"acryldata/datahub":{"version":%q}},"datahub":{"serverEnv":"core"}}`, version)}
		}
		return rest(r)
	}
}

// Each status means what it means for every transport over HTTP.
func TestEveryStatusHasItsOutcome(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := open(t, sink, m{"retry_max_times": 0})
	for status, want := range transporttest.Statuses() {
		if status == 204 || status == 205 || status == 304 || (status >= 300 && status < 400) {
			continue // see the next test
		}
		sink.Script(transporttest.Always(transporttest.Reply{Status: status, Body: `{"message":"no"}`}))
		err := tr.Emit(t.Context(), transporttest.Event(status, 0))
		if want == nil {
			if err != nil {
				t.Errorf("%d: %v, want it delivered", status, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%d: delivered, want %v", status, *want)
			continue
		}
		if e := transporttest.RequireError(t, err); e.Outcome != *want || e.Status != status {
			t.Errorf("%d: %v %d, want %v: %v", status, e.Outcome, e.Status, *want, e)
		}
	}
}

func TestAnswersOfSomethingElse(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := open(t, sink, nil)
	for name, reply := range map[string]transporttest.Reply{
		"a web page": {Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<!DOCTYPE html><html>"},
		"a redirect": {Status: 302, Header: map[string]string{"Location": "/login"}},
		"not found":  {Status: 404, Body: "<html>nothing here</html>"},
	} {
		sink.Script(transporttest.Always(reply))
		if e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0))); e.Outcome != transport.Hold {
			t.Errorf("%s: %v, want a hold: %v", name, e.Outcome, e)
		}
	}
}

func TestRetryAfterIsKeptTo(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := open(t, sink, nil)
	for _, status := range []int{429, 503} {
		sink.Script(transporttest.Always(transporttest.After(status, "120")))
		before := len(sink.Requests())
		e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0)))
		if e.Outcome != transport.Retry || e.RetryAfter != 2*time.Minute || e.Status != status {
			t.Errorf("%d: %v after %v: %v", status, e.Outcome, e.RetryAfter, e)
		}
		if n := len(sink.Requests()) - before; n != 1 {
			t.Errorf("%d: asked to wait and was sent %d requests", status, n)
		}
	}
}

// A failure that may be over at once is tried once more, and an event never takes longer than that.
func TestOneQuickTry(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := open(t, sink, nil)
	sink.Script(transporttest.Then(emptyAnswer(), transporttest.Reply{Status: 503}))
	if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Error(err)
	}
	sink.Script(transporttest.Always(transporttest.Reply{Status: 503}))
	before, begin := len(sink.Requests()), time.Now()
	e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(2, 0)))
	if n := len(sink.Requests()) - before; n != 2 || e.Outcome != transport.Retry || time.Since(begin) > 3*time.Second {
		t.Errorf("%d requests in %v: %v", n, time.Since(begin), e)
	}
}

func TestFaultsOfTheConnection(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := open(t, sink, m{"timeout": 0.2})
	for name, tt := range map[string]struct {
		fault  transporttest.Fault
		reason string
	}{
		"a reset": {transporttest.ResetBefore, transport.ReasonConnection}, "a cut head": {transporttest.CutHead, transport.ReasonConnection},
		"silence": {transporttest.Hang, transport.ReasonTimeout},
	} {
		sink.Script(transporttest.Always(transporttest.Break(tt.fault)))
		e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0)))
		if e.Outcome != transport.Retry || e.Reason != tt.reason {
			t.Errorf("%s: %v %q, want retry and %s: %v", name, e.Outcome, e.Reason, tt.reason, e)
		}
	}
	sink.Script(transporttest.Always(transporttest.Break(transporttest.Hang)))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	e := transporttest.RequireError(t, open(t, sink, nil).Emit(ctx, transporttest.Event(1, 0)))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled {
		t.Errorf("cancelled: %v %q", e.Outcome, e.Reason)
	}
	sink.Close()
	e = transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0)))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonConnection {
		t.Errorf("nobody there: %v %q", e.Outcome, e.Reason)
	}
}

// One aspect that the server does not know keeps the others from nothing.
func TestOneRefusedAspect(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := open(t, sink, nil)
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		if strings.Contains(string(r.Body), `"subTypes"`) {
			return transporttest.Reply{Status: 422, Body: `{"message":"unknown aspect subTypes"}`}
		}
		return transporttest.Reply{Status: 200, Body: "{}"}
	})
	e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0)))
	if e.Outcome != transport.Permanent || !strings.Contains(e.Error(), "sending subTypes of urn:li:dataJob:") {
		t.Errorf("%v: %v", e.Outcome, e)
	}
	taken := map[string]bool{}
	for _, r := range sink.Taken() {
		for _, p := range proposalsOf(t, r.Body) {
			taken[p.AspectName] = true
		}
	}
	for _, name := range []string{"dataJobInfo", "status", "dataProcessInstanceProperties", "dataProcessInstanceRunEvent"} {
		if !taken[name] {
			t.Errorf("%s did not arrive: %v", name, taken)
		}
	}
}

type sentProposal struct{ EntityURN, AspectName, ChangeType string }

// proposalsOf reads a Rest.li body.
func proposalsOf(t *testing.T, body []byte) []sentProposal {
	t.Helper()
	var sent struct {
		Proposal  *sentProposal
		Proposals []sentProposal
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Proposal != nil {
		return []sentProposal{*sent.Proposal}
	}
	return sent.Proposals
}

// No secret gets into an error, whatever the server echoes.
func TestNoSecretGetsOut(t *testing.T) {
	t.Parallel()
	const password, token, header = "pa55/w0rd+ü", "tok-live-4242", "hdr-s3cr3t-1"
	sink := transporttest.NewSink(t)
	for name, server := range map[string]m{
		"a token": {"token": token, "extra_headers": m{"X-Api-Token": header}},
		"a user":  {"url": strings.Replace(sink.URL(), "http://", "http://user:"+url.QueryEscape(password)+"@", 1)},
	} {
		tr := open(t, sink, server)
		for _, status := range []int{302, 401, 404, 422, 500, 503} {
			sink.Script(func(r transporttest.Request) transporttest.Reply {
				return transporttest.Reply{Status: status, Body: fmt.Sprintf("%v %s %s", r.Header, password, token)}
			})
			err := tr.Emit(t.Context(), transporttest.Event(1, 0))
			e := transporttest.RequireError(t, err)
			for _, secret := range []string{password, url.QueryEscape(password), token, header} {
				if (secret == token) == (name == "a token") || secret == header {
					if strings.Contains(err.Error()+string(e.Answer), secret) {
						t.Errorf("%s, %d: %q is in %q or %q", name, status, secret, err, e.Answer)
					}
				}
			}
		}
	}
}

func TestATokensFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	sink := transporttest.NewSink(t)
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		if r.Header.Get("Authorization") != "Bearer new-token" {
			return transporttest.Reply{Status: 401}
		}
		return transporttest.Reply{Status: 200, Body: "{}"}
	})
	tr := open(t, sink, m{"tokenFile": path})
	e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0)))
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth || !strings.Contains(e.Error(), path) {
		t.Errorf("no file: %v %q %v", e.Outcome, e.Reason, e)
	}
	for token, delivered := range map[string]bool{"old-token\n": false, "new-token\n": true} {
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); (err == nil) != delivered {
			t.Errorf("%s: %v", token, err)
		}
	}
}

// Asked is /config alone; what it shows is said in plain words.
func TestProbe(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := open(t, sink, nil)
	sink.Script(config("v1.3.0", emptyAnswer()))
	if seen, err := tr.Probe(t.Context()); err != nil || !strings.Contains(seen, "is DataHub v1.3.0") {
		t.Errorf("%q, %v", seen, err)
	}
	for status, reason := range map[int]string{401: transport.ReasonAuth, 404: "status-404"} {
		sink.Script(transporttest.Always(transporttest.Reply{Status: status}))
		if _, err := tr.Probe(t.Context()); transporttest.RequireError(t, err).Reason != reason {
			t.Errorf("%d: %v", status, err)
		}
	}
	sink.Script(transporttest.Always(transporttest.Reply{Status: 200, Body: `{"status":"ok"}`}))
	if _, err := tr.Probe(t.Context()); transporttest.RequireError(t, err).Outcome != transport.Hold {
		t.Errorf("something else: %v", err)
	}
	for _, r := range sink.Requests() {
		if r.Method != "GET" || r.URL.Path != "/config" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}
}

// Old and new servers, in each mode.
func TestModesAndVersions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		version, mode string
		outcome       string // of the event
		path          string // that takes it
	}{
		{"v0.14.1", "SYNC_PRIMARY", "", "/aspects"},
		{"v0.14.1", "ASYNC", "", "/aspects"},
		{"v0.14.1", "ASYNC_WAIT", "hold", ""},
		{"v1.3.0", "SYNC_PRIMARY", "", "/openapi/v3/entity/"},
		{"v1.3.0", "SYNC_WAIT", "", "/openapi/v3/entity/"},
		{"v1.3.0", "ASYNC", "", "/openapi/v3/entity/"},
		{"v1.3.0", "ASYNC_WAIT", "", "/openapi/v3/entity/"},
	}
	for _, tt := range tests {
		t.Run(tt.version+" "+tt.mode, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(config(tt.version, traced("ACTIVE_STATE")))
			tr := open(t, sink, m{"emit_mode": tt.mode, "endpoint": ""})
			err := tr.Emit(t.Context(), transporttest.Event(1, 0))
			if got := outcome(err); got != tt.outcome {
				t.Fatalf("%q, want %q: %v", got, tt.outcome, err)
			}
			went := ""
			for _, r := range sink.Requests() {
				if r.Method != "GET" && !strings.HasPrefix(r.URL.Path, "/openapi/v1/trace") {
					went = r.URL.Path
				}
			}
			if !strings.HasPrefix(went, tt.path) || (tt.path == "") != (went == "") {
				t.Errorf("went to %q, want %q", went, tt.path)
			}
		})
	}
}

func outcome(err error) string {
	if err == nil {
		return ""
	}
	return transport.ClassifyError(err).Outcome.String()
}

// traced queues everything and then says of each write what became of it in the primary store.
func traced(state string) transporttest.Script {
	return func(r transporttest.Request) transporttest.Reply {
		if !strings.HasPrefix(r.URL.Path, "/openapi/v1/trace") {
			return transporttest.Reply{
				Status: 202, Header: map[string]string{"traceparent": "00-00062c51b4f3a1c04bf92f3577b34da6-00f067aa0ba902b7-01"}, Body: "[]",
			}
		}
		var asked map[string][]string
		_ = json.Unmarshal(r.Body, &asked)
		answer := map[string]map[string]any{}
		for urn, aspects := range asked {
			answer[urn] = map[string]any{}
			for _, aspect := range aspects {
				answer[urn][aspect] = m{
					"success": state != "ERROR", "primaryStorage": m{"writeStatus": state}, "searchStorage": m{"writeStatus": state},
				}
			}
		}
		body, _ := json.Marshal(answer)
		return transporttest.Reply{Status: 200, Body: string(body)}
	}
}

func TestTraces(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{"ACTIVE_STATE": "", "ERROR": "permanent", "PENDING": "retry"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(config("v1.3.0", traced(state)))
			tr := open(t, sink, m{"emit_mode": "ASYNC_WAIT", "endpoint": "", "wait_timeout": 0.5})
			if got := outcome(tr.Emit(t.Context(), transporttest.Event(1, 0))); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
