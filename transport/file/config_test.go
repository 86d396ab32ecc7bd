package file_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/file"
	"github.com/prefect-openlineage/listener/transport/settings"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		values map[string]any
		want   file.Config
		warns  string
	}{
		{"a prefix", map[string]any{"log_file_path": "/a/b.json"}, file.Config{Path: "/a/b.json"}, ""},
		{"append", map[string]any{"log_file_path": "b", "append": true}, file.Config{Path: "b", Append: true}, ""},
		{"append, as a variable writes it", map[string]any{"log_file_path": "b", "append": "true"}, file.Config{Path: "b", Append: true}, ""},
		{"debug", map[string]any{"log_file_path": "b", "debug_mode": true}, file.Config{Path: "b", Debug: true}, ""},
		{"debug and append", map[string]any{"log_file_path": "b", "debug_mode": true, "append": true}, file.Config{Path: "b", Append: true}, "transport.debug_mode: has no effect with append"},
		{"a URI", map[string]any{"log_file_path": "file:///a/b%20c"}, file.Config{Path: "/a/b c"}, ""},
		{"a URI that is not encoded", map[string]any{"log_file_path": "file:///a/50%"}, file.Config{Path: "/a/50%"}, ""},
		{"a path that looks encoded", map[string]any{"log_file_path": "/a/b%20c"}, file.Config{Path: "/a/b%20c"}, ""},
		{"a URI of this machine", map[string]any{"log_file_path": "file://localhost/a"}, file.Config{Path: "/a"}, ""},
		{"storage options", map[string]any{"log_file_path": "b", "storage_options": map[string]any{"key": "s3cr3t"}}, file.Config{Path: "b"}, "transport.storage_options: has no effect on a local path"},
		{"an unknown key", map[string]any{"log_file_path": "b", "apend": true}, file.Config{Path: "b"}, "transport.apend: is not known and has no effect; did you mean append?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := settings.New("transport", tt.values)
			got := file.Parse(s)
			if diff := cmp.Diff(tt.want, got); diff != "" || s.Err() != nil {
				t.Error(diff, s.Err())
			}
			if warns := strings.Join(s.Warnings(), "\n"); warns != tt.warns {
				t.Errorf("warnings %q, want %q", warns, tt.warns)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path   string
		values map[string]any
	}{
		{"transport.log_file_path", map[string]any{}},
		{"transport.log_file_path", map[string]any{"log_file_path": "s3://bucket/x"}},
		{"transport.log_file_path", map[string]any{"log_file_path": "file://elsewhere/x"}},
		{"transport.log_file_path", map[string]any{"log_file_path": "/a/folder/"}},
		{"transport.log_file_path", map[string]any{"log_file_path": "/a\x00b"}},
		{"transport.filesystem", map[string]any{"log_file_path": "b", "filesystem": "a.b.C"}},
		{"transport.append", map[string]any{"log_file_path": "b", "append": "perhaps"}},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.path), func(t *testing.T) {
			t.Parallel()
			s := settings.New("transport", tt.values)
			file.Parse(s)
			if e, ok := errors.AsType[*transport.ConfigError](s.Err()); !ok || e.Path != tt.path {
				t.Errorf("%v, want a problem at %s", s.Err(), tt.path)
			}
		})
	}
}

func TestTargetIsAbsolute(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("x/y")
	if err != nil {
		t.Fatal(err)
	}
	if got := (file.Config{Path: "x/./y"}).Target(); got != here {
		t.Errorf("%s, want %s", got, here)
	}
	want := map[string]any{"log_file_path": "/a", "append": true, "debug_mode": false}
	if diff := cmp.Diff(want, file.Config{Path: "/a", Append: true}.Settings()); diff != "" {
		t.Error(diff)
	}
}
