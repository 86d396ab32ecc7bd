package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// fileSettings are the variables of secrets that can come from a file, with a content that passes.
var fileSettings = map[string]string{
	"PREFECT_API_KEY":                      "pnu_1",
	"PREFECT_API_AUTH_STRING":              "a:b",
	"PREFECT_CLIENT_CUSTOM_HEADERS":        `{"X-A":"b"}`,
	"LISTENER_HTTP_AUTH":                   "a:b",
	"LISTENER_HEARTBEAT_URL":               "https://h/ping",
	"OPENLINEAGE_API_KEY":                  "key",
	"OPENLINEAGE__TRANSPORT__AUTH__APIKEY": "0123",
}

func TestCredentialFromAFile(t *testing.T) {
	t.Parallel()
	for name, content := range fileSettings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{name + "_FILE=secrets/x", "OPENLINEAGE_URL=http://h"}
			files := map[string]string{workDir + "/secrets/x": content + "\r\n"}
			cfg, _ := mustLoad(t, system{env: env, files: files})
			if !strings.Contains(name, "__") {
				value, origin := setting(t, cfg, name)
				equal(t, []string{config.Redacted, "file /srv/app/secrets/x (" + name + "_FILE)"}, []string{value, origin})
			}
			got := problems(system{env: append(env, name+"=other"), files: files})
			equal(t, []string{name + "_FILE: is set beside " + name + ": set one of the two"}, got)
			got = problems(system{env: env, files: map[string]string{workDir + "/secrets/x": "\n"}})
			equal(t, []string{name + "_FILE=secrets/x: takes a file that holds " + name + ": reading /srv/app/secrets/x: it is empty"}, got)
			got = problems(system{env: env})
			equal(t, []string{name + "_FILE=secrets/x: takes a file that holds " + name + ": reading /srv/app/secrets/x: file does not exist"}, got)
			got = problems(system{env: env, files: map[string]string{workDir + "/secrets/x": strings.Repeat("x", 65537)}})
			equal(t, 1, len(got))
		})
	}
	equal(t, []string{"PREFECT_API_KEY_FILE=/x: its content: takes text without line breaks and control characters"},
		problems(system{env: []string{"PREFECT_API_KEY_FILE=/x"}, files: map[string]string{"/x": "hun\nter2\n"}}))
	equal(t, []string{"PREFECT_API_AUTH_STRING_FILE=/x: its content: takes user:password"},
		problems(system{env: []string{"PREFECT_API_AUTH_STRING_FILE=/x"}, files: map[string]string{"/x": "hunter2"}}))
}

// A block in YAML ends in a line end, and so may a variable.
func TestTransportSecretLessItsLineEnd(t *testing.T) {
	t.Parallel()
	want := any(map[string]any{"type": "api_key", "apikey": "key"})
	cfg, _ := mustLoad(t, system{env: []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__AUTH__TYPE=api_key", "OPENLINEAGE__TRANSPORT__AUTH__APIKEY=key\r\n"}})
	equal(t, want, cfg.OpenLineage.Transport["auth"])
	cfg, _ = mustLoad(t, system{files: yml("transport:\n  type: http\n  auth:\n    type: api_key\n    apikey: |\n      key\n")})
	equal(t, want, cfg.OpenLineage.Transport["auth"])
}

func TestTransportSecretFromAFile(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/k": "0123\n"}
	cfg, _ := mustLoad(t, system{files: files, env: []string{"OPENLINEAGE_URL=http://h", "OPENLINEAGE_API_KEY_FILE=/k"}})
	equal(t, any(map[string]any{"type": "api_key", "apiKey": "0123"}), cfg.OpenLineage.Transport["auth"])

	cfg, _ = mustLoad(t, system{files: files, env: []string{
		"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__AUTH__TYPE=api_key", "OPENLINEAGE__TRANSPORT__AUTH__API_KEY_FILE=/k",
		"OPENLINEAGE__TRANSPORT__LOG_FILE=/l",
	}})
	equal(t, map[string]any{"type": "http", "log_file": "/l", "auth": map[string]any{"type": "api_key", "api_key": "0123"}}, cfg.OpenLineage.Transport)
	value, origin := setting(t, cfg, "transport.auth.api_key")
	equal(t, []string{config.Redacted, "file /k (OPENLINEAGE__TRANSPORT__AUTH__API_KEY_FILE)"}, []string{value, origin})
}

// A secret's file is read again when it has changed, also within the step of the file system's clock.
func TestCredentialFollowsItsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	write := func(content string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	write("first", old)
	in := system{env: []string{"PREFECT_API_KEY_FILE=" + file}}.input()
	reads := &countingFS{FS: os.DirFS("/")}
	in.Files = reads
	cfg, _, err := config.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	key := cfg.Prefect.APIKey
	value := func() string {
		t.Helper()
		secret, err := key.Value()
		if err != nil {
			t.Fatal(err)
		}
		return secret.Reveal()
	}
	opened := reads.opened
	equal(t, []any{"first", "first", false}, []any{value(), value(), cfg.SecretsChanged()})
	equal(t, opened, reads.opened)

	write("other", old.Add(time.Minute))
	equal(t, []any{"other", true}, []any{value(), cfg.SecretsChanged()})

	// The same size within the same tick of the clock.
	now := time.Now()
	write("third", now)
	equal(t, "third", value())
	write("forth", now)
	equal(t, "forth", value())

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	secret, err := key.Value()
	equal(t, "forth", secret.Reveal())
	if err == nil || strings.Contains(err.Error(), "forth") {
		t.Errorf("without the file: %v, want an error without the secret", err)
	}
	equal(t, false, cfg.SecretsChanged())
	write("first", old)
	equal(t, []any{"first", false}, []any{value(), cfg.SecretsChanged()})
}

// countingFS counts the files that are read.
type countingFS struct {
	fs.FS
	opened int
}

func (c *countingFS) Open(name string) (fs.File, error) { c.opened++; return c.FS.Open(name) }

func (c *countingFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

func TestTransportSecretsChange(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"OPENLINEAGE_API_KEY_FILE=@", "OPENLINEAGE__TRANSPORT__AUTH__API_KEY_FILE=@",
		`OPENLINEAGE__TRANSPORT={"type":"composite","transports":[{"type":"http","url":"http://h","auth":{"type":"api_key","apiKeyFile":"@"}}]}`,
		`OPENLINEAGE__TRANSPORT={"type":"http","url":"http://h","auth":{"type":"oauth2","client_secret_file":"@"}}`,
	} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
			t.Fatal(err)
		}
		in := system{env: []string{strings.ReplaceAll(setting, "@", file), "OPENLINEAGE_URL=http://h"}}.input()
		in.Files = os.DirFS("/")
		cfg, _, err := config.Load(in)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, false, cfg.SecretsChanged())
		if err := os.WriteFile(file, []byte("two"), 0o600); err != nil {
			t.Fatal(err)
		}
		equal(t, true, cfg.SecretsChanged())
	}

	// A file that isn't there stops no start here: the transport says what it thinks of it.
	cfg, _ := mustLoad(t, system{env: []string{
		`OPENLINEAGE__TRANSPORT={"type":"http","url":"http://h","auth":{"type":"api_key","apiKeyFile":"/gone"}}`,
	}})
	equal(t, false, cfg.SecretsChanged())
}
