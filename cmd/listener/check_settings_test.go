package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Each setting of a destination that is in effect says where it is from, defaults included.
func TestCheckOrigins(t *testing.T) {
	t.Parallel()
	const yes = "environment OPENLINEAGE__TRANSPORT__"
	for _, test := range []struct {
		name string
		env  []string
		url  string // OPENLINEAGE_URL
		code int
		want map[string]map[string]string
	}{
		{name: "defaults", code: exitError, url: "http://127.0.0.1:9", want: map[string]map[string]string{"http:http://127.0.0.1:9/api/v1/lineage": {
			"url": "environment OPENLINEAGE_URL", "timeout": "default", "verify": "default", "parallel": "default",
			"retry.quick_try": "default", "retry.status_forcelist": "default", "retry.backoff_factor": "default",
			"retry.respect_retry_after_header": "default", "retry.retry_after_max": "default",
		}}},
		{name: "the child of OPENLINEAGE_URL beside others", code: exitError, url: "http://127.0.0.1:9", env: []string{
			"OPENLINEAGE__TRANSPORT__TYPE=composite", "OPENLINEAGE__TRANSPORT__TRANSPORTS__F__TYPE=file",
			"OPENLINEAGE__TRANSPORT__TRANSPORTS__F__LOG_FILE_PATH=/nowhere/x",
		}, want: map[string]map[string]string{
			"default_http": {"url": "environment OPENLINEAGE_URL", "timeout": "default"},
			"f":            {"log_file_path": yes + "TRANSPORTS__F__LOG_FILE_PATH", "append": "default", "debug_mode": "default"},
		}},
		{name: "everything", code: exitError, env: []string{
			"OPENLINEAGE__TRANSPORT__TYPE=async_http", "OPENLINEAGE__TRANSPORT__NAME=n", "OPENLINEAGE__TRANSPORT__URL=http://u:p@127.0.0.1:9",
			"OPENLINEAGE__TRANSPORT__MAX_CONCURRENT_REQUESTS=3", "OPENLINEAGE__TRANSPORT__RETRY__TOTAL=0",
			`OPENLINEAGE__TRANSPORT__AUTH={"type": "oauth2", "clientId": "c", "clientSecret": "s", "tokenEndpoint": "http://127.0.0.1:9/t"}`,
			"OPENLINEAGE__TRANSPORT__CUSTOM_HEADERS__X_A=b", "OPENLINEAGE__TRANSPORT__COMPRESSION=gzip",
		}, want: map[string]map[string]string{"n": {
			"url": yes + "URL", "user": yes + "URL", "parallel": yes + "MAX_CONCURRENT_REQUESTS", "retry.quick_try": yes + "RETRY__TOTAL",
			"auth.clientId": yes + "AUTH", "auth.clientSecret": yes + "AUTH", "auth.tokenEndpoint": yes + "AUTH", "auth.tokenRefreshBuffer": "default",
			"custom_headers.X_a": yes + "CUSTOM_HEADERS__X_A", "compression": yes + "COMPRESSION",
		}}},
		{name: "a group in another order, one of it changed on the way", env: []string{`OPENLINEAGE__TRANSPORT={"type": "composite", "name": "g",
			"continue_on_success": false, "sort_transports": true, "transports": [{"type": "console"}, {"type": "transform", "priority": 2,
			"transformer_class": "openlineage.client.transport.transform.JobNamespaceReplaceTransformer",
			"transformer_properties": {"new_job_namespace": "x"}, "transport": {"type": "http", "url": "http://127.0.0.1:9", "timeout": 3}}]}`},
			want: map[string]map[string]string{"g": {
				"settled_by": "environment OPENLINEAGE__TRANSPORT", "transports[0].url": "environment OPENLINEAGE__TRANSPORT",
				"transports[0].timeout": "environment OPENLINEAGE__TRANSPORT", "transports[0].verify": "default",
				"transports[0].transform.new_job_namespace":    "environment OPENLINEAGE__TRANSPORT",
				"transports[0].transform.include_parent_facet": "default",
			}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig()
			r.input.Variables.OpenLineageURL = test.url
			r.input.Environ = test.env
			r.want(t, test.code, "check", "-o", "json")
			var report checkReport
			if err := json.Unmarshal([]byte(r.stdout.String()), &report); err != nil {
				t.Fatal(err)
			}
			got := map[string]map[string]string{}
			for _, d := range report.Destinations {
				got[d.Name] = d.Origins
			}
			equal(t, slices.Sorted(maps.Keys(test.want)), slices.Sorted(maps.Keys(got)))
			for name, origins := range test.want {
				for key, origin := range origins {
					if got[name][key] != origin {
						t.Errorf("%s: %s is from %q, want %q", name, key, got[name][key], origin)
					}
				}
			}
		})
	}
}

// What OPENLINEAGE_URL adds to a composite is its own doing, down to the name.
func TestCheckNamesWhatMadeTheChild(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.input.Variables.OpenLineageURL = "http://127.0.0.1:9"
	r.input.Environ = []string{"OPENLINEAGE__TRANSPORT__TYPE=composite"}
	r.want(t, exitError, "check")
	if text := r.stdout.String(); strings.Contains(text, "DEFAULT_HTTP") || !strings.Contains(text, "default_http ") {
		t.Errorf("check says\n%s", text)
	}
}
