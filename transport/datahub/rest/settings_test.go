package rest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

func TestServerURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://gms:8080":                    "http://gms:8080",
		" http://gms:8080/// ":               "http://gms:8080",
		"https://host/datahub/api/gms/":      "https://host/datahub/api/gms",
		"http://name.acryl.io":               "https://name.acryl.io/gms",
		"http://name.acryl.io:8080":          "https://name.acryl.io/gms",
		"https://name.acryl.io/api/gms":      "https://name.acryl.io/gms",
		"https://name.acryl.io/gms/":         "https://name.acryl.io/gms",
		"https://name.acryl.io:8443/gms":     "https://name.acryl.io:8443/gms",
		"http://notacryl.io:8080":            "http://notacryl.io:8080",
		"http://[::1]:8080":                  "http://[::1]:8080",
		"":                                   "",
		"/":                                  "",
		"gms:8080":                           "",
		"ftp://gms":                          "",
		"http://":                            "",
		"http://user:pass word@":             "",
		"http://gms:8080?token=abc":          "",
		"http://gms:8080/#x":                 "",
		"http://user:s3cret@gms:8080/a b%zz": "",
	} {
		got, err := rest.ServerURL(given)
		if want == "" {
			if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "abc") {
				t.Errorf("%q: got %v, %v", given, got, err)
			}
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("%q: got %v, %v, want %s", given, got, err, want)
		}
	}
}

func TestParseMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rest.Mode{
		"": "", "async": rest.Async, "\tSync_Wait\n": rest.SyncWait, "ASYNC_WAIT": rest.AsyncWait, "sync_primary": rest.SyncPrimary,
	} {
		if got, err := rest.ParseMode(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	getenv := func(name string) string { return map[string]string{rest.ModeVariable: "sometimes"}[name] }
	if _, err := rest.ModeFromEnv(getenv); err == nil || !strings.HasPrefix(err.Error(), `DATAHUB_EMIT_MODE: "sometimes" is no emit mode`) {
		t.Errorf("got %v", err)
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env     map[string]string
		want    rest.Config
		problem string
	}{
		"nothing": {},
		"all": {env: map[string]string{
			"DATAHUB_GMS_URL": "http://gms:8080", "DATAHUB_GMS_TOKEN": "t", "DATAHUB_SYSTEM_CLIENT_ID": "i",
			"DATAHUB_SYSTEM_CLIENT_SECRET": "s", "DATAHUB_CLIENT_CERT_PATH": "/c", "DATAHUB_CLIENT_KEY_PATH": "/k",
			"DATAHUB_EMIT_MODE": "async_wait", "DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT": "openapi",
			"DATAHUB_REST_EMITTER_DEFAULT_RETRY_MAX_TIMES": "6", "DATAHUB_REST_EMITTER_429_RETRY_MULTIPLIER": "3",
			"DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_LENGTH": "10", "DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_BYTES": "1000",
		}, want: rest.Config{
			Server: "http://gms:8080", Token: "t", SystemClientID: "i", SystemClientSecret: "s", TLS: rest.TLS{Cert: "/c", Key: "/k"},
			Mode: rest.AsyncWait, API: rest.APIOpenAPI, Retry: rest.RetryPolicy{Max: 6, MaxThrottled: 18},
			ChunkProposals: 10, ChunkBytes: 1000,
		}},
		"host and port go before the url": {env: map[string]string{
			"DATAHUB_GMS_URL": "http://other", "DATAHUB_GMS_HOST": "::1", "DATAHUB_GMS_PORT": "1", "DATAHUB_GMS_PROTOCOL": "https",
		}, want: rest.Config{Server: "https://[::1]:1"}},
		"a host alone does not": {
			env:  map[string]string{"DATAHUB_GMS_URL": "http://other", "DATAHUB_GMS_HOST": "h"},
			want: rest.Config{Server: "http://other"},
		},
		"no tries": {
			env:  map[string]string{"DATAHUB_REST_EMITTER_DEFAULT_RETRY_MAX_TIMES": "0"},
			want: rest.Config{Retry: rest.RetryPolicy{Max: -1, MaxThrottled: -1}},
		},
		"a multiplier of the default": {
			env:  map[string]string{"DATAHUB_REST_EMITTER_429_RETRY_MULTIPLIER": "5"},
			want: rest.Config{Retry: rest.RetryPolicy{MaxThrottled: 20}},
		},
		"nonsense": {env: map[string]string{
			"DATAHUB_EMIT_MODE": "x", "DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT": "y", "DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_BYTES": "z",
		}, problem: "DATAHUB_REST_EMITTER_BATCH_MAX_PAYLOAD_BYTES is \"z\": use a whole number from 1\n" +
			"DATAHUB_EMIT_MODE: \"x\" is no emit mode: use SYNC_WAIT, SYNC_PRIMARY, ASYNC or ASYNC_WAIT\n" +
			"DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT: \"y\" is no DataHub endpoint: use RESTLI or OPENAPI"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rest.FromEnv(func(name string) string { return c.env[name] })
			if c.problem != "" {
				if err == nil || err.Error() != c.problem {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.FilterPath(func(p cmp.Path) bool {
				return p.Last().Type() != nil && p.Last().Type().Kind().String() == "func"
			}, cmp.Ignore())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*rest.Config){
		"the server is empty":              func(c *rest.Config) { c.Server = "" },
		"is no emit mode":                  func(c *rest.Config) { c.Mode = "x" },
		"is no DataHub endpoint":           func(c *rest.Config) { c.API = "x" },
		"the client mode is \"X\"":         func(c *rest.Config) { c.ClientMode = "x" },
		"id and secret go together":        func(c *rest.Config) { c.SystemClientID = "x" },
		"is negative":                      func(c *rest.Config) { c.ReadTimeout = -1 },
		"a chunk's limit is negative":      func(c *rest.Config) { c.ChunkBytes = -1 },
		"a client key without its":         func(c *rest.Config) { c.TLS.Key = "x" },
		"the header \"a b\" has":           func(c *rest.Config) { c.Headers = map[string]string{"a b": "x"} },
		"the header \"ok\" has":            func(c *rest.Config) { c.Headers = map[string]string{"ok": "x\ny"} },
		"the token holds a line break":     func(c *rest.Config) { c.Token = "x\n" },
		"reading the CA: open /nowhere":    func(c *rest.Config) { c.TLS.CA = "/nowhere" },
		"reading the client certificate: ": func(c *rest.Config) { c.TLS.Cert = "/nowhere" },
		"holds no certificate":             func(c *rest.Config) { c.TLS.CA = "doc.go" },
	} {
		c := rest.Config{Server: "http://gms"}
		change(&c)
		if _, err := rest.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
