package datadog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datadog"
	"github.com/prefect-openlineage/listener/transport/httptransport"
)

func TestEverySiteHasItsAddress(t *testing.T) {
	t.Parallel()
	for _, site := range datadog.Sites() {
		c := parse(t, m{"site": site, "apiKey": "k"}, nil)
		if got, want := c.Target(), "https://data-obs-intake."+site+"/api/v1/lineage"; got != want {
			t.Errorf("%s: %s, want %s", site, got, want)
		}
		if got, want := httptransport.Display(c.Validate), "https://api."+site+"/api/v1/validate"; got != want {
			t.Errorf("%s: keys are asked about at %s, want %s", site, got, want)
		}
	}
	if len(datadog.Sites()) != 10 {
		t.Errorf("%d sites", len(datadog.Sites()))
	}
}

func TestWhereASettingIsFrom(t *testing.T) {
	t.Parallel()
	type got struct {
		Site, Key, KeyFile, Env, Service string
	}
	tests := []struct {
		name   string
		values m
		env    map[string]string
		want   got
	}{
		{"nothing but the key", m{"apiKey": "k"}, nil, got{Site: "datadoghq.com", Key: "k"}},
		{"Datadog's variables", m{}, map[string]string{"DD_API_KEY": " k \n", "DD_SITE": "datadoghq.eu", "DD_ENV": "prod", "DD_SERVICE": "flows"}, got{"datadoghq.eu", "k", "", "prod", "flows"}},
		{"settings before variables", m{"apiKey": "k", "site": "us5.datadoghq.com", "env": "e", "service": "s"}, map[string]string{"DD_API_KEY": "o", "DD_SITE": "datadoghq.eu", "DD_ENV": "prod", "DD_SERVICE": "flows"}, got{"us5.datadoghq.com", "k", "", "e", "s"}},
		{"empty is unset", m{"apiKey": "", "site": ""}, map[string]string{"DD_API_KEY": "k", "DD_SITE": ""}, got{Site: "datadoghq.com", Key: "k"}},
		{"a file", m{"apiKeyFile": "/run/key"}, map[string]string{"DD_API_KEY": "o"}, got{Site: "datadoghq.com", KeyFile: "/run/key"}},
		{"a file of a variable", m{}, map[string]string{"DD_API_KEY_FILE": "/run/key"}, got{Site: "datadoghq.com", KeyFile: "/run/key"}},
		{"small letters", m{"apikey": "k"}, nil, got{Site: "datadoghq.com", Key: "k"}},
		{"a number", m{"apiKey": 12345}, nil, got{Site: "datadoghq.com", Key: "12345"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, tt.values, tt.env)
			if diff := cmp.Diff(tt.want, got{c.Site, c.HTTP.Auth.Key.Value, c.HTTP.Auth.Key.File, c.Env, c.Service}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !c.HTTP.Gzip || c.HTTP.Auth.Kind != httptransport.AuthAPIKey || c.HTTP.Timeout != 5*time.Second {
				t.Errorf("%+v", c.HTTP)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values m
		env    map[string]string
		path   string
		holds  []string
	}{
		{"no key", m{}, nil, "transport.apiKey", []string{"is missing", "DD_API_KEY"}},
		{"two keys", m{}, map[string]string{"DD_API_KEY": "sikrit-1", "DD_API_KEY_FILE": "/run/key"}, "transport.apiKey", []string{"DD_API_KEY_FILE"}},
		{"key and file", m{"apiKey": "sikrit-1", "apiKeyFile": "/run/key"}, nil, "transport.apiKey", []string{"apiKeyFile"}},
		{"a key of two lines", m{}, map[string]string{"DD_API_KEY": "sikrit-1\nsikrit-2"}, "transport.apiKey", []string{"line breaks"}},
		{"a site that there is not", m{"apiKey": "k", "site": "us1.datadoghq.com"}, nil, "transport.site", []string{"datadoghq.eu", "ap1.datadoghq.com", "uk1.datadoghq.com"}},
		{"a site of a variable", m{"apiKey": "k"}, map[string]string{"DD_SITE": "datadog.eu"}, "transport.site", []string{"is no site of Datadog (DD_SITE)"}},
		{"an address of a variable", m{"apiKey": "k"}, map[string]string{"DD_SITE": "https://u:sikrit-1@h"}, "transport.site", []string{"(DD_SITE)"}},
		{"a site in capitals", m{"apiKey": "k", "site": "DATADOGHQ.COM"}, nil, "transport.site", []string{"datadoghq.com"}},
		{"an address without a host", m{"apiKey": "k", "site": "https://"}, nil, "transport.site", []string{"is not an http"}},
		{"an address with a password", m{"apiKey": "k", "site": "https://u:sikrit-1@h"}, nil, "transport.site", []string{"password"}},
		{"rules that are a list", m{"apiKey": "k", "async_transport_rules": []any{"prefect"}}, nil, "transport.async_transport_rules", []string{"must map"}},
		{"rules that are half", m{"apiKey": "k", "async_transport_rules": m{"prefect": true}}, nil, "transport.async_transport_rules.prefect", []string{"must map"}},
		{"rules that don't decide", m{"apiKey": "k", "async_transport_rules": m{"prefect": m{"flow": "perhaps"}}}, nil, "transport.async_transport_rules.prefect.flow", []string{"true or false"}},
		{"too few at once", m{"apiKey": "k", "max_concurrent_requests": 0}, nil, "transport.max_concurrent_requests", []string{"at least 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read(tt.values, tt.env)
			wrong, ok := errors.AsType[*transport.ConfigError](err)
			if !ok || wrong.Path != tt.path {
				t.Fatalf("%v, want a problem of %s", err, tt.path)
			}
			for _, part := range tt.holds {
				if !strings.Contains(wrong.Error(), part) {
					t.Errorf("%q lacks %q", wrong, part)
				}
			}
			if strings.Contains(err.Error(), "sikrit") {
				t.Errorf("the secret is in %q", err)
			}
		})
	}
}

func TestUnknownKeysWarn(t *testing.T) {
	t.Parallel()
	_, warnings, err := read(m{"apiKey": "k", "compression": "none", "endpoint": "x", "sites": "y"}, nil)
	if err != nil || len(warnings) != 3 || !strings.Contains(fmt.Sprint(warnings), "did you mean site?") {
		t.Errorf("%v %q", err, warnings)
	}
}

func TestAnAddressForASite(t *testing.T) {
	t.Parallel()
	for site, want := range map[string]string{
		"http://agent:8126":          "http://agent:8126/api/v1/lineage",
		"https://proxy/openlineage/": "https://proxy/openlineage/api/v1/lineage",
		"https://proxy/openlineage":  "https://proxy/api/v1/lineage",
		"HTTPS://Proxy:443":          "https://proxy/api/v1/lineage",
	} {
		c := parse(t, m{"site": site, "apiKey": "k"}, nil)
		if c.Target() != want || c.Validate != nil {
			t.Errorf("%s: %s, want %s and nowhere to ask about the key", site, c.Target(), want)
		}
	}
}

func TestSettingsShowNoSecret(t *testing.T) {
	t.Parallel()
	c := parse(t, m{"apiKey": "sikrit-1", "env": "prod", "max_event_bytes": 1000}, nil)
	shown := c.Settings()
	want := m{
		"site": "datadoghq.com", "apiKey": "***",
		"async_transport_rules": m{"dbt": m{"*": true}}, "parallel": 8, "timeout": "5s", "compression": "gzip",
		"max_event_bytes": 1000, "env": "prod", "retry": shown["retry"],
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if shown["retry"] == nil {
		t.Error("no retry")
	}
}
