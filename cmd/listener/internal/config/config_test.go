package config_test

import (
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	workDir = "/srv/app"
	home    = "/home/ann"
)

// system is what a test's process was started with. Files are named by their absolute paths.
type system struct {
	env      []string
	files    map[string]string
	profile  map[string]string
	terminal bool
}

// input fills the variables as envconfig would; TestFromProcess holds the two together.
func (s system) input() config.Input {
	in := config.Input{
		Environ: s.env, Dir: workDir, Home: home, Files: s.fs(), Version: "1.2.3", Terminal: s.terminal,
		Profile: func(_, name string) (map[string]string, error) {
			if name != "" && name != "ann" {
				return nil, errors.New("there is no profile " + name)
			}
			return s.profile, nil
		},
	}
	fields := reflect.ValueOf(&in.Variables).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Tag.Get("envconfig")
		for _, line := range s.env {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				fields.Field(i).SetString(value)
				break
			}
		}
	}
	return in
}

func (s system) fs() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range s.files {
		files[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return files
}

func (s system) load() (config.Config, []config.Warning, error) { return config.Load(s.input()) }

// mustLoad loads settings that have no problem.
func mustLoad(t *testing.T, s system) (config.Config, []config.Warning) {
	t.Helper()
	cfg, warnings, err := s.load()
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg, warnings
}

// problems loads settings and returns their problems, one line each.
func problems(s system) []string {
	_, _, err := s.load()
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func lines(warnings []config.Warning) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.String())
	}
	return all
}

// setting returns the value and the origin that are shown for a name.
func setting(t *testing.T, cfg config.Config, name string) (value, origin string) {
	t.Helper()
	for _, s := range cfg.Settings {
		if s.Name == name {
			return s.Value, s.Origin
		}
	}
	t.Fatalf("no setting %s is shown", name)
	return "", ""
}

// golden compares text with a file, or writes the file under -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
