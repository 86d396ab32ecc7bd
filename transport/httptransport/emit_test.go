package httptransport_test

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestTheRequestOnTheWire(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	deliver(t, build(t, map[string]any{"url": sink.URL() + "/base/", "auth": map[string]any{"type": "api_key", "apiKey": " k3y\n"}}))
	got := sink.Taken()[0]
	event := transporttest.Event(1, 0)
	want := http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer k3y"}, "User-Agent": {"listener/test"}, "Accept": {"*/*"},
		"Idempotency-Key": {event.Key}, "Content-Length": {"395"}, "Accept-Encoding": {"gzip"},
	}
	want.Set("Content-Length", lengthOf(event.Body))
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Error(diff)
	}
	if got.Method != "POST" || got.URL.String() != "/base/api/v1/lineage" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
}

func TestCustomHeadersOverride(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	deliver(t, build(t, map[string]any{
		"url": strings.Replace(sink.URL(), "http://", "http://u:p@", 1), "compression": "gzip",
		"custom_headers": map[string]any{
			"content-type": "application/x-lineage", "Authorization": "Token abc", "User-Agent": "mine", "Host": "virtual.example",
			"Content-Encoding": "none", "x_foo": 5, "X-None": nil,
		},
	}))
	got := sink.Taken()[0]
	for name, want := range map[string]string{
		"Content-Type": "application/x-lineage", "Authorization": "Token abc", "User-Agent": "mine", "X_foo": "5",
		"Content-Encoding": "gzip", "X-None": "",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	if got.Host != "virtual.example" {
		t.Errorf("Host: %s", got.Host)
	}
}

func TestUserAndPasswordAreBasic(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	deliver(t, build(t, map[string]any{
		"url":  strings.Replace(sink.URL(), "http://", "http://us%40er:p%3Ass@", 1),
		"auth": map[string]any{"type": "api_key", "apiKey": "unused"},
	}))
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("us@er:p:ss"))
	if got := sink.Taken()[0].Header.Get("Authorization"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAKeyWithoutATypeIsNotSent(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	deliver(t, build(t, map[string]any{"url": sink.URL(), "auth": map[string]any{"apiKey": "k3y"}}))
	if got := sink.Taken()[0].Header.Get("Authorization"); got != "" {
		t.Errorf("%q", got)
	}
}

// A netrc entry for the host overrides the key in the Python client; here nothing reads the file.
func TestNetrcIsIgnored(t *testing.T) {
	sink := transporttest.NewSink(t)
	home := t.TempDir()
	write(t, filepath.Join(home, ".netrc"), "machine 127.0.0.1 login a password b\n")
	t.Setenv("HOME", home)
	t.Setenv("NETRC", filepath.Join(home, ".netrc"))
	deliver(t, build(t, map[string]any{"url": sink.URL(), "auth": map[string]any{"type": "api_key", "apiKey": "k3y"}}))
	if got := sink.Taken()[0].Header.Get("Authorization"); got != "Bearer k3y" {
		t.Errorf("%q", got)
	}
}

func TestAKeyThatIsNoHeaderValueIsLeftOut(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	event := transporttest.Event(1, 0)
	event.Key = "a\nb"
	if err := build(t, map[string]any{"url": sink.URL()}).Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if got := sink.Taken()[0].Header.Get("Idempotency-Key"); got != "" {
		t.Errorf("%q", got)
	}
}

// The key's file is replaced while events are refused: the next attempt takes the new key, without a restart, and the
// one that is under way tries it at once.
func TestARotatedKeyFileIsTakenUp(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, "old-key\n")
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		if r.Header.Get("Authorization") == "Bearer new-key" {
			return transporttest.OK()
		}
		write(t, file, "new-key\n")
		return transporttest.Reply{Status: 401, Body: "old-key is not known"}
	})
	tr := build(t, map[string]any{"url": sink.URL(), "auth": map[string]any{"type": "api_key", "apiKeyFile": file}})
	deliver(t, tr)
	if n := len(sink.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	sink.Script(transporttest.Always(transporttest.Reply{Status: 401, Body: "new-key is revoked, like old-key"}))
	e := transporttest.RequireError(t, emit(t, tr))
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth || string(e.Answer) != "*** is revoked, like ***" {
		t.Errorf("%v %q, answer %q", e.Outcome, e.Reason, e.Answer)
	}
	if n := len(sink.Requests()); n != 3 {
		t.Errorf("%d requests after a key that stayed, want 3", n)
	}
}

func TestCredentialsThatCannotBeReadHold(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	for name, content := range map[string]*string{"absent": nil, "empty": new(" \n"), "of two lines": new("a\nb")} {
		file := filepath.Join(t.TempDir(), "key")
		if content != nil {
			write(t, file, *content)
		}
		tr := build(t, map[string]any{"url": sink.URL(), "auth": map[string]any{"type": "api_key", "apiKeyFile": file}})
		e := transporttest.RequireError(t, emit(t, tr))
		if e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth || !strings.Contains(e.Error(), file) {
			t.Errorf("%s: %v %q %v", name, e.Outcome, e.Reason, e)
		}
	}
	if n := len(sink.Requests()); n > 0 {
		t.Errorf("%d requests without credentials", n)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	at := sink.URL() + "/api/v1/lineage"
	tests := []struct {
		reply transporttest.Reply
		want  string
	}{
		{transporttest.Reply{Status: 404, Body: "<html>\n<p>no\tsuch page</p>"}, at + " answered 404 Not Found (check url and endpoint; DataHub's endpoint is openapi/openlineage/api/v1/lineage): <html> <p>no such page</p>"},
		{transporttest.Reply{Status: 401}, at + " answered 401 Unauthorized (check auth)"},
		{transporttest.Reply{Status: 503, Body: strings.Repeat("é", 300)}, at + " answered 503 Service Unavailable: " + strings.Repeat("é", 200) + "…"},
		{transporttest.Reply{Status: 302, Header: map[string]string{"Location": "https://u:s3cr3t@sso.example/login?next=s3cr3t"}}, at + " answered 302 Found (a redirect to https://sso.example/login?*** that is not followed; if that is right, set url to it)"},
		{transporttest.Reply{Status: 304}, at + " answered 304 Not Modified (a redirect without an address)"},
		{transporttest.Reply{Status: 308, Header: map[string]string{"Location": "http://[::bad"}}, at + " answered 308 Permanent Redirect (a redirect without an address)"},
	}
	for _, tt := range tests {
		sink.Script(transporttest.Always(tt.reply))
		if got := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": sink.URL()}))).Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestCancelCausesAreTold(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Break(transporttest.Hang)))
	tr := build(t, map[string]any{"url": sink.URL()})
	ctx, cancel := withCause(t)
	done := make(chan error)
	go func() { done <- tr.Emit(ctx, transporttest.Event(1, 0)) }()
	sink.Wait(t, "a request", func() bool { return len(sink.Requests()) == 1 })
	cancel(errStopping)
	e := transporttest.RequireError(t, <-done)
	if want := "POST " + sink.URL() + "/api/v1/lineage: context canceled: the listener stops"; e.Error() != want {
		t.Errorf("%q, want %q", e, want)
	}
}
