package httptransport_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse returns the configuration of settings, which must be without a problem.
func parse(tb testing.TB, values map[string]any) httptransport.Config {
	tb.Helper()
	s := settings.New("transport", values)
	c := httptransport.Parse(s, false)
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	return c
}

// build returns a transport of settings, which is closed with the test.
func build(tb testing.TB, values map[string]any, options ...func(*httptransport.Options)) *httptransport.Transport {
	tb.Helper()
	// The environment of whoever runs the tests must not lead them through a proxy.
	o := httptransport.Options{UserAgent: "listener/test", Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
	for _, option := range options {
		option(&o)
	}
	tr, err := httptransport.New(parse(tb, values), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tr.Close(tb.Context()) })
	return tr
}

// with returns settings with some changed.
func with(values map[string]any, changes ...map[string]any) map[string]any {
	out := maps.Clone(values)
	for _, c := range changes {
		maps.Copy(out, c)
	}
	return out
}

func emit(tb testing.TB, tr transport.Transport) error {
	tb.Helper()
	return tr.Emit(tb.Context(), transporttest.Event(1, 0))
}

func deliver(tb testing.TB, tr transport.Transport) {
	tb.Helper()
	if err := emit(tb, tr); err != nil {
		tb.Fatal(err)
	}
}

func TestContract(t *testing.T) {
	for name, extra := range map[string]map[string]any{
		"plain": {}, "gzip": {"compression": "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.RunHTTP(t, func(tb testing.TB, target transporttest.Target) transport.Transport {
				values := with(map[string]any{
					"url": target.URL, "timeout": target.Timeout.Seconds(), "retry": map[string]any{"backoff_factor": 0.01},
				}, extra)
				if target.APIKey != "" {
					values["auth"] = map[string]any{"type": "api_key", "apiKey": target.APIKey}
				}
				if len(target.Headers) > 0 {
					headers := map[string]any{}
					for name, value := range target.Headers {
						headers[name] = value
					}
					values["custom_headers"] = headers
				}
				return build(tb, values)
			})
		})
	}
}

// fast keeps the quick try's wait out of tests.
var fast = map[string]any{"backoff_factor": 0.01}

var errStopping = errors.New("the listener stops")

func withCause(tb testing.TB) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(tb.Context())
	tb.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Error(err)
	}
}

func lengthOf(body []byte) string { return strconv.Itoa(len(body)) }
