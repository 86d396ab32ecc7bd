package datadog_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	if err := build(t, parse(t, to(sink), nil)).Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	r := sink.Requests()[0]
	for name, want := range map[string]string{
		"Authorization": "Bearer 0123456789abcdef", "Content-Type": "application/json", "Content-Encoding": "gzip",
		"Idempotency-Key": transporttest.Event(1, 0).Key, "User-Agent": "listener/test", "Dd-Api-Key": "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodPost || r.URL.String() != "/api/v1/lineage" || string(r.Body) != string(transporttest.Event(1, 0).Body) {
		t.Errorf("%s %s %s", r.Method, r.URL, r.Body)
	}
}

// What the intake may say, and what becomes of the event. The guide has the same table.
func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		reply   transporttest.Reply
		outcome transport.Outcome
		reason  string
		words   string
	}{
		{"a wrong key", transporttest.Reply{Status: 403, Body: `{"errors":["Forbidden"]}`}, transport.Hold, "auth", "a key is good for one site alone"},
		{"no key", transporttest.Reply{Status: 401}, transport.Hold, "auth", "check the API key"},
		{"another site's address", transporttest.Reply{Status: 404}, transport.Hold, "status-404", "check the site"},
		{"moved", transporttest.Reply{Status: 302, Header: map[string]string{"Location": "/login"}}, transport.Hold, "redirect", "check the site"},
		{"a login page", transporttest.Reply{Status: 200, Body: "<!doctype html><html>", Header: map[string]string{"Content-Type": "text/html"}}, transport.Hold, "not-an-api", "check the site"},
		{"an event that it does not take", transporttest.Reply{Status: 400, Body: `{"errors":["no job"]}`}, transport.Permanent, "status-400", "no job"},
		{"too large", transporttest.Reply{Status: 413}, transport.Permanent, "too-large", "413"},
		{"too many", transporttest.After(429, "7"), transport.Retry, "status-429", "429"},
		{"in trouble", transporttest.Reply{Status: 503}, transport.Retry, "status-503", "without a word"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(transporttest.Always(tt.reply))
			err := build(t, parse(t, to(sink), nil)).Emit(t.Context(), transporttest.Event(1, 0))
			e := transporttest.RequireError(t, err)
			if n := len(sink.Requests()); e.Outcome == transport.Permanent && n > 1 {
				t.Errorf("%d requests for a refusal that is final", n)
			}
			if e.Outcome != tt.outcome || e.Reason != tt.reason || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%v %s %q, want %v %s and %q", e.Outcome, e.Reason, err, tt.outcome, tt.reason, tt.words)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		key      transporttest.Reply // what is said of the key
		intake   transporttest.Reply // to OPTIONS
		note     string
		reason   string // of the error; empty: none
		validate bool   // whether the key is asked about
	}{
		{"a good key", transporttest.Reply{Status: 200, Body: `{"valid":true}`}, transporttest.Reply{Status: 404}, "the API key is valid", "", true},
		{"a wrong key", transporttest.Reply{Status: 403, Body: `{"errors":["Forbidden"]}`}, transporttest.Reply{Status: 404}, "", "auth", true},
		{"a page in between", transporttest.Reply{Status: 502}, transporttest.Reply{Status: 404}, "could not be asked about", "", true},
		{"the intake is away", transporttest.Reply{Status: 200, Body: `{"valid":true}`}, transporttest.Reply{Status: 503}, "", "status-503", true},
		{"somebody else's address", transporttest.Reply{}, transporttest.Reply{Status: 404}, "only an event can show", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(func(r transporttest.Request) transporttest.Reply {
				if r.URL.Path == "/api/v1/validate" {
					return tt.key
				}
				return tt.intake
			})
			c := parse(t, to(sink), nil)
			if tt.validate {
				at, err := url.Parse(sink.URL() + "/api/v1/validate")
				if err != nil {
					t.Fatal(err)
				}
				c.Validate = at
			}
			note, err := build(t, c).Probe(t.Context())
			e, failed := errors.AsType[*transport.Error](err)
			if failed != (tt.reason != "") || (failed && e.Reason != tt.reason) || !strings.Contains(note, tt.note) {
				t.Errorf("%q %v", note, err)
			}
			for _, r := range sink.Requests() {
				switch {
				case r.Method == http.MethodPost:
					t.Error("an event was sent")
				case r.URL.Path == "/api/v1/validate" && (r.Header.Get("Dd-Api-Key") != "0123456789abcdef" || r.Header.Get("Authorization") != ""):
					t.Errorf("the key is asked about with %v", r.Header)
				}
			}
		})
	}
}

func TestAFullLaneWaitsNoLongerThanItsCaller(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Break(transporttest.Hang)))
	c := parse(t, to(sink, m{"async_transport_rules": m{"prefect": m{"task": true}}, "max_concurrent_requests": 1}), nil)
	tr := build(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for range 2 {
		go func() { done <- tr.Emit(ctx, event("")) }()
	}
	sink.Wait(t, "one request", func() bool { return len(sink.Requests()) == 1 })
	cancel()
	for range 2 {
		if e := transporttest.RequireError(t, <-done); e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled {
			t.Errorf("%v %s", e.Outcome, e.Reason)
		}
	}
	if n := len(sink.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}
