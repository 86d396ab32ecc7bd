package datadog

import (
	"encoding/json"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// Rules say which events are async, by the facet jobType of their job. The order counts.
type Rules []Rule

// Rule is about the jobs of one integration.
type Rule struct {
	Integration string // such as prefect, in any case; * is every one
	Types       []TypeRule
}

// TypeRule is about the jobs of one type.
type TypeRule struct {
	Type  string // such as task, in any case; * is every one
	Async bool
}

// DefaultRules are the Python client's: what dbt says is async.
func DefaultRules() Rules {
	return Rules{{Integration: "dbt", Types: []TypeRule{{Type: "*", Async: true}}}}
}

// wildcard stands for every integration or every type.
const wildcard = "*"

// Async says whether an event of a job is async. It is the Python client's way of deciding: a rule for everything goes
// before all others, a job without an integration is not async otherwise, and then the first entry that fits counts,
// also where it says no. A rule of which no type fits leaves the decision to those behind it.
func (r Rules) Async(integration, jobType string) bool {
	for _, rule := range r {
		for _, of := range rule.Types {
			if rule.Integration == wildcard && of.Type == wildcard && of.Async {
				return true
			}
		}
	}
	if integration == "" {
		return false
	}
	for _, rule := range r {
		if rule.Integration != wildcard && !strings.EqualFold(rule.Integration, integration) {
			continue
		}
		for _, of := range rule.Types {
			if of.Type == wildcard || strings.EqualFold(of.Type, jobType) {
				return of.Async
			}
		}
	}
	return false
}

// AsyncEvent says the same of an event. One that can't be read has no integration.
func (r Rules) AsyncEvent(event transport.Event) bool {
	var body struct {
		Job struct {
			Facets struct {
				JobType struct {
					Integration string `json:"integration"`
					JobType     string `json:"jobType"`
				} `json:"jobType"`
			} `json:"facets"`
		} `json:"job"`
	}
	if json.Unmarshal(event.Body, &body) != nil {
		return r.Async("", "")
	}
	facet := body.Job.Facets.JobType
	return r.Async(facet.Integration, facet.JobType)
}

// parseRules reads the rules, which replace the default as a whole. order returns a map's keys as they were written.
func parseRules(s *settings.Section, order func(path string) []string) Rules {
	const key, hint = "async_transport_rules", `such as {"prefect": {"task": true}}`
	switch s.Value(key).(type) {
	case nil:
		return DefaultRules()
	case map[string]any:
	default:
		s.Refuse(key, "must map integrations to job types and those to true or false", hint)
		return nil
	}
	section := s.Map(key)
	rules := Rules{}
	for _, integration := range inOrder(section, order) {
		rule := Rule{Integration: integration}
		types, ok := section.Raw(integration).(map[string]any)
		if !ok {
			section.Refuse(integration, "must map job types to true or false", hint)
			continue
		}
		inner := section.At(section.Path(integration), types)
		for _, jobType := range inOrder(inner, order) {
			async, ok := settings.AsBool(inner.Raw(jobType))
			if !ok {
				inner.Refuse(jobType, "must be true or false", "")
			}
			rule.Types = append(rule.Types, TypeRule{Type: jobType, Async: async})
		}
		rules = append(rules, rule)
	}
	return rules
}

// inOrder returns a section's keys as they were written, those of which that is not known first.
func inOrder(s *settings.Section, order func(path string) []string) []string {
	written := order(s.Path())
	var first, then []string
	rest := map[string]bool{}
	for _, key := range s.Keys() {
		rest[key] = true
	}
	for _, key := range written {
		if rest[key] {
			then = append(then, key)
			delete(rest, key)
		}
	}
	for _, key := range s.Keys() {
		if rest[key] {
			first = append(first, key)
		}
	}
	return append(first, then...)
}

// shown returns the rules as they are written, for people.
func (r Rules) shown() map[string]any {
	all := map[string]any{}
	for _, rule := range r {
		types := map[string]any{}
		for _, of := range rule.Types {
			types[of.Type] = of.Async
		}
		all[rule.Integration] = types
	}
	return all
}
