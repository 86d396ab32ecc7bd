package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// document returns the JSON that a setting holds or whose file it names, and the setting's name for problems with it.
func (l *loader) document(from raw) (text []byte, where string, err error) {
	if strings.HasPrefix(from.text, "[") || strings.HasPrefix(from.text, "{") {
		return []byte(from.text), from.name, nil
	}
	path := l.absolute(from.text)
	text, err = readFile(l.in.Files, path, maxConfigBytes)
	if err != nil {
		return nil, from.name, fmt.Errorf("%s: %w", path, err)
	}
	return text, fmt.Sprintf("%s (%s)", from.name, path), nil
}

// jsonList reads a list. Its error says where the JSON breaks off.
func jsonList(text []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := json.Unmarshal(text, &list)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := text[:min(int(syntax.Offset), len(text))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - 1 - bytes.LastIndexByte(before, '\n')
		return nil, fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	if err != nil || list == nil {
		return nil, errors.New("it is no list")
	}
	return list, nil
}

// eachKey hands over the keys of an object in their order. Its error joins one for each key that is not known, is there
// twice or is refused.
func eachKey(object json.RawMessage, known []string, take func(key string, value json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("takes an object with %s", strings.Join(known, ", "))
	}
	var problems []error
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		key, isKey := token.(string)
		if err != nil || !isKey {
			return errors.Join(append(problems, io.ErrUnexpectedEOF)...)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return errors.Join(append(problems, err)...)
		}
		switch {
		case seen[key]:
			problems = append(problems, fmt.Errorf("%s is there twice", quote(key)))
		case !slices.Contains(known, key):
			problems = append(problems, unknownKey(key, known))
		default:
			for _, problem := range splitErrors(take(key, value)) {
				problems = append(problems, within(key, problem))
			}
		}
		seen[key] = true
	}
	return errors.Join(problems...)
}

// keyError is a problem in a place that its keys name.
type keyError struct {
	path string
	err  error
}

func (e keyError) Error() string { return e.path + ": " + e.err.Error() }
func (e keyError) Unwrap() error { return e.err }

// within puts a key before the place of a problem.
func within(key string, problem error) error {
	if inner, ok := errors.AsType[keyError](problem); ok {
		return keyError{key + "." + inner.path, inner.err}
	}
	return keyError{key, problem}
}

func unknownKey(key string, known []string) error {
	if err := misplaced(key, known); err != nil {
		return keyError{quote(key), err}
	}
	text := "is no key here"
	if near := settings.Nearest(key, known); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	} else {
		text += ": there are " + strings.Join(known, ", ")
	}
	return keyError{quote(key), errors.New(text)}
}

// splitErrors takes apart what errors.Join put together; nil gives none.
func splitErrors(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func jsonYesNo(value json.RawMessage) (bool, error) {
	var yes *bool
	if json.Unmarshal(value, &yes) != nil || yes == nil {
		return false, errors.New("takes true or false")
	}
	return *yes, nil
}

func jsonText(value json.RawMessage) (string, error) {
	var text *string
	if json.Unmarshal(value, &text) != nil || text == nil {
		return "", errors.New("takes a text")
	}
	return *text, nil
}

// jsonTexts reads one text or a list of them.
func jsonTexts(value json.RawMessage) ([]string, error) {
	if text, err := jsonText(value); err == nil {
		return []string{text}, nil
	}
	var texts []string
	var items []*string
	if json.Unmarshal(value, &items) != nil || len(items) == 0 {
		return nil, errors.New("takes a text or a list of texts")
	}
	for _, item := range items {
		if item == nil {
			return nil, errors.New("takes a text or a list of texts")
		}
		texts = append(texts, *item)
	}
	return texts, nil
}
