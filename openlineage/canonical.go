package openlineage

import (
	"bytes"
	"cmp"
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

// appendCanonical writes a value made of map[string]any, []any, string, masked, json.Number, bool, nil and canonical.
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
	case masked:
		return appendString(b, string(v))
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
	names := make([]string, 0, len(object))
	tidy := true
	for name, v := range object {
		if v != nil {
			names = append(names, name)
			tidy = tidy && isClean(name)
		}
	}
	if tidy {
		slices.Sort(names)
	} else {
		names = tidied(names)
	}
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name)
		b = append(b, ':')
		b = appendCanonical(b, object[name])
	}
	return append(b, '}')
}

// tidied sorts names by what they are once they are cleaned, which may change their order or make two of them one: then
// the last stays.
func tidied(names []string) []string {
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(strings.Compare(clean(x), clean(y)), strings.Compare(y, x))
	})
	return slices.CompactFunc(names, func(x, y string) bool { return clean(x) == clean(y) })
}

// How many bytes of canonical JSON are made room for at first, so that few events make more room while they are written.
const (
	usualFacet = 256
	usualEvent = 2560
)

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if isPlain(s) {
		return append(append(b, s...), '"')
	}
	s = clean(s)
	plain := 0 // what is before it has been written
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[plain:i]...)
		b = appendEscape(b, c)
		plain = i + 1
	}
	b = append(b, s[plain:]...)
	return append(b, '"')
}

// isPlain is true of a text that is written as it is: ASCII with nothing to escape.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '"', '\\':
		return append(b, '\\', c)
	default:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
	}
}

// clean replaces what no consumer can store: invalid UTF-8 and U+0000.
func clean(s string) string {
	if isClean(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func isClean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
