package httptransport_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func to(status int, location string) transporttest.Reply {
	return transporttest.Reply{Status: status, Header: map[string]string{"Location": location}}
}

// credentials is a sink's settings with something secret in every place.
func credentials(sink *transporttest.Sink) map[string]any {
	return map[string]any{
		"url":            sink.URL(),
		"auth":           map[string]any{"type": "api_key", "apiKey": "k3y-value"},
		"custom_headers": map[string]any{"X-Api-Token": "t0ken-value", "Cookie": "session=value", "Content-Type": "application/json"},
		"compression":    "gzip",
	}
}

func TestRedirectsThatKeepTheBodyAreFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{307, 308} {
		sink := transporttest.NewSink(t)
		sink.Script(transporttest.Sequence(to(status, "/moved"), to(status, sink.URL()+"/again?x=1")))
		deliver(t, build(t, credentials(sink)))
		got := sink.Requests()
		if len(got) != 3 || got[2].URL.String() != "/again?x=1" || got[2].Method != "POST" {
			t.Fatalf("%d: %d requests, the last %s %s", status, len(got), got[len(got)-1].Method, got[len(got)-1].URL)
		}
		last := got[2]
		if string(last.Body) != string(transporttest.Event(1, 0).Body) || last.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%d: the body did not come along", status)
		}
		if last.Header.Get("Authorization") == "" || last.Header.Get("X-Api-Token") == "" || last.Header.Get("Idempotency-Key") == "" {
			t.Errorf("%d: on the same host the headers belong along: %v", status, last.Header)
		}
		if last.Header.Get("Referer") != "" {
			t.Errorf("%d: Referer %s", status, last.Header.Get("Referer"))
		}
	}
}

func TestRedirectsToAnotherHostGoWithoutSecrets(t *testing.T) {
	t.Parallel()
	sink, other := transporttest.NewSink(t), transporttest.NewSink(t)
	sink.Script(transporttest.Always(to(307, other.URL()+"/api")))
	deliver(t, build(t, credentials(sink)))
	got := other.Taken()[0]
	if text := fmt.Sprint(got.Header); strings.Contains(text, "value") {
		t.Errorf("secrets went along: %s", text)
	}
	if got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Idempotency-Key") == "" {
		t.Errorf("%v", got.Header)
	}
	if string(got.Body) != string(transporttest.Event(1, 0).Body) {
		t.Error("the body did not come along")
	}
}

// Back on the first host the secrets stay away: the way there was chosen by another.
func TestRedirectsBackFromAnotherHostGoWithoutSecrets(t *testing.T) {
	t.Parallel()
	sink, other := transporttest.NewSink(t), transporttest.NewSink(t)
	sink.Script(transporttest.Sequence(to(308, other.URL())))
	other.Script(transporttest.Always(to(308, sink.URL()+"/back")))
	deliver(t, build(t, credentials(sink)))
	if text := fmt.Sprint(sink.Taken()[0].Header); strings.Contains(text, "value") {
		t.Errorf("secrets came back: %s", text)
	}
}

func TestRedirectsThatAreNotFollowedHold(t *testing.T) {
	t.Parallel()
	secure := transporttest.NewTLSSink(t, nil)
	tests := []struct {
		name     string
		reply    func(*transporttest.Sink) transporttest.Reply
		requests int
	}{
		{"301", func(s *transporttest.Sink) transporttest.Reply { return to(301, s.URL()) }, 1},
		{"302", func(s *transporttest.Sink) transporttest.Reply { return to(302, s.URL()) }, 1},
		{"303", func(s *transporttest.Sink) transporttest.Reply { return to(303, s.URL()) }, 1},
		{"302 without an address", func(*transporttest.Sink) transporttest.Reply { return transporttest.Status(302) }, 1},
		{"304", func(*transporttest.Sink) transporttest.Reply { return transporttest.Reply{Status: 304} }, 1},
		{"another scheme", func(*transporttest.Sink) transporttest.Reply { return to(307, secure.URL()) }, 1},
		{"no address", func(*transporttest.Sink) transporttest.Reply { return to(307, "http://[::bad") }, 1},
		{"a circle", func(s *transporttest.Sink) transporttest.Reply { return to(307, s.URL()) }, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(transporttest.Always(tt.reply(sink)))
			e := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": sink.URL()})))
			if e.Outcome != transport.Hold || e.Reason != transport.ReasonRedirect {
				t.Errorf("%v %q, want hold and redirect", e.Outcome, e.Reason)
			}
			got := sink.Requests()
			if len(got) != tt.requests {
				t.Errorf("%d requests, want %d", len(got), tt.requests)
			}
			for _, r := range got {
				if r.Method != "POST" {
					t.Errorf("the event became a %s", r.Method)
				}
			}
		})
	}
}
