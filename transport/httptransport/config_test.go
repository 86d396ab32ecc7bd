package httptransport_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

func TestURLAndEndpointAreJoinedAsReferences(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, endpoint, want string }{
		{"http://h", "api/v1/lineage", "http://h/api/v1/lineage"},
		{"http://h", "", "http://h"},
		{"http://h/a/b?q=1#part", "", "http://h/a/b?q=1"},
		{" http://h \n", "api/v1/lineage", "http://h/api/v1/lineage"},
		{"http://h/base", "api/v1/lineage", "http://h/api/v1/lineage"},
		{"http://h/base/", "api/v1/lineage", "http://h/base/api/v1/lineage"},
		{"http://h/base/", "/api/v1/lineage", "http://h/api/v1/lineage"},
		{"http://h/a/b?q=1", "lineage", "http://h/a/lineage"},
		{"http://h/a/b", "../c", "http://h/c"},
		{"https://h:8443", "openapi/openlineage/api/v1/lineage", "https://h:8443/openapi/openlineage/api/v1/lineage"},
		{"http://h#part", "x", "http://h/x"},
		{"http://h", "x y", "http://h/x%20y"},
		{"http://h", "https://other/x", "https://other/x"},
		{"http://[::1]:5000", "x", "http://[::1]:5000/x"},
		{"http://h", "x?k=v", "http://h/x?k=v"},
		{"http://h", "x?k=v w&ü=%20+{'\"'}", "http://h/x?k=v%20w&%C3%BC=%20+%7B'%22'%7D"},
	}
	for _, tt := range tests {
		t.Run(tt.url+" "+tt.endpoint, func(t *testing.T) {
			t.Parallel()
			c := parse(t, map[string]any{"url": tt.url, "endpoint": tt.endpoint})
			if got := c.URL.String(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheEndpointIsThatOfMarquezUnlessWritten(t *testing.T) {
	t.Parallel()
	if got := parse(t, map[string]any{"url": "http://h/a/b"}).URL.String(); got != "http://h/a/api/v1/lineage" {
		t.Errorf("without an endpoint: %s", got)
	}
	if got := parse(t, map[string]any{"url": "http://h/a/b", "endpoint": nil}).URL.String(); got != "http://h/a/b" {
		t.Errorf("with null: %s", got)
	}
}

func TestUserAndPasswordLeaveTheURL(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]any{"url": "http://us%40er:p%2Fw@h/base/"})
	if got, want := c.URL.String(), "http://h/base/api/v1/lineage"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if password, _ := c.User.Password(); c.User.Username() != "us@er" || password != "p/w" {
		t.Errorf("user %q", c.User)
	}
	if c := parse(t, map[string]any{"url": "http://@h"}); c.User != nil {
		t.Error("an empty user is none")
	}
}

func TestTargetIsOneForOneConsumer(t *testing.T) {
	t.Parallel()
	want := "http://h/api/v1/lineage"
	for _, url := range []string{"http://h", "HTTP://H", "http://h:80", "http://u:p@h:80/", "http://h/x?k=s3cr3t"} {
		if got := parse(t, map[string]any{"url": url}).Target(); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	for url, want := range map[string]string{
		"https://h:443": "https://h/api/v1/lineage", "http://h:443": "http://h:443/api/v1/lineage",
		"http://[FE80::1]:5000": "http://[fe80::1]:5000/api/v1/lineage", "https://[::1]:443": "https://[::1]/api/v1/lineage",
	} {
		if got := parse(t, map[string]any{"url": url}).Target(); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	if got := parse(t, map[string]any{"url": "http://h", "endpoint": "x?key=s3cr3t"}).Target(); got != "http://h/x?***" {
		t.Errorf("a query: %s", got)
	}
}

func TestProblemsNameTheSettingAndNoValue(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	ok := map[string]any{"url": "http://h"}
	key := map[string]any{"type": "oauth2", "clientId": "a", "clientSecret": secret, "tokenEndpoint": "http://h/t"}
	tests := []struct {
		path   string
		values map[string]any
	}{
		{"transport.url", map[string]any{}},
		{"transport.url", map[string]any{"url": " "}},
		{"transport.url", map[string]any{"url": "marquez:5000"}},
		{"transport.url", map[string]any{"url": "ftp://h"}},
		{"transport.url", map[string]any{"url": "http://"}},
		{"transport.url", map[string]any{"url": "http://u:" + secret + "@h:port"}},
		{"transport.url", map[string]any{"url": "http://u:" + secret + "%zz@h"}},
		{"transport.url", map[string]any{"url": []any{secret}}},
		{"transport.endpoint", with(ok, map[string]any{"endpoint": "a:b" + secret})},
		{"transport.endpoint", with(ok, map[string]any{"endpoint": "ftp://h/x"})},
		{"transport.timeout", with(ok, map[string]any{"timeout": 0})},
		{"transport.timeout", with(ok, map[string]any{"timeout": secret})},
		{"transport.compression", with(ok, map[string]any{"compression": "brotli"})},
		{"transport.verify", with(ok, map[string]any{"verify": []any{}})},
		{"transport.custom_headers", with(ok, map[string]any{"custom_headers": "X: " + secret})},
		{"transport.custom_headers", with(ok, map[string]any{"custom_headers": map[string]any{"a b": secret}})},
		{"transport.custom_headers.X-A", with(ok, map[string]any{"custom_headers": map[string]any{"X-A": secret + "\n"}})},
		{"transport.retry", with(ok, map[string]any{"retry": 5})},
		{"transport.retry.total", with(ok, map[string]any{"retry": map[string]any{"total": "many"}})},
		{"transport.retry.backoff_factor", with(ok, map[string]any{"retry": map[string]any{"backoff_factor": -1}})},
		{"transport.retry.status_forcelist", with(ok, map[string]any{"retry": map[string]any{"status_forcelist": 500}})},
		{"transport.retry.status_forcelist", with(ok, map[string]any{"retry": map[string]any{"status_forcelist": []any{"x"}}})},
		{"transport.retry.status_forcelist", with(ok, map[string]any{"retry": map[string]any{"status_forcelist": []any{5}}})},
		{"transport.sslContext", with(ok, map[string]any{"sslContext": "x"})},
		{"transport.sslContext.clientKeyPath", with(ok, map[string]any{"sslContext": map[string]any{"clientKeyPath": "/x"}})},
		{"transport.auth", with(ok, map[string]any{"auth": secret})},
		{"transport.auth.type", with(ok, map[string]any{"auth": map[string]any{"type": "basic"}})},
		{"transport.auth.type", with(ok, map[string]any{"auth": map[string]any{"type": "my.module.Provider"}})},
		{"transport.auth.apiKey", with(ok, map[string]any{"auth": map[string]any{"type": "api_key"}})},
		{"transport.auth.apiKey", with(ok, map[string]any{"auth": map[string]any{"type": "api_key", "apiKey": secret + "\nx"}})},
		{"transport.auth.apiKey", with(ok, map[string]any{"auth": map[string]any{"type": "api_key", "apiKey": secret, "apiKeyFile": "/x"}})},
		{"transport.auth.tokenEndpoint", with(ok, map[string]any{"auth": map[string]any{"type": "jwt", "apiKey": secret}})},
		{"transport.auth.tokenEndpoint", with(ok, map[string]any{"auth": with(key, map[string]any{"tokenEndpoint": "u:" + secret})})},
		{"transport.auth.clientId", with(ok, map[string]any{"auth": with(key, map[string]any{"clientId": ""})})},
		{"transport.auth.clientSecret", with(ok, map[string]any{"auth": with(key, map[string]any{"clientSecret": ""})})},
		{"transport.auth.clientAuthMethod", with(ok, map[string]any{"auth": with(key, map[string]any{"clientAuthMethod": "jwt"})})},
		{"transport.auth.tokenFields", with(ok, map[string]any{"auth": with(key, map[string]any{"tokenFields": []any{}})})},
		{"transport.auth.tokenFields", with(ok, map[string]any{"auth": with(key, map[string]any{"tokenFields": 5})})},
		{"transport.auth.tokenRefreshBuffer", with(ok, map[string]any{"auth": with(key, map[string]any{"tokenRefreshBuffer": -5})})},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.path), func(t *testing.T) {
			t.Parallel()
			s := settings.New("transport", tt.values)
			httptransport.Parse(s, false)
			e, isConfig := errors.AsType[*transport.ConfigError](s.Err())
			if !isConfig || e.Path != tt.path {
				t.Fatalf("%v, want a problem at %s", s.Err(), tt.path)
			}
			if strings.Contains(s.Err().Error(), secret) || strings.Contains(fmt.Sprint(s.Warnings()), secret) {
				t.Errorf("the value is in %v %v", s.Err(), s.Warnings())
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want string
		values     map[string]any
	}{
		{"an unknown key", "transport.time_outs: is not known and has no effect; did you mean timeout?", map[string]any{"time_outs": 1}},
		{"a key without a type", "transport.auth.type: is missing, so events go without", map[string]any{"auth": map[string]any{"apiKey": "k"}}},
		{"user and auth", "transport.auth: has no effect because the url holds", map[string]any{"url": "http://u:p@h", "auth": map[string]any{"type": "api_key", "apiKey": "k"}}},
		{"no verification", "transport.verify: is off", map[string]any{"verify": false}},
		{"a Python object", "transport.session: is a Python object", map[string]any{"session": "x"}},
		{"a header of the connection's", "transport.custom_headers.Content-Length: has no effect", map[string]any{"custom_headers": map[string]any{"Content-Length": 5}}},
		{"a retry key that means nothing here", "transport.retry.redirect: has no effect", map[string]any{"retry": map[string]any{"redirect": 3}}},
		{"a retry key that nothing knows", "transport.retry.totl: is not known and has no effect; did you mean total?", map[string]any{"retry": map[string]any{"totl": 3}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := settings.New("transport", with(map[string]any{"url": "http://h"}, tt.values))
			httptransport.Parse(s, false)
			if s.Err() != nil || !strings.Contains(fmt.Sprint(s.Warnings()), tt.want) {
				t.Errorf("%v %v, want %q", s.Err(), s.Warnings(), tt.want)
			}
		})
	}
}

func TestNoWarningWithoutReason(t *testing.T) {
	t.Parallel()
	s := settings.New("transport", map[string]any{
		"url": "http://h", "endpoint": "x", "timeout": 3.5, "verify": true, "compression": "gzip", "custom_headers": map[string]any{"X-A": 1},
		"auth":           map[string]any{"type": "oauth2", "client_id": "a", "client_secret": "b", "token_endpoint": "https://idp/t", "scope": "s"},
		"retry":          map[string]any{"total": 5, "read": 5, "connect": 5, "backoff_factor": 0.3, "status_forcelist": []any{500}, "allowed_methods": []any{"HEAD", "POST"}},
		"ssl_context":    map[string]any{"cacertpath": "/ca.pem", "client_cert_path": "/c.pem", "clientKeyPath": "/k.pem"},
		"max_queue_size": 10, "max_concurrent_requests": 5,
	})
	c := httptransport.Parse(s, true)
	if s.Err() != nil || len(s.Warnings()) > 0 {
		t.Errorf("%v %v", s.Err(), s.Warnings())
	}
	want := httptransport.TLS{CA: "/ca.pem", Cert: "/c.pem", Key: "/k.pem"}
	if c.TLS != want || c.Parallel != 5 || !c.Gzip || c.Timeout != 3500*time.Millisecond {
		t.Errorf("%+v", c)
	}
}

func TestTLSPrecedence(t *testing.T) {
	t.Parallel()
	ca := map[string]any{"caCertPath": "/ca.pem"}
	tests := []struct {
		name   string
		values map[string]any
		want   httptransport.TLS
	}{
		{"nothing", map[string]any{}, httptransport.TLS{}},
		{"off", map[string]any{"verify": false}, httptransport.TLS{SkipVerify: true}},
		{"off, as a variable writes it", map[string]any{"verify": "False"}, httptransport.TLS{SkipVerify: true}},
		{"a path", map[string]any{"verify": "/v.pem"}, httptransport.TLS{CA: "/v.pem"}},
		{"the context goes before a path", map[string]any{"verify": "/v.pem", "sslContext": ca}, httptransport.TLS{CA: "/ca.pem"}},
		{"and before off", map[string]any{"verify": false, "sslcontext": ca}, httptransport.TLS{CA: "/ca.pem"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, with(map[string]any{"url": "http://h"}, tt.values)).TLS; got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRetryIsMergedOverTheDefaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values map[string]any
		change func(*httptransport.Retry)
	}{
		{"nothing", nil, func(*httptransport.Retry) {}},
		{"one key leaves the rest", map[string]any{"total": 10}, func(*httptransport.Retry) {}},
		{"none at all", map[string]any{"total": 0}, func(r *httptransport.Retry) { r.OnConnect, r.OnRead, r.OnStatus = false, false, false }},
		{"none, as urllib3 writes it", map[string]any{"total": false}, func(r *httptransport.Retry) { r.OnConnect, r.OnRead, r.OnStatus = false, false, false }},
		{"none after an answer", map[string]any{"status": 0}, func(r *httptransport.Retry) { r.OnStatus = false }},
		{"none without a connection", map[string]any{"connect": 0}, func(r *httptransport.Retry) { r.OnConnect = false }},
		{"none after a broken one", map[string]any{"read": 0}, func(r *httptransport.Retry) { r.OnRead = false }},
		{"not for POST", map[string]any{"allowed_methods": []any{"GET"}}, func(r *httptransport.Retry) { r.OnConnect, r.OnRead, r.OnStatus = false, false, false }},
		{"factor", map[string]any{"backoff_factor": 0.1}, func(r *httptransport.Retry) { r.Factor = 100 * time.Millisecond }},
		{"a long factor stays quick", map[string]any{"backoff_factor": 60}, func(r *httptransport.Retry) { r.Factor = time.Second }},
		{"the factor's limit", map[string]any{"backoff_max": 0.2}, func(r *httptransport.Retry) { r.Factor = 200 * time.Millisecond }},
		{"statuses", map[string]any{"status_forcelist": []any{404, "418"}}, func(r *httptransport.Retry) { r.Statuses = []int{404, 418} }},
		{"no statuses", map[string]any{"status_forcelist": []any{}}, func(r *httptransport.Retry) { r.Statuses = []int{} }},
		{"no Retry-After", map[string]any{"respect_retry_after_header": false}, func(r *httptransport.Retry) { r.RetryAfter = false }},
		{"a shorter limit", map[string]any{"retry_after_max": 60}, func(r *httptransport.Retry) { r.MaxRetryAfter = time.Minute }},
		{"no longer limit", map[string]any{"retry_after_max": 21600}, func(*httptransport.Retry) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := httptransport.DefaultRetry()
			tt.change(&want)
			values := map[string]any{"url": "http://h"}
			if tt.values != nil {
				values["retry"] = tt.values
			}
			if diff := cmp.Diff(want, parse(t, values).Retry); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		async bool
		value any
		want  int
	}{
		{false, nil, httptransport.DefaultParallel},
		{true, nil, httptransport.MaxParallel},
		{true, 20, 20},
		{true, 100000, httptransport.MaxParallel},
	}
	for _, tt := range tests {
		s := settings.New("transport", map[string]any{"url": "http://h", "max_concurrent_requests": tt.value})
		if got := httptransport.Parse(s, tt.async).Parallel; got != tt.want {
			t.Errorf("async %v, %v: %d, want %d", tt.async, tt.value, got, tt.want)
		}
	}
	s := settings.New("transport", map[string]any{"url": "http://h", "max_concurrent_requests": 0})
	if httptransport.Parse(s, true); s.Err() == nil {
		t.Error("0 requests at once pass")
	}
}

func TestSettingsShowEverythingButSecrets(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]any{
		"url": "https://user:s3cr3t-a@h/?k=s3cr3t-b", "endpoint": "x?k=s3cr3t-c", "compression": "gzip", "verify": "/ca.pem",
		"custom_headers": map[string]any{"X-Tenant": "s3cr3t-d"},
		"auth": map[string]any{
			"type": "oauth2", "clientId": "me", "clientSecret": "s3cr3t-e", "scope": "lineage", "tokenEndpoint": "https://u:s3cr3t-f@idp/t",
		},
		"sslContext": map[string]any{"clientCertPath": "/c.pem"},
	})
	want := map[string]any{
		"url": "https://h/x?***", "user": "***", "timeout": "5s", "verify": true, "compression": "gzip", "parallel": 8,
		"custom_headers": map[string]any{"X-Tenant": "***"},
		"auth": map[string]any{
			"type": "oauth2", "clientId": "me", "clientSecret": "***", "scope": "lineage", "tokenEndpoint": "https://idp/t",
			"tokenRefreshBuffer": "2m0s",
		},
		"sslContext": map[string]any{"caCertPath": "/ca.pem", "clientCertPath": "/c.pem"},
		"retry": map[string]any{
			"quick_try": true, "status_forcelist": []int{500, 502, 503, 504}, "backoff_factor": "300ms",
			"respect_retry_after_header": true, "retry_after_max": "15m0s",
		},
	}
	if diff := cmp.Diff(want, c.Settings()); diff != "" {
		t.Error(diff)
	}
	key := parse(t, map[string]any{"url": "http://h", "auth": map[string]any{"type": "api_key", "api_key_file": "/run/key"}})
	if diff := cmp.Diff(map[string]any{"type": "api_key", "apiKeyFile": "/run/key"}, key.Settings()["auth"]); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprint(c.Settings()); strings.Contains(got, "s3cr3t") {
		t.Error(got)
	}
}

// Every count of retry is known, whatever the others say.
func TestRetryCountsAreAllKnown(t *testing.T) {
	t.Parallel()
	section := settings.New("transport", map[string]any{
		"url":   "http://consumer.example",
		"retry": map[string]any{"total": 0, "connect": 0, "read": 0, "status": 0},
	})
	httptransport.Parse(section, false)
	if warnings := section.Warnings(); len(warnings) > 0 {
		t.Errorf("warned: %v", warnings)
	}
}
