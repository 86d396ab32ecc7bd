package adapter

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// MaxRules is how many rules a policy may have: each has counters of its own.
const MaxRules = 500

// Match says how the patterns of a rule's scope are read. Case counts, and the whole name must match.
type Match string

// The ways to match. Empty means MatchGlob.
const (
	MatchGlob  Match = "glob"  // * stands for any text, ? for any one character
	MatchExact Match = "exact" // the name itself
	MatchRegex Match = "regex" // a regular expression in RE2's syntax
)

// Scope says to which runs a rule applies: all that is given must match, each by any one of its patterns. A scope that
// gives nothing applies to every run.
type Scope struct {
	Flow       []string
	Deployment []string // by its name, or by flow/deployment as Prefect's command line has it
	Task       []string // by the task's name without what differs from run to run
	Tag        []string // of the run, and for a flow run also of its deployment and its flow
	WorkPool   []string
}

// Rule says of which runs to tell. A rule whose scope gives no task is about flow runs and all that runs inside them.
type Rule struct {
	Scope Scope
	Match Match
	Emit  bool
	// EmitTasks holds for the task runs inside the flow runs that the rule is about. Nil: as Emit.
	EmitTasks *bool
	// Locked rules count before what authors say by tags and job variables.
	Locked bool
}

// Policy decides which runs are told about. The zero Policy tells of every run but those that authors keep back.
type Policy struct {
	rules []rule
}

// NewPolicy checks the rules. Its error joins one for each rule that can't be used, which names the rule by its number,
// from 1, and the key.
func NewPolicy(rules []Rule) (Policy, error) {
	if len(rules) > MaxRules {
		return Policy{}, fmt.Errorf("takes up to %d rules, not %d", MaxRules, len(rules))
	}
	var p Policy
	var problems []error
	for i, given := range rules {
		compiled, err := compile(given)
		if err != nil {
			problems = append(problems, fmt.Errorf("rule %d: %w", i+1, err))
			continue
		}
		p.rules = append(p.rules, compiled)
	}
	if len(problems) > 0 {
		return Policy{}, errors.Join(problems...)
	}
	return p, nil
}

// Len returns the number of rules.
func (p Policy) Len() int { return len(p.rules) }

// rule is a Rule that is ready for use.
type rule struct {
	about
	emit, emitTasks bool
	rank            rank
	words           string // the scope in words
}

// about is a Scope that is ready for use; nil: not given.
type about struct {
	flow, deployment, task, tag, workPool *regexp.Regexp
}

func compile(given Rule) (rule, error) {
	r := rule{emit: given.Emit, emitTasks: given.Emit, words: "every run"}
	if given.EmitTasks != nil {
		if len(given.Scope.Task) > 0 {
			return rule{}, errors.New("emit_tasks does not go with scope.task: a rule about tasks says emit")
		}
		r.emitTasks = *given.EmitTasks
	}
	var words []string
	for _, key := range []struct {
		name     string
		patterns []string
		into     **regexp.Regexp
		rank     rank
	}{
		{"work_pool", given.Scope.WorkPool, &r.workPool, byWorkPool},
		{"tag", given.Scope.Tag, &r.tag, byTag},
		{"flow", given.Scope.Flow, &r.flow, byFlow},
		{"deployment", given.Scope.Deployment, &r.deployment, byDeployment},
		{"task", given.Scope.Task, &r.task, byTask},
	} {
		if len(key.patterns) == 0 {
			continue
		}
		pattern, err := anyOf(key.patterns, given.Match)
		if err != nil {
			return rule{}, fmt.Errorf("scope.%s: %w", key.name, err)
		}
		*key.into, r.rank = pattern, key.rank
		words = append(words, key.name+" "+strings.Join(key.patterns, " or "))
	}
	if len(words) > 0 {
		slices.Reverse(words) // the most specific first
		r.words = cutBytes(strings.Join(words, ", "), 200)
	}
	if given.Locked {
		r.rank += locked
	}
	return r, nil
}

// anyOf makes one expression of several patterns, which must match a name as a whole.
func anyOf(patterns []string, match Match) (*regexp.Regexp, error) {
	choices := make([]string, len(patterns))
	for i, pattern := range patterns {
		if strings.TrimSpace(pattern) == "" {
			return nil, errors.New("a pattern is empty")
		}
		switch match {
		case MatchExact:
			choices[i] = regexp.QuoteMeta(pattern)
		case MatchRegex:
			if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
				return nil, fmt.Errorf("%q is no regular expression: %s", pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			}
			choices[i] = "(?:" + pattern + ")"
		case MatchGlob, "":
			quoted := regexp.QuoteMeta(pattern)
			choices[i] = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted)
		default:
			return nil, fmt.Errorf("match takes glob, exact or regex, not %q", match)
		}
	}
	return regexp.Compile(`(?s)^(?:` + strings.Join(choices, "|") + `)$`)
}

// matches says whether the rule is about a run.
func (r about) matches(m matter) bool {
	deployments := []string{m.deployment}
	if m.deployment != "" {
		deployments = append(deployments, m.flow+"/"+m.deployment)
	}
	return matchesAny(r.flow, m.flow) && matchesAny(r.deployment, deployments...) &&
		matchesAny(r.task, m.task) && matchesAny(r.tag, m.tags...) && matchesAny(r.workPool, m.workPool)
}

// matchesAny says whether a pattern that is given matches one of the names that are there.
func matchesAny(pattern *regexp.Regexp, names ...string) bool {
	return pattern == nil || slices.ContainsFunc(names, func(name string) bool {
		return name != "" && pattern.MatchString(name)
	})
}
