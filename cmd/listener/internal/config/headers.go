package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Headers are HTTP headers whose values are secrets. They may come from a file that changes.
type Headers struct {
	text Credential // a JSON object
}

// Value returns the headers as they are now.
func (h Headers) Value() (map[string]string, error) {
	text, err := h.text.Value()
	if err != nil || text.IsZero() {
		return nil, err
	}
	return parseHeaders(text.Reveal())
}

// String lists the names alone.
func (h Headers) String() string {
	headers, err := h.Value()
	if err != nil {
		return Redacted
	}
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name+": "+Redacted)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func parseHeaders(text string) (map[string]string, error) {
	takes := errors.New(`takes a JSON object of text, such as {"X-Team": "data"}`)
	var headers map[string]string
	if err := json.Unmarshal([]byte(text), &headers); err != nil {
		return nil, takes // the decoder's own error may repeat a value
	}
	for name, value := range headers {
		if name == "" || strings.ContainsFunc(name, notToken) {
			return nil, errors.New("takes names of headers as HTTP allows them")
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, errors.New("takes values of headers without line breaks")
		}
	}
	return headers, nil
}

// notToken says whether a rune may not stand in a header's name, by RFC 9110 section 5.6.2.
func notToken(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
}
