package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

func TestSecretsInUse(t *testing.T) {
	t.Parallel()
	c := config.Config{
		Prefect: config.Prefect{APIKey: config.NewCredential("pnu_12345"), AuthString: config.NewCredential("ann:password1")},
		HTTP:    config.HTTP{Auth: config.NewCredential("ops:short")}, Heartbeat: config.NewCredential("https://hc.example/ping-0b7e?a=b"),
		OpenLineage: config.OpenLineage{Transport: map[string]any{
			"type": "composite", "transports": []any{
				map[string]any{"url": "https://u:in-the-url@h/x", "auth": map[string]any{"type": "api_key", "apikey": "key-12345678"}},
				map[string]any{"url": "https://u:tiny@h", "custom_headers": map[string]any{"X-A": "header-value", "Authorization": "Bearer abcdefghij"}},
				map[string]any{"auth": map[string]any{"type": "oauth2", "client_id": "no-secret-at-all", "client_secret": "of-the-client"}},
			},
		}},
	}
	want := []string{
		"Bearer abcdefghij", "YW5uOnBhc3N3b3JkMQ==", "abcdefghij", "ann:password1", "b3BzOnNob3J0", "dTp0aW55", "dTppbi10aGUtdXJs",
		"header-value", "https://hc.example/ping-0b7e?a=b", "in-the-url", "key-12345678", "of-the-client", "ops:short", "password1", "ping-0b7e?a=b", "pnu_12345",
	}
	if diff := cmp.Diff(want, c.Secrets()); diff != "" {
		t.Error(diff)
	}
	known := config.NewKnown(c)
	known.Add(config.Config{Prefect: config.Prefect{APIKey: config.NewCredential("pnu_new_one")}})
	if diff := cmp.Diff(append(want, "pnu_new_one"), known.All()); diff != "" {
		t.Errorf("after a new one: %s", diff)
	}
}

// What a transport reads from its vendor's variables is masked as what stands in the settings.
func TestSecretsOfVendors(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{
		env: []string{
			"OPENLINEAGE__TRANSPORT__TYPE=noop", "DD_API_KEY_FILE=/run/datadog", "AWS_SECRET_ACCESS_KEY=of-the-account",
			"AWS_SESSION_TOKEN=of-the-session", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE",
		},
		files: map[string]string{"run/datadog": "of-datadog-in-a-file\n"},
	})
	equal(t, []string{"of-datadog-in-a-file", "of-the-account", "of-the-session"}, cfg.Secrets())
	cfg, _ = mustLoad(t, system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=noop", "DD_API_KEY=of-datadog"}})
	equal(t, []string{"of-datadog"}, cfg.Secrets())
}
