package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// dynamicPrefix begins the variables whose names are paths: OPENLINEAGE__TRANSPORT__URL is transport.url.
const dynamicPrefix = "OPENLINEAGE__"

// dynamic is one variable whose name is a path.
type dynamic struct {
	name   string // that decides the path and the order
	origin Origin
	text   string
}

// dynamicVariables returns the tree of all OPENLINEAGE__ variables. As in the Python client they are laid down in the
// reverse order of their names, so that a shorter name, which holds a JSON object, replaces what longer ones said.
func (l *loader) dynamicVariables(legacy *node) *node {
	variables := append(l.ownDynamic(), l.legacyDynamic(legacy)...)
	slices.SortFunc(variables, func(a, b dynamic) int { return cmp.Compare(b.name, a.name) })
	root := newMap(Origin{})
	for _, variable := range variables {
		l.insert(root, variable)
	}
	return root
}

// ownDynamic are the variables as they are set, those that come from a NAME_FILE included.
func (l *loader) ownDynamic() []dynamic {
	var found []dynamic
	for name, text := range l.set {
		if !strings.HasPrefix(name, dynamicPrefix) {
			continue
		}
		base, isFile := strings.CutSuffix(name, "_FILE")
		if isFile && secretKey(lastSegment(base)) {
			if variable, ok := l.dynamicFile(base, name, text); ok {
				found = append(found, variable)
			}
			continue
		}
		found = append(found, dynamic{name: name, text: text, origin: Origin{Source: Environment, Name: name}})
	}
	return found
}

func lastSegment(name string) string { return name[strings.LastIndex(name, "__")+2:] }

// dynamicFile reads the secret that base would hold from the file that name names.
func (l *loader) dynamicFile(base, name, text string) (dynamic, bool) {
	if text == "" {
		return dynamic{}, false
	}
	if l.set[base] != "" {
		l.problem(name, "", fmt.Errorf("is set beside %s: set one of the two", base))
		return dynamic{}, false
	}
	path := l.absolute(text)
	content, err := newSecretFile(l.in.Files, path, time.Now)
	if err != nil {
		l.problem(name, text, fmt.Errorf("takes a file that holds %s: %w", base, err))
		return dynamic{}, false
	}
	l.cfg.OpenLineage.secrets = append(l.cfg.OpenLineage.secrets, Credential{file: content})
	// As JSON, so that a token of digits stays text.
	quoted, err := json.Marshal(content.first.Reveal())
	if err != nil {
		l.problem(name, text, errors.New("takes a file of text"))
		return dynamic{}, false
	}
	return dynamic{name: base, text: string(quoted), origin: Origin{Source: SecretText, Name: name, File: path}}, true
}

// insert lays one variable down.
func (l *loader) insert(root *node, variable dynamic) {
	path := strings.Split(strings.TrimPrefix(variable.name, dynamicPrefix), "__")
	at, prefix := root, strings.TrimSuffix(dynamicPrefix, "__")
	for _, segment := range path[:len(path)-1] {
		prefix += "__" + segment
		key := strings.ToLower(segment)
		below := at.get(key)
		if below == nil {
			below = newMap(Origin{Source: Environment, Name: prefix, prefix: true})
			if prefix == aliasPrefix && !strings.HasPrefix(variable.origin.Name, aliasPrefix) {
				below.origin = variable.origin // nobody set a variable of that name: OPENLINEAGE_URL made it
			}
			at.put(key, below)
		}
		if below.kind != mapping {
			l.problem(variable.origin.Where(), "", fmt.Errorf("can't be set beside %s, which is no map", below.origin.Where()))
			return
		}
		at = below
	}
	key := strings.ToLower(path[len(path)-1])
	if replaced := at.get(key); replaced != nil {
		replaced.walk("", func(_ string, leaf *node) {
			l.warn(leaf.origin.Where(), "does not count: %s replaces it", variable.origin.Where())
		})
	}
	value := l.dynamicValue(variable)
	value.hideKeys(key)
	at.put(key, value)
}

// dynamicValue is JSON where the text is, else the text.
func (l *loader) dynamicValue(variable dynamic) *node {
	if value, err := fromJSON(variable.text, variable.origin); err == nil {
		return value
	}
	if strings.ContainsAny(variable.text, "{}[]") {
		l.warn(variable.origin.Where(), "looks like JSON and is not: taken as plain text")
	}
	return newScalar(variable.text, variable.origin)
}

// fromJSON reads a JSON text, keeping the order of keys. The last of two equal keys counts.
func fromJSON(text string, origin Origin) (*node, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("not JSON")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return jsonValue(decoder, origin)
}

func jsonValue(decoder *json.Decoder, origin Origin) (*node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		value := newMap(origin)
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string) // a valid object's keys are text
			field, err := jsonValue(decoder, origin.child(name))
			if err != nil {
				return nil, err
			}
			value.put(name, field)
		}
		_, err = decoder.Token()
		return value, err
	case json.Delim('['):
		value := &node{kind: list, origin: origin}
		for decoder.More() {
			item, err := jsonValue(decoder, origin.item(len(value.items)))
			if err != nil {
				return nil, err
			}
			value.items = append(value.items, item)
		}
		_, err = decoder.Token()
		return value, err
	}
	if n, ok := token.(json.Number); ok {
		value := newScalar(jsonNumber(n), origin)
		value.digits = n.String()
		return value, nil
	}
	return newScalar(token, origin), nil
}

func jsonNumber(n json.Number) any {
	if whole, err := n.Int64(); err == nil {
		return int(whole)
	}
	float, err := n.Float64()
	if err != nil {
		return n.String() // beyond what a float holds
	}
	return float
}
