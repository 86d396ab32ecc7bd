package config

import (
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
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
	// Filters name the jobs that nobody is told about.
	Filters []openlineage.Filter
	// Additions are what goes into every event.
	Additions openlineage.Additions

	transport *node        // Transport with origins
	secrets   []Credential // those of the transport that came from files
}

// openLineage reads OpenLineage's own settings. As in the Python client, the file wins over the variables.
func (l *loader) openLineage(v Variables) {
	o := &l.cfg.OpenLineage
	o.Disabled = l.disabled(v)
	legacy := l.legacyHTTP(v)
	root := l.dynamicVariables(legacy)
	before := len(l.problems)
	file := l.configFile(v)
	l.broken = len(l.problems) > before
	if file != nil {
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
	l.vendorSecrets()
	if transport, ok := o.transport.plain().(map[string]any); ok {
		o.Transport = transport
	}
	l.noteTransport(o.transport)
	l.noteSections(root)
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

func (o OpenLineage) secretsChanged() bool { return slices.ContainsFunc(o.secrets, Credential.Changed) }
