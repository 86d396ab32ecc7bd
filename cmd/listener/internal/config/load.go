package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Load makes a Config of what the process was started with. Its error is a Problems with everything that is wrong;
// the Config then holds what could be read, for show only.
func Load(in Input) (Config, []Warning, error) {
	l := &loader{in: in, set: environment(in.Environ)}
	v := in.Variables
	l.prefect(v)
	l.openLineage(v)
	l.names(v)
	l.process(v)
	l.unknown()
	if len(l.problems) > 0 {
		return l.cfg, l.warnings, l.problems
	}
	return l.cfg, l.warnings, nil
}

// loader gathers what one Load finds.
type loader struct {
	in       Input
	set      map[string]string // the environment
	profile  profile
	cfg      Config
	problems Problems
	warnings []Warning
	broken   bool // there is an openlineage.yml, and what it says isn't known
}

// raw is a value as it was found.
type raw struct {
	name   string // the setting's
	text   string // empty: unset
	origin Origin
}

// env is a variable's value. A variable that is empty or blank counts as unset: compose files and charts set those.
func (l *loader) env(name, text string) raw {
	text = strings.TrimSpace(text)
	if text == "" {
		return raw{name: name}
	}
	return raw{name: name, text: text, origin: Origin{Source: Environment, Name: name}}
}

// read parses a value, or gives what holds without one, and notes what is in effect.
func read[T any](l *loader, from raw, unset T, show func(T) string, parse func(string) (T, error)) T {
	value := unset
	if from.text != "" {
		var err error
		if value, err = parse(from.text); err != nil {
			l.problem(from.where(), from.text, err)
			return unset
		}
	}
	l.note(from.name, show(value), from.origin)
	return value
}

// where names the setting as the user would look for it.
func (r raw) where() string {
	if r.origin.Source == Profile {
		return fmt.Sprintf("%s (%s)", r.name, r.origin)
	}
	return r.name
}

func (l *loader) problem(where, value string, takes error) {
	l.problems = append(l.problems, Problem{Where: where, Value: shown(value), Takes: takes.Error()})
}

// warn notes a warning once: the parts of one variable's value often share theirs.
func (l *loader) warn(where, format string, args ...any) {
	warning := Warning{Where: where, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(l.warnings, warning) {
		l.warnings = append(l.warnings, warning)
	}
}

func (l *loader) note(name, value string, origin Origin) {
	l.cfg.Settings = append(l.cfg.Settings, Setting{Name: name, Value: value, Origin: origin.String()})
}

// credential is a secret setting: from is its own value, file that of NAME_FILE. check may be nil.
func (l *loader) credential(from, file raw, check func(string) error) Credential {
	if file.text != "" {
		if from.text != "" && from.origin.Source == Environment {
			l.problem(file.name, "", fmt.Errorf("is set beside %s: set one of the two", from.name))
			return Credential{}
		}
		return l.fileCredential(from.name, file, check)
	}
	if from.text == "" {
		l.note(from.name, "", Origin{})
		return Credential{}
	}
	if check != nil {
		if err := check(from.text); err != nil {
			l.problem(from.where(), "", err)
			return Credential{}
		}
	}
	l.note(from.name, Redacted, from.origin)
	return NewCredential(from.text)
}

func (l *loader) fileCredential(name string, file raw, check func(string) error) Credential {
	path := l.absolute(file.text)
	content, err := newSecretFile(l.in.Files, path, time.Now)
	if err != nil {
		l.problem(file.name, file.text, fmt.Errorf("takes a file that holds %s: %w", name, err))
		return Credential{}
	}
	if check != nil {
		if err := check(content.first.Reveal()); err != nil {
			l.problem(file.name, file.text, fmt.Errorf("its content: %w", err))
			return Credential{}
		}
	}
	l.note(name, Redacted, Origin{Source: SecretText, Name: file.name, File: path})
	return Credential{file: content}
}

// absolute completes a path as a shell would: ~ is the user's folder, and relative is relative to the working folder.
func (l *loader) absolute(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return l.in.Home + path[1:]
	}
	if strings.HasPrefix(path, "/") {
		return path
	}
	return strings.TrimSuffix(l.in.Dir, "/") + string(os.PathSeparator) + path
}

// environment turns NAME=value lines into a map. The first of two equal names counts, as it does for getenv.
func environment(lines []string) map[string]string {
	set := make(map[string]string, len(lines))
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if _, twice := set[name]; ok && !twice {
			set[name] = value
		}
	}
	return set
}
