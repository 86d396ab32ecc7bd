package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/prefect-openlineage/listener/adapter"
)

// The keys of a rule of LISTENER_POLICY and of its scope.
var (
	ruleKeys  = []string{"scope", "match", "emit", "emit_tasks", "locked"}
	scopeKeys = []string{"flow", "deployment", "task", "tag", "work_pool"}
)

// policy reads LISTENER_POLICY: a list of rules as JSON, or the path of a file that holds one.
func (l *loader) policy(from raw) adapter.Policy {
	if from.text == "" {
		l.note(from.name, "", Origin{})
		return adapter.Policy{}
	}
	text, where, err := l.document(from)
	if err != nil {
		l.problem(from.name, "", fmt.Errorf("takes rules as JSON, or a file that holds them: %w", err))
		return adapter.Policy{}
	}
	rules, problems := policyRules(text)
	policy, err := adapter.NewPolicy(rules)
	if err != nil {
		problems = append(problems, splitErrors(err)...)
	}
	for _, problem := range problems {
		l.problem(where, "", problem)
	}
	l.note(from.name, fmt.Sprintf("%d rules", policy.Len()), from.origin)
	return policy
}

// policyRules reads the rules. A rule that can't be read is there as an empty one, so that the numbers of the others
// stay theirs.
func policyRules(text []byte) ([]adapter.Rule, []error) {
	list, err := jsonList(text)
	if err != nil {
		return nil, []error{fmt.Errorf(`takes a list of rules, such as [{"scope": {"flow": "debug-*"}, "emit": false}]: %w`, err)}
	}
	rules := make([]adapter.Rule, len(list))
	var problems []error
	for i, item := range list {
		rule, err := policyRule(item)
		if err != nil {
			for _, problem := range splitErrors(err) {
				problems = append(problems, fmt.Errorf("rule %d: %w", i+1, problem))
			}
			continue
		}
		rules[i] = rule
	}
	return rules, problems
}

func policyRule(item json.RawMessage) (adapter.Rule, error) {
	var rule adapter.Rule
	emits := false
	err := eachKey(item, ruleKeys, func(key string, value json.RawMessage) (err error) {
		switch key {
		case "scope":
			rule.Scope, err = policyScope(value)
		case "match":
			var word string
			if word, err = jsonText(value); err == nil {
				word, err = choice(word, string(adapter.MatchGlob), string(adapter.MatchExact), string(adapter.MatchRegex))
			}
			rule.Match = adapter.Match(word)
		case "emit":
			emits = true
			rule.Emit, err = jsonYesNo(value)
		case "emit_tasks":
			var yes bool
			yes, err = jsonYesNo(value)
			rule.EmitTasks = &yes
		case "locked":
			rule.Locked, err = jsonYesNo(value)
		}
		return err
	})
	if err == nil && !emits {
		err = errors.New(`emit is missing: takes true or false`)
	}
	return rule, err
}

func policyScope(value json.RawMessage) (adapter.Scope, error) {
	var scope adapter.Scope
	into := map[string]*[]string{
		"flow": &scope.Flow, "deployment": &scope.Deployment, "task": &scope.Task, "tag": &scope.Tag, "work_pool": &scope.WorkPool,
	}
	err := eachKey(value, scopeKeys, func(key string, value json.RawMessage) (err error) {
		*into[key], err = jsonTexts(value)
		return err
	})
	return scope, err
}

// misplaced says where a key belongs that stands beside the scope instead of in it; nil: nowhere.
func misplaced(key string, known []string) error {
	for _, inScope := range scopeKeys {
		if strings.EqualFold(key, inScope) && known[0] == ruleKeys[0] {
			return fmt.Errorf(`belongs into scope: {"scope": {%q: …}, …}`, inScope)
		}
	}
	return nil
}
