package file

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// Config is a parsed configuration.
type Config struct {
	// Path is the file of append mode, else the beginning of each file's name.
	Path string
	// Append writes one line per event to Path; otherwise each event gets a file of its own.
	Append bool
	// Debug indents the files and names them by job and event type. It counts without Append only.
	Debug bool
}

// Parse reads the settings of type file. Problems and warnings are left with the section; the result counts only when
// the section has no problem.
func Parse(s *settings.Section) Config {
	c := Config{Append: s.Bool(false, "append"), Debug: s.Bool(false, "debug_mode")}
	c.Path = parsePath(s)
	if c.Append && c.Debug {
		s.Warn("debug_mode", "has no effect with append")
		c.Debug = false
	}
	if s.Has("filesystem") {
		s.Refuse("filesystem", "names a Python class, which cannot be loaded here",
			"write to a local path, or to a mounted one")
	}
	for _, key := range []string{"storage_options", "fs_kwargs"} {
		if s.Has(key) {
			s.Warn(key, "has no effect on a local path")
		}
	}
	s.Finish()
	return c
}

// parsePath returns the local path of log_file_path. Behind file:// it is decoded, as the Python client does.
func parsePath(s *settings.Section) string {
	path := s.String("log_file_path")
	if path == "" {
		s.Refuse("log_file_path", "is missing", "set it to a path, such as /var/log/lineage/events.json")
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "file://"); ok {
		path = strings.TrimPrefix(rest, "localhost")
		if !strings.HasPrefix(path, "/") {
			s.Refuse("log_file_path", "names another host", "a local path is file:///and/then/the/path")
			return ""
		}
		if decoded, err := url.PathUnescape(path); err == nil { // else it was not encoded
			path = decoded
		}
	} else if scheme, _, ok := strings.Cut(path, "://"); ok {
		s.Refuse("log_file_path", "is on "+scheme+"://, and this version writes local files only",
			"write to a local path, or to a mounted one")
		return ""
	}
	if strings.ContainsRune(path, 0) {
		s.Refuse("log_file_path", "holds a zero byte", "")
		return ""
	}
	if strings.HasSuffix(path, string(filepath.Separator)) {
		s.Refuse("log_file_path", "ends like a folder", "put the file's name, or its beginning, behind it")
		return ""
	}
	return path
}

// Target returns the path, as an absolute one where possible, for people and as an identity.
func (c Config) Target() string {
	path := c.Path
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return path
}

// Settings returns the effective settings under their documented names.
func (c Config) Settings() map[string]any {
	return map[string]any{"log_file_path": c.Target(), "append": c.Append, "debug_mode": c.Debug}
}
