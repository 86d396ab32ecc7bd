package openlineage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// CanonicalJSON returns any one JSON value in the canonical form.
func CanonicalJSON(raw []byte) ([]byte, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return appendCanonical(nil, v), nil
}

// canonical is JSON that is in the canonical form already.
type canonical []byte

// decode reads exactly one JSON value, its numbers as they are written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading JSON: more than one value")
	}
	return v, nil
}

// appendCanonical writes a value made of map[string]any, []any, string, json.Number, bool, nil and canonical.
func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		return appendObject(b, v)
	case []any:
		b = append(b, '[')
		first := true
		for _, item := range v {
			if item == nil {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case string:
		return appendString(b, v)
	case json.Number:
		return append(b, v...)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case canonical:
		return append(b, v...)
	default:
		// Only a lone null at the top gets here: members and list items that are null were left out above.
		return append(b, "null"...)
	}
}

func appendObject(b []byte, object map[string]any) []byte {
	// Keys are cleaned before they are sorted: cleaning may change the order or make two keys one.
	names := make([]string, 0, len(object))
	for name, v := range object {
		if v != nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		if c := strings.Compare(clean(x), clean(y)); c != 0 {
			return c
		}
		return strings.Compare(x, y)
	})
	b = append(b, '{')
	first := true
	for i, name := range names {
		if i+1 < len(names) && clean(name) == clean(names[i+1]) {
			continue // the last of two that became one stays
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendString(b, name)
		b = append(b, ':')
		b = appendCanonical(b, object[name])
	}
	return append(b, '}')
}

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range clean(s) {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\b':
			b = append(b, '\\', 'b')
		case r == '\f':
			b = append(b, '\\', 'f')
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// clean replaces what no consumer can store: invalid UTF-8 and U+0000.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
