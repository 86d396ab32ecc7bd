package httptransport_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// proxy makes tunnels, or answers with a status.
func proxy(tb testing.TB, status int, tunnels *atomic.Int32) func(*httptransport.Options) {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tunnels.Add(1)
		if status != 200 {
			http.Error(w, "no, pr0xy-password", status)
			return
		}
		out, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}))
	tb.Cleanup(server.Close)
	at, err := url.Parse(strings.Replace(server.URL, "http://", "http://u:pr0xy-password@", 1))
	if err != nil {
		tb.Fatal(err)
	}
	return func(o *httptransport.Options) { o.Proxy = http.ProxyURL(at) }
}

func TestAProxysTunnel(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewTLSSink(t, nil)
	var tunnels atomic.Int32
	deliver(t, build(t, map[string]any{"url": sink.URL(), "verify": file(t, "ca.pem", sink.CertPEM())}, proxy(t, 200, &tunnels)))
	if tunnels.Load() != 1 {
		t.Errorf("%d tunnels, want 1", tunnels.Load())
	}
}

func TestAProxyThatRefuses(t *testing.T) {
	t.Parallel()
	secure, plain := transporttest.NewTLSSink(t, nil), transporttest.NewSink(t)
	tests := []struct {
		status  int
		outcome transport.Outcome
	}{
		{407, transport.Hold}, {403, transport.Hold}, {503, transport.Retry}, {429, transport.Retry},
	}
	for _, tt := range tests {
		for _, sink := range []*transporttest.Sink{secure, plain} {
			var tunnels atomic.Int32
			err := emit(t, build(t, map[string]any{"url": sink.URL(), "retry": map[string]any{"total": 0}}, proxy(t, tt.status, &tunnels)))
			e := transporttest.RequireError(t, err)
			if e.Outcome != tt.outcome || strings.Contains(err.Error()+string(e.Answer), "pr0xy-password") {
				t.Errorf("%s %d: %v: %v %q", sink.URL(), tt.status, e.Outcome, err, e.Answer)
			}
			if sink == secure && e.Reason != transport.ReasonProxy {
				t.Errorf("%d: %q", tt.status, e.Reason)
			}
		}
	}
}

func TestAProxyThatIsAway(t *testing.T) {
	t.Parallel()
	gone := transporttest.NewSink(t)
	gone.Close()
	away := func(o *httptransport.Options) {
		o.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(gone.URL()) }
	}
	e := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": "http://sink.example"}, away)))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonProxy {
		t.Errorf("%v %q, want retry and proxy", e.Outcome, e.Reason)
	}
}

// The address of a proxy that can't be read holds a password, perhaps, and net/http puts it into the error.
func TestAProxyAddressThatCannotBeReadIsNotShown(t *testing.T) {
	t.Parallel()
	broken := func(o *httptransport.Options) {
		o.Proxy = func(*http.Request) (*url.URL, error) {
			return nil, errors.New(`invalid proxy address "http://u:pr0xy-password@:x"`)
		}
	}
	err := emit(t, build(t, map[string]any{"url": "http://sink.example"}, broken))
	e := transporttest.RequireError(t, err)
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonProxy || strings.Contains(err.Error(), "pr0xy-password") {
		t.Errorf("%v %q %v", e.Outcome, e.Reason, err)
	}
}

// A consumer on this machine is reached directly whatever the environment says.
func TestTheEnvironmentsProxyDoesNotApplyToThisMachine(t *testing.T) {
	sink := transporttest.NewSink(t)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	deliver(t, build(t, map[string]any{"url": sink.URL()}, func(o *httptransport.Options) { o.Proxy = nil }))
}
