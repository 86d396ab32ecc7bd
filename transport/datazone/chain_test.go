package datazone_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datazone"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// bare empties the environment of everything that AWS's library reads. Tests of the chain can't run side by side: the
// library reads the environment itself.
func bare(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	// The library looks for the user's folder once, when the process starts.
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, ".aws", "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, ".aws", "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// viaChain sends an event with what AWS's own chain finds, and returns whose key signed it and for which region.
func viaChain(t *testing.T, values m) (scope, token string, err error) {
	t.Helper()
	sink := transporttest.NewSink(t)
	spec := to(sink, values)
	delete(spec, "region")
	if region, ok := values["region"]; ok {
		spec["region"] = region
	}
	tr, err := datazone.New(parse(t, spec, nil), datazone.Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
	if err != nil {
		return "", "", err
	}
	defer tr.Close(t.Context())
	if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		return "", "", err
	}
	header := sink.Taken()[0].Header
	_, rest, _ := strings.Cut(header.Get("Authorization"), "Credential=")
	parts := strings.Split(rest, "/")
	return parts[0] + " " + parts[2], header.Get("X-Amz-Security-Token"), nil
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChain(t *testing.T) { //nolint:paralleltest // see bare
	const stsAnswer = `<AssumeRole%RESPONSE><AssumeRole%RESULT><Credentials><AccessKeyId>AKIDROLE</AccessKeyId>` +
		`<SecretAccessKey>s</SecretAccessKey><SessionToken>roles-token</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>` +
		`</Credentials></AssumeRole%RESULT></AssumeRole%RESPONSE>`
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := ""
		if r.FormValue("Action") == "AssumeRoleWithWebIdentity" {
			kind = "WithWebIdentity"
		}
		w.Header().Set("Content-Type", "text/xml")
		_, _ = w.Write([]byte(strings.NewReplacer("%RESPONSE", kind+"Response", "%RESULT", kind+"Result").Replace(stsAnswer)))
	}))
	defer sts.Close()
	container := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "the-pods-token" {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(`{"AccessKeyId":"AKIDPOD","SecretAccessKey":"s","Token":"pods-token","Expiration":"2099-01-01T00:00:00Z"}`))
	}))
	defer container.Close()
	const files = "[default]\nregion = us-east-2\naws_access_key_id = AKIDDEFAULT\naws_secret_access_key = s\n" +
		"[profile lineage]\nregion = us-west-2\naws_access_key_id = AKIDLINEAGE\naws_secret_access_key = s\n"
	own := map[string]string{"AWS_ACCESS_KEY_ID": "AKIDVARIABLE", "AWS_SECRET_ACCESS_KEY": "s"}
	with := func(more map[string]string) map[string]string {
		maps.Copy(more, own)
		return more
	}
	const role = "arn:aws:iam::123456789012:role/lineage"
	tests := []struct {
		name         string
		env          map[string]string
		values       m
		files        bool
		scope, token string
	}{
		{"variables", with(map[string]string{"AWS_REGION": "eu-west-1"}), m{}, false, "AKIDVARIABLE eu-west-1", ""},
		{"a session's variables", with(map[string]string{"AWS_REGION": "eu-west-1", "AWS_SESSION_TOKEN": "session"}), m{}, false, "AKIDVARIABLE eu-west-1", "session"},
		{"the older variable", with(map[string]string{"AWS_DEFAULT_REGION": "eu-west-1"}), m{}, false, "AKIDVARIABLE eu-west-1", ""},
		{"the setting's region", with(map[string]string{"AWS_REGION": "eu-west-1"}), m{"region": "eu-west-3"}, false, "AKIDVARIABLE eu-west-3", ""},
		{"the shared files", map[string]string{}, m{}, true, "AKIDDEFAULT us-east-2", ""},
		{"a profile of a variable", map[string]string{"AWS_PROFILE": "lineage"}, m{}, true, "AKIDLINEAGE us-west-2", ""},
		{"a profile of the settings", map[string]string{}, m{"aws_profile": "lineage"}, true, "AKIDLINEAGE us-west-2", ""},
		{"a web identity", map[string]string{"AWS_REGION": "eu-west-1", "AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": "$TOKEN", "AWS_ENDPOINT_URL_STS": sts.URL}, m{}, false, "AKIDROLE eu-west-1", "roles-token"},
		{"a role to assume", with(map[string]string{"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_STS": sts.URL}), m{"role_arn": role}, false, "AKIDROLE eu-west-1", "roles-token"},
		{"a container", map[string]string{"AWS_REGION": "eu-west-1", "AWS_CONTAINER_CREDENTIALS_FULL_URI": container.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "the-pods-token"}, m{}, false, "AKIDPOD eu-west-1", "pods-token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bare(t)
			home := os.Getenv("HOME")
			put(t, filepath.Join(home, "token"), "web-identity")
			for name, value := range tt.env {
				t.Setenv(name, strings.ReplaceAll(value, "$TOKEN", filepath.Join(home, "token")))
			}
			if tt.files {
				put(t, filepath.Join(home, ".aws", "config"), files)
			}
			scope, token, err := viaChain(t, tt.values)
			if err != nil || scope != tt.scope || token != tt.token {
				t.Errorf("%q %q %v, want %q %q", scope, token, err, tt.scope, tt.token)
			}
		})
	}
}

