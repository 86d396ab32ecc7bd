package config

import (
	"errors"
	"slices"
	"strings"
)

// OpenLineage is what openlineage.yml and the OPENLINEAGE_ variables say.
type OpenLineage struct {
	// Disabled: nothing is read and nothing is sent.
	Disabled bool
	// Transport is the transport's settings, as decoded JSON would have them: string, bool, int, float64, nil, []any
	// and map[string]any. A composite's children are always a list, in their order, each with its name.
	Transport map[string]any
	// File is the openlineage.yml that was read. Empty: none.
	File string

	transport *node        // Transport with origins
	secrets   []Credential // those of the transport that came from files
}

// openLineage reads OpenLineage's own settings. As in the Python client, the file wins over the variables.
func (l *loader) openLineage(v Variables) {
	o := &l.cfg.OpenLineage
	o.Disabled = l.disabled(v)
	legacy := l.legacyHTTP(v)
	root := l.dynamicVariables(legacy)
	if file := l.configFile(v); file != nil {
		root = overlay(root, file, func(lost, by *node) {
			lost.walk("", func(_ string, leaf *node) {
				l.warn(leaf.origin.Where(), "does not count: %s wins over the environment", by.origin.Where())
			})
		})
	}
	if logging := l.env("OPENLINEAGE_CLIENT_LOGGING", v.OpenLineageLogging); logging.text != "" {
		l.warn(logging.name, "has no effect here: set LISTENER_LOG_LEVEL")
	}
	l.sections(root)
	o.transport = l.chooseTransport(root, legacy)
	trimSecrets(o.transport)
	l.watchFiles(o.transport)
	if transport, ok := o.transport.plain().(map[string]any); ok {
		o.Transport = transport
	}
	l.noteTransport(o.transport)
}

// disabled reads OPENLINEAGE_DISABLED, which means nothing but true.
func (l *loader) disabled(v Variables) bool {
	from := l.env("OPENLINEAGE_DISABLED", v.OpenLineageDisabled)
	return read(l, from, false, yesNo, func(text string) (bool, error) {
		off := strings.EqualFold(text, "true")
		if on, err := boolean(text); !off && (err != nil || on) {
			l.warn(from.name, "=%s does not disable anything: only true does", quote(text))
		}
		return off, nil
	})
}

// The keys of openlineage.yml beside the transport, and the keys that a section may hold. Sections that are not
// listed may hold any.
var (
	sectionNames = []string{"transport", "facets", "filters", "tags", "dataset"}
	sectionKeys  = map[string][]string{
		"facets":  {"environment_variables", "source_code_location"},
		"dataset": {"reducing_enabled", "disabled_trimmers", "extra_trimmers"},
	}
)

// sections looks at what stands beside the transport. None of it is acted on in this version, which is said. Filters
// stop the start: without them events would go out that were to stay in.
func (l *loader) sections(root *node) {
	for _, name := range root.keys {
		section := root.fields[name]
		if !slices.Contains(sectionNames, name) {
			l.warn(section.origin.Where(), "is no setting of OpenLineage and does not count")
			continue
		}
		if section.falsy() || name == "transport" {
			continue
		}
		if keys, ok := sectionKeys[name]; ok {
			l.sectionKeys(section, keys)
		}
		if name == "filters" {
			l.problem(section.origin.Where(), "", errors.New("filters are not in this version: remove them"))
			continue
		}
		if !idle(name, section) {
			l.warn(section.origin.Where(), "is not in this version and does not count")
		}
	}
}

func (l *loader) sectionKeys(section *node, keys []string) {
	if section.kind != mapping {
		l.problem(section.origin.Where(), "", errors.New("takes keys with values"))
		return
	}
	for _, key := range section.keys {
		if !slices.Contains(keys, key) {
			l.problem(section.fields[key].origin.Where(), "", errors.New("is no such key here: takes "+strings.Join(keys, ", ")))
		}
	}
}

// idle says whether a section asks for nothing that would not be so anyway.
func idle(name string, section *node) bool {
	switch name {
	case "facets":
		code := section.get("source_code_location")
		disabled := code.get("disabled")
		return section.get("environment_variables").falsy() && (code == nil || disabled == nil || !disabled.falsy())
	case "dataset":
		return section.get("reducing_enabled").falsy()
	case "tags":
		return section.get("job").falsy() && section.get("run").falsy()
	default:
		return false
	}
}

func (o OpenLineage) secretsChanged() bool { return slices.ContainsFunc(o.secrets, Credential.Changed) }
