package datadog_test

import (
	"maps"
	"net/http"
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datadog"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type m = map[string]any

// read parses settings beside variables, and returns what is warned of and what is wrong.
func read(values m, env map[string]string) (datadog.Config, []string, error) {
	s := settings.New("transport", values)
	c := datadog.Parse(s, datadog.Options{
		Getenv: func(name string) string { return env[name] }, Order: func(string) []string { return nil },
	})
	return c, s.Warnings(), s.Err()
}

// parse returns the configuration of settings, which must be without a problem.
func parse(tb testing.TB, values m, env map[string]string) datadog.Config {
	tb.Helper()
	c, _, err := read(values, env)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// build returns a transport of a configuration, which is closed with the test.
func build(tb testing.TB, c datadog.Config) *datadog.Transport {
	tb.Helper()
	tr, err := datadog.New(c, datadog.TransportOptions{
		UserAgent: "listener/test", Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tr.Close(tb.Context()) })
	return tr
}

// to returns settings for a sink, with some changed.
func to(sink *transporttest.Sink, changes ...m) m {
	values := m{"site": sink.URL(), "apiKey": "0123456789abcdef", "retry": m{"backoff_factor": 0.01}}
	for _, c := range changes {
		maps.Copy(values, c)
	}
	return values
}

func TestContract(t *testing.T) {
	transporttest.RunHTTPWith(t, transporttest.HTTPTraits{NoPassword: true}, func(tb testing.TB, target transporttest.Target) transport.Transport {
		values := m{"site": target.URL, "timeout": target.Timeout.Seconds(), "apiKey": "unused-key", "retry": m{"backoff_factor": 0.01}}
		if target.APIKey != "" {
			values["apiKey"] = target.APIKey
		}
		return build(tb, parse(tb, values, nil))
	})
}
