package openlineage

import (
	"encoding"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"
)

// outcome is what became of writing a value.
type outcome uint8

const (
	written outcome = iota
	null            // nothing was written: members and list items that are null are left out
	refused         // it has to go through encoding/json
)

// appendValue writes a value in the canonical form: what comes of writing it by encoding/json, reading that back and
// writing it again. That takes four times as long, and facets are written for every event.
func appendValue(b []byte, s *layout, v reflect.Value) ([]byte, outcome) {
	switch s.how {
	case asText:
		return appendString(b, jsonText(v.String())), written
	case asBool:
		return strconv.AppendBool(b, v.Bool()), written
	case asInt:
		return strconv.AppendInt(b, v.Int(), 10), written
	case asID:
		return appendID(b, v), written
	case asOwnText, asOwnJSON:
		return appendOwn(b, s.how, v)
	case asPointer, asInterface:
		if v.IsNil() {
			return b, null
		}
		if s.how == asInterface {
			return appendValue(b, layoutOf(v.Elem().Type()), v.Elem())
		}
		return appendValue(b, s.elem, v.Elem())
	case asList:
		return appendList(b, s, v)
	case asMap:
		return appendMap(b, s, v)
	case asStruct:
		b, outcome := appendMembers(append(b, '{'), s, v)
		return append(b, '}'), outcome
	default:
		return b, refused
	}
}

// appendOwn writes a value that has a say of its own in how.
func appendOwn(b []byte, how manner, v reflect.Value) ([]byte, outcome) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return b, null
	}
	if how == asOwnText {
		marshaler, _ := reflect.TypeAssert[encoding.TextMarshaler](v) // its layout says that it is one
		text, err := marshaler.MarshalText()
		if err != nil {
			return b, refused
		}
		return appendString(b, jsonText(string(text))), written
	}
	tree, err := throughText(v.Interface())
	switch {
	case err != nil:
		return b, refused
	case tree == nil:
		return b, null
	default:
		return appendCanonical(b, tree), written
	}
}

// throughText returns what encoding/json writes of a value, read back.
func throughText(v any) (any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}

// jsonText is a text as encoding/json writes it: each byte that is no UTF-8 becomes U+FFFD.
func jsonText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func appendID(b []byte, v reflect.Value) []byte {
	id, _ := reflect.TypeAssert[uuid.UUID](v) // its layout says that it is one
	return appendUUID(b, id)
}

// appendUUID writes an id as text.
func appendUUID(b []byte, id uuid.UUID) []byte {
	b = append(b, '"')
	from := 0
	for i, to := range [...]int{4, 6, 8, 10, 16} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, id[from:to])
		from = to
	}
	return append(b, '"')
}

func appendList(b []byte, s *layout, v reflect.Value) ([]byte, outcome) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return b, null
	}
	b = append(b, '[')
	empty := len(b)
	for i := range v.Len() {
		before := len(b)
		if before > empty {
			b = append(b, ',')
		}
		var became outcome
		switch b, became = appendValue(b, s.elem, v.Index(i)); became {
		case refused:
			return b, refused
		case null:
			b = b[:before]
		default:
		}
	}
	return append(b, ']'), written
}

func appendMap(b []byte, s *layout, v reflect.Value) ([]byte, outcome) {
	if v.IsNil() {
		return b, null
	}
	keys := v.MapKeys()
	for _, key := range keys {
		if !isClean(key.String()) {
			return b, refused // cleaned, names may change their order or become one
		}
	}
	slices.SortFunc(keys, func(x, y reflect.Value) int {
		if x.String() < y.String() {
			return -1
		}
		return 1
	})
	b = append(b, '{')
	empty := len(b)
	for _, key := range keys {
		before := len(b)
		if before > empty {
			b = append(b, ',')
		}
		b = append(appendString(b, key.String()), ':')
		var became outcome
		switch b, became = appendValue(b, s.elem, v.MapIndex(key)); became {
		case refused:
			return b, refused
		case null:
			b = b[:before]
		default:
		}
	}
	return append(b, '}'), written
}

// appendMembers writes a struct's members behind what stands in b, which ends with an opening brace or a member.
func appendMembers(b []byte, s *layout, v reflect.Value) ([]byte, outcome) {
	for i := range s.members {
		m := &s.members[i]
		value := v.Field(m.index)
		if m.omitEmpty && isEmpty(value) || m.omitZero && value.IsZero() {
			continue
		}
		before := len(b)
		if b[before-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, m.prefix...)
		var became outcome
		switch b, became = appendValue(b, m.layout, value); became {
		case refused:
			return b, refused
		case null:
			b = b[:before]
		default:
		}
	}
	return b, written
}

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return false
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}
