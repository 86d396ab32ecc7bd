package httptransport_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := build(t, map[string]any{"url": sink.URL(), "auth": map[string]any{"type": "api_key", "apiKey": "k3y-value"}})
	for _, status := range []int{200, 204, 400, 404, 405, 501} {
		sink.Script(transporttest.Always(transporttest.Status(status)))
		note, err := tr.Probe(t.Context())
		if err != nil || !strings.HasPrefix(note, sink.URL()+"/api/v1/lineage answered "+transport.StatusLine(status)) {
			t.Errorf("%d: %q %v", status, note, err)
		}
		if doubt := strings.Contains(note, "only an event"); doubt != (status >= 400) {
			t.Errorf("%d: %q", status, note)
		}
	}
	for status, want := range map[int]transport.Outcome{
		401: transport.Hold, 403: transport.Hold, 407: transport.Hold, 302: transport.Hold, 503: transport.Retry, 429: transport.Retry,
	} {
		sink.Script(transporttest.Always(transporttest.Reply{Status: status, Body: "k3y-value?"}))
		_, err := tr.Probe(t.Context())
		e := transporttest.RequireError(t, err)
		if e.Outcome != want || strings.Contains(err.Error()+string(e.Answer), "k3y-value") {
			t.Errorf("%d: %v %v", status, e.Outcome, err)
		}
	}
	for _, r := range sink.Requests() {
		if r.Method != "OPTIONS" || len(r.Body) > 0 || r.Taken || r.Header.Get("Authorization") != "Bearer k3y-value" {
			t.Errorf("a probe is no event: %s %q %v", r.Method, r.Body, r.Header)
		}
	}
	sink.Close()
	_, err := tr.Probe(t.Context())
	if e := transporttest.RequireError(t, err); e.Reason != transport.ReasonConnection {
		t.Errorf("%q", e.Reason)
	}
	missing := build(t, map[string]any{"url": sink.URL(), "auth": map[string]any{"type": "api_key", "apiKeyFile": "/does/not/exist"}})
	_, err = missing.Probe(t.Context())
	if e := transporttest.RequireError(t, err); e.Outcome != transport.Hold {
		t.Errorf("%v", e.Outcome)
	}
}