// Without credentials the destination waits for the operator; while AWS's token service is in trouble it tries again.
func TestNoCredentials(t *testing.T) { //nolint:paralleltest // see bare
	const role = "arn:aws:iam::123456789012:role/lineage"
	answering := func(status int, code string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/xml")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`<ErrorResponse><Error><Type>Sender</Type><Code>` + code + `</Code><Message>no</Message></Error></ErrorResponse>`))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	identity := func(sts string) map[string]string {
		return map[string]string{"AWS_REGION": "eu-west-1", "AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": "$TOKEN", "AWS_ENDPOINT_URL_STS": sts}
	}
	tests := []struct {
		name    string
		env     map[string]string
		outcome transport.Outcome
		reason  string
		words   string
	}{
		{"none at all", map[string]string{"AWS_REGION": "eu-west-1"}, transport.Hold, "auth", "AWS_PROFILE"},
		{"half a pair", map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKID"}, transport.Hold, "auth", "AWS_SECRET_ACCESS_KEY"},
		{"a role that is not given", identity(answering(403, "AccessDenied")), transport.Hold, "auth", "AccessDenied"},
		{"the token service is in trouble", identity(answering(503, "ServiceUnavailable")), transport.Retry, "status-503", "503"},
		{"the token service is away", identity("http://127.0.0.1:1"), transport.Retry, "connection", "credentials"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bare(t)
			home := os.Getenv("HOME")
			put(t, filepath.Join(home, "token"), "web-identity")
			for name, value := range tt.env {
				t.Setenv(name, strings.ReplaceAll(value, "$TOKEN", filepath.Join(home, "token")))
			}
			_, _, err := viaChain(t, m{})
			e := transporttest.RequireError(t, err)
			if e.Outcome != tt.outcome || e.Reason != tt.reason || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%v %s %q, want %v %s with %q", e.Outcome, e.Reason, err, tt.outcome, tt.reason, tt.words)
			}
		})
	}
}

func TestNoRegion(t *testing.T) { //nolint:paralleltest // see bare
	bare(t)
	if _, _, err := viaChain(t, m{}); !errors.Is(err, datazone.ErrNoRegion) {
		t.Errorf("got %v", err)
	}
	t.Setenv("AWS_REGION", "evil.example/")
	if _, _, err := viaChain(t, m{}); !errors.Is(err, datazone.ErrRegion) {
		t.Errorf("got %v", err)
	}
	if _, _, err := viaChain(t, m{"aws_profile": "nobody"}); !errors.Is(err, datazone.ErrProfile) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a profile that there is not: %v", err)
	}
}
