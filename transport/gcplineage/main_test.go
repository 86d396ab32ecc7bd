package gcplineage_test

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/gcplineage"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// static is a token that nobody has to be asked for.
func static(token string) httptransport.TokenFunc {
	return func(context.Context, *http.Client) (string, time.Duration, error) { return token, time.Hour, nil }
}

// parse reads settings that have to be right.
func parse(tb testing.TB, values map[string]any, env map[string]string) gcplineage.Config {
	tb.Helper()
	s := settings.New("transport", values)
	s.Value("type")
	c := gcplineage.Parse(s, func(name string) string { return env[name] })
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	if warnings := s.Warnings(); len(warnings) > 0 {
		tb.Fatal(warnings)
	}
	return c
}

// to returns a transport to a sink, with more settings.
func to(tb testing.TB, sink *transporttest.Sink, more map[string]any, token httptransport.TokenFunc) *gcplineage.Transport {
	tb.Helper()
	values := map[string]any{"type": "gcplineage", "project_id": "demo", "endpoint": sink.URL()}
	maps.Copy(values, more)
	tr, err := gcplineage.New(parse(tb, values, nil), gcplineage.Options{UserAgent: "listener/1.2.3", Token: token})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tr.Close(context.Background()) })
	return tr
}

var ownFacet = regexp.MustCompile(`"gcp_lineage":\{[^{}]*\{[^{}]*\}[^{}]*\}`)

func TestContract(t *testing.T) {
	t.Parallel()
	traits := transporttest.HTTPTraits{
		NoPassword: true,
		Undo:       func(body []byte) []byte { return ownFacet.ReplaceAll(body, nil) },
	}
	transporttest.RunHTTPWith(t, traits, func(tb testing.TB, target transporttest.Target) transport.Transport {
		c := parse(tb, map[string]any{
			"project_id": "demo", "endpoint": target.URL, "timeout": target.Timeout.Seconds(),
		}, nil)
		token := target.APIKey
		if token == "" {
			token = "t0ken"
		}
		tr, err := gcplineage.New(c, gcplineage.Options{UserAgent: "listener/1.2.3", Token: static(token)})
		if err != nil {
			tb.Fatal(err)
		}
		return tr
	})
}
