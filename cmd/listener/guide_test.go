package main

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/test/docs"
)

const (
	settingsGuide   = "../../docs/settings.md"
	transportsGuide = "../../docs/transports.md"
)

// world is what a process finds when it starts with an example.
type world struct {
	env      []string // NAME=value
	yaml     string   // openlineage.yml in the working folder; empty: none
	profile  map[string]string
	files    map[string]string // by absolute path
	terminal bool

	profilePath string // that was asked for
}

// load reads the settings as every command does.
func (w *world) load() (settings, error) {
	r := newRig()
	r.input.Environ, r.input.Terminal, r.input.Variables = w.env, w.terminal, config.Variables{}
	r.process.getenv = func(name string) string {
		for _, line := range w.env {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}
	fields := reflect.ValueOf(&r.input.Variables).Elem()
	for i := range fields.NumField() {
		for _, line := range w.env {
			if value, ok := strings.CutPrefix(line, fields.Type().Field(i).Tag.Get("envconfig")+"="); ok {
				fields.Field(i).SetString(value)
			}
		}
	}
	files := fstest.MapFS{}
	put := func(path, content string) {
		files[strings.TrimPrefix(path, "/")] = &fstest.MapFile{Data: []byte(content), Mode: 0o600}
	}
	for path, content := range w.files {
		put(path, content)
	}
	if w.yaml != "" {
		put(r.input.Dir+"/openlineage.yml", w.yaml)
	}
	for _, path := range secretFile.FindAllString(strings.Join(w.env, "\n"), -1) {
		put(path, "ann:hunter2\n")
	}
	r.input.Files = files
	r.input.Profile = func(path, _ string) (map[string]string, error) {
		w.profilePath = path
		return w.profile, nil
	}
	return r.process.load()
}

// secretFile are the files with secrets that examples name.
var secretFile = regexp.MustCompile(`/run/secrets/[a-z-]+`)

// certificates makes the files that examples name under /etc/listener, and returns the folder that they are in.
func certificates(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"ca.pem":         {Type: "CERTIFICATE", Bytes: server.Certificate().Raw},
		"client.pem":     {Type: "CERTIFICATE", Bytes: server.Certificate().Raw},
		"client-key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// variables are the lines of an example in the environment's form.
func variables(t *testing.T, text string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, _, ok := strings.Cut(line, "="); !ok || strings.ContainsAny(name, " \t") {
			t.Errorf("%q sets no variable", line)
		}
		lines = append(lines, line)
	}
	return lines
}

// clean loads an example, which has to be taken without a word of doubt, and returns what people see of its
// destinations.
func clean(t *testing.T, where string, w world) []any {
	t.Helper()
	s, err := w.load()
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	for _, warning := range s.warnings {
		t.Errorf("%s warns: %s", where, warning)
	}
	s.close(t.Context())
	return shownOf(s)
}

func shownOf(s settings) []any {
	var shown []any
	for _, setting := range s.config.Settings { // what stands beside the transport; lists may be texts as well
		if section, _, _ := strings.Cut(listPlace.ReplaceAllString(setting.Name, ""), "."); slices.Contains(besideTransport, section) {
			shown = append(shown, listPlace.ReplaceAllString(setting.Name, "")+"="+setting.Value)
		}
	}
	slices.SortFunc(shown, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	for _, d := range s.destinations {
		shown = append(shown, d.Name, d.Kind, d.After, d.Target, d.Parallel, d.Settings)
	}
	return shown
}

var (
	besideTransport = []string{"filters", "tags", "facets", "dataset"}
	listPlace       = regexp.MustCompile(`\[[0-9]+\]`)
)

// Every example of the guides works, and an openlineage.yml says the same as the variables below it.
func TestTheGuidesExamples(t *testing.T) {
	t.Parallel()
	folder := certificates(t) + "/"
	for _, path := range append(kindGuides(t), settingsGuide, transportsGuide) {
		for _, section := range docs.Read(t, path) {
			if section.Heading == "The file wins over the environment" {
				continue // warns, which is its point
			}
			var file []any // what the openlineage.yml before the next example gives
			for _, fence := range section.Fences {
				where := filepath.Base(path) + ", " + section.Heading + ", " + fence.Language
				text := strings.ReplaceAll(fence.Text, "/etc/listener/", folder)
				if file != nil && fence.Language != "env" {
					t.Errorf("%s: the openlineage.yml before it has no variables that say the same", where)
				}
				switch fence.Language {
				case "yaml":
					file = clean(t, where, world{yaml: text, env: []string{"STAGE=production"}})
				case "env":
					environment := clean(t, where, world{env: append(variables(t, text), "STAGE=production")})
					if file != nil {
						equal(t, file, environment)
					}
					file = nil
				case "toml":
					profile, err := prefect.ParseProfile([]byte(text), "")
					if err != nil {
						t.Errorf("%s: %v", where, err)
					}
					clean(t, where, world{profile: profile, env: []string{"OPENLINEAGE__TRANSPORT__TYPE=noop"}})
				case "json": // what others read, such as a policy
					if !json.Valid([]byte(text)) {
						t.Errorf("%s: no JSON", where)
					}
				default:
					t.Errorf("%s: an example that nothing tries", where)
				}
			}
			if file != nil {
				t.Errorf("%s: the last openlineage.yml has no variables that say the same", section.Heading)
			}
		}
	}
}

func TestTheGuideOnTheFileAndTheEnvironment(t *testing.T) {
	t.Parallel()
	section := docs.Read(t, settingsGuide).Section(t, "The file wins over the environment")
	example := map[string]string{}
	for _, fence := range section.Fences {
		example[fence.Language] = fence.Text
	}
	w := world{yaml: example["yaml"], env: variables(t, example["env"])}
	s, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(t.Context())
	var warnings strings.Builder
	for _, warning := range s.warnings {
		warnings.WriteString(warning.String() + "\n")
	}
	equal(t, example["text"], warnings.String())
	equal(t, any("10s"), s.destinations[0].Settings["timeout"])
	equal(t, true, strings.HasPrefix(s.destinations[0].Target, "http://from-the-file:5000/"))
}
