package adapter

import (
	"encoding/json"
	"strings"
)

// environment is what job variables put into a run's environment, as far as it can be known from outside.
type environment map[string]string

// environmentOf reads the env of job variables: an object, or on Kubernetes also a list of names and values. What is no
// plain value is left out, as is an unresolved {{ template }}, whose text says nothing.
func environmentOf(variables map[string]json.RawMessage) environment {
	raw, ok := variables["env"]
	if !ok {
		return nil
	}
	values := make(map[string]json.RawMessage)
	if err := json.Unmarshal(raw, &values); err != nil {
		var list []struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil
		}
		for _, v := range list {
			values[v.Name] = v.Value
		}
	}
	env := make(environment, len(values))
	for name, value := range values {
		if text, ok := plainValue(value); ok && !strings.Contains(text, "{{") {
			env[name] = text
		}
	}
	return env
}

// plainValue returns a JSON text, number or truth value as trimmed text, false for all else and for what is empty.
func plainValue(raw json.RawMessage) (string, bool) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", false
	}
	text := ""
	switch value := value.(type) {
	case string:
		text = strings.TrimSpace(value)
	case float64, bool:
		text = strings.TrimSpace(string(raw)) // as it was written: a number keeps its digits
	}
	return text, text != ""
}

// namespaceVariable is the variable that names the job namespace.
const namespaceVariable = "OPENLINEAGE_NAMESPACE"
