package factory

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transform"
)

// node is one transport of the configuration: a leaf, or what stands above others.
type node struct {
	path     string // in the configuration
	name     string // configured; may be empty
	priority int

	leaf        transport.Destination // without children
	reduced     func(destination string, event transport.Event, left fit.Left)
	transformer transform.Transformer // with one child
	change      map[string]any        // the transformer's settings, for people
	changePath  string                // where those stand in the configuration

	children []*node
	// onFailure and onSuccess say whether a composite goes on to the next child after one that failed, and after one
	// that has the event.
	onFailure, onSuccess bool
}

// planner reads the configuration into a tree.
type planner struct{ options Options }

// plan reads one transport and all below it. Its result counts only when the section has no problem.
func (p planner) plan(s *settings.Section) *node {
	n := &node{path: s.Path(), name: parseName(s), priority: parsePriority(s)}
	kind := s.String("type")
	switch make, leaf := kinds()[kind]; {
	case leaf:
		n.leaf, n.reduced = make(s, p.options), p.options.Reduced
	case kind == "composite":
		p.planComposite(s, n)
	case kind == "transform":
		p.planTransform(s, n)
	default:
		refuseType(s, kind)
	}
	return n
}

const maxName = 200

func parseName(s *settings.Section) string {
	name := s.String("name")
	if len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		s.Refuse("name", "must be at most 200 bytes on one line", "")
		return ""
	}
	return name
}

// parsePriority reads the order among siblings, which only sort_transports looks at. A fraction is cut off, as Python's
// int does.
func parsePriority(s *settings.Section) int {
	if s.Null("priority") {
		s.Refuse("priority", "must be a whole number, not null", "")
	}
	return int(math.Trunc(s.Number(0, "priority")))
}

func (p planner) planComposite(s *settings.Section, n *node) {
	n.onFailure = s.Bool(true, "continue_on_failure")
	n.onSuccess = s.Bool(true, "continue_on_success")
	sorted := s.Bool(false, "sort_transports")
	switch transports := s.Value("transports").(type) {
	case nil:
		s.Refuse("transports", "is missing", "list the transports, or map a name to each")
	case []any:
		for i, child := range transports {
			p.planChild(s, n, fmt.Sprintf("%s[%d]", s.Path("transports"), i), "", child)
		}
	case map[string]any:
		for _, name := range p.ordered(s.Path("transports"), transports) {
			if !falsy(transports[name]) { // an empty map is how one is switched off
				p.planChild(s, n, s.Path("transports", name), name, transports[name])
			}
		}
	default:
		s.Refuse("transports", "must be a list or a map of transports", "")
	}
	if s.Value("transports") != nil && len(n.children) == 0 && s.Err() == nil {
		s.Refuse("transports", "holds no transport", "")
	}
	if sorted {
		slices.SortStableFunc(n.children, func(a, b *node) int { return b.priority - a.priority })
	}
	if !n.onFailure && !n.onSuccess && len(n.children) > 1 {
		s.Warn("transports", "all but the first are never used: continue_on_failure and continue_on_success are both false")
	}
	s.Finish()
}

// planChild reads one child. Its key in a map is its name.
func (p planner) planChild(s *settings.Section, n *node, path, name string, value any) {
	spec, ok := value.(map[string]any)
	if !ok {
		s.At(path, nil).Refuse("", "must be a map that says what the transport is", "")
		return
	}
	if name != "" {
		spec = withName(spec, name)
	}
	n.children = append(n.children, p.plan(s.At(path, spec)))
}

// ordered returns a map's keys in the order in which they count.
func (p planner) ordered(path string, values map[string]any) []string {
	written := p.options.Order(path)
	var first, then []string
	for key := range values {
		if !slices.Contains(written, key) {
			first = append(first, key)
		}
	}
	slices.SortFunc(first, func(a, b string) int { return strings.Compare(b, a) })
	for _, key := range written {
		if _, ok := values[key]; ok && !slices.Contains(then, key) {
			then = append(then, key)
		}
	}
	return append(first, then...)
}

func withName(spec map[string]any, name string) map[string]any {
	named := maps.Clone(spec)
	named["name"] = name
	return named
}

// falsy is what Python takes for nothing.
func falsy(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case int:
		return v == 0
	case float64:
		return v == 0
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// namespaceReplacers are the names of the one transformer that the Python client ships.
var namespaceReplacers = []string{
	"openlineage.client.transport.transform.JobNamespaceReplaceTransformer",
	"openlineage.client.transport.transform.transformers.job_namespace_replace_transformer.JobNamespaceReplaceTransformer",
}

func (p planner) planTransform(s *settings.Section, n *node) {
	class := s.String("transformer_class")
	properties := s.Map("transformer_properties")
	switch {
	case class == "":
		s.Refuse("transformer_class", "is missing", namespaceReplacers[0]+" is the one that there is")
	case !slices.Contains(namespaceReplacers, class):
		s.Refuse("transformer_class", "names a Python class that cannot be loaded here",
			namespaceReplacers[0]+" is the one that there is; for anything else use http and let a small service of yours change the events")
	default:
		n.transformer, n.change = parseNamespaceReplacer(properties)
		n.changePath = properties.Path()
	}
	if inner := s.Map("transport"); inner.Empty() {
		s.Refuse("transport", "is missing", "say where the changed events go")
	} else {
		child := p.plan(inner)
		if n.name != "" {
			child.name = n.name
		}
		n.children = []*node{child}
	}
	s.Finish()
}

func parseNamespaceReplacer(s *settings.Section) (transform.Transformer, map[string]any) {
	namespace := s.String("new_job_namespace")
	if namespace == "" {
		s.Refuse("new_job_namespace", "is missing", "")
	}
	// Python compares the lower-case text with "true": anything else is no.
	parents := true
	if text, ok := settings.Text(s.Value("include_parent_facet")); ok {
		parents = strings.ToLower(text) == "true"
	}
	s.Finish()
	return transform.JobNamespace{Namespace: namespace, Parents: parents},
		map[string]any{"new_job_namespace": namespace, "include_parent_facet": parents}
}
