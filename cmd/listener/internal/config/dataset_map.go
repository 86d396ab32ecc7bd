package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/prefect-openlineage/listener/openlineage"
)

var nameRuleKeys = []string{"match", "namespace", "name"}

// datasetMap reads DATASET_MAP: a list of rules as JSON, or the path of a file that holds one, as JSON or YAML.
func (l *loader) datasetMap(from raw) openlineage.NameMap {
	if from.text == "" {
		l.note(from.name, "", Origin{})
		return nil
	}
	text, where, err := l.document(from)
	if err != nil {
		l.problem(from.name, "", fmt.Errorf("takes rules as JSON, or a file that holds them: %w", err))
		return nil
	}
	rules, problems := nameRules(text)
	names, err := openlineage.NewNameMap(rules)
	if err != nil && len(problems) == 0 {
		problems = append(problems, err)
	}
	for _, problem := range problems {
		l.problem(where, "", problem)
	}
	l.note(from.name, ruleCount(len(names)), from.origin)
	return names
}

func ruleCount(n int) string {
	if n == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", n)
}

func nameRules(text []byte) ([]openlineage.NameRule, []error) {
	text, err := yamlToJSON(text)
	var list []json.RawMessage
	if err == nil {
		list, err = jsonList(text)
	}
	if err != nil {
		return nil, []error{fmt.Errorf(
			`takes a list of rules, such as [{"match": "postgres://10[.]0[.]0[.]1:5432/(.*)", "namespace": "postgres://shop:5432", "name": "$1"}]: %w`, err)}
	}
	rules := make([]openlineage.NameRule, len(list))
	var problems []error
	for i, item := range list {
		into := map[string]*string{"match": &rules[i].Match, "namespace": &rules[i].Namespace, "name": &rules[i].Name}
		err := eachKey(item, nameRuleKeys, func(key string, value json.RawMessage) (err error) {
			*into[key], err = jsonText(value)
			return err
		})
		for _, problem := range splitErrors(err) {
			problems = append(problems, fmt.Errorf("rule %d: %w", i+1, problem))
		}
	}
	return rules, problems
}

// yamlToJSON returns the JSON that says the same as YAML, of which JSON itself is a part.
func yamlToJSON(text []byte) ([]byte, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || json.Valid(text) {
		return text, nil
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		if text[0] == '[' || text[0] == '{' {
			return text, nil // meant as JSON, whose errors name the column too
		}
		if broken, ok := errors.AsType[*yaml.LoadError](err); ok && broken.Mark.Line > 0 {
			return nil, fmt.Errorf("line %d%s", broken.Mark.Line, yamlWords(broken.Message))
		}
		return nil, errors.New("it is neither JSON nor YAML")
	}
	converted, err := json.Marshal(v)
	if err != nil {
		return nil, errors.New("it has keys that are no texts")
	}
	return converted, nil
}
