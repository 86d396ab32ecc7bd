package urn

import (
	"crypto/md5" //nolint:gosec // a name, not a secret: DataHub's own clients make these ids so
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// GUID returns the id that DataHub's clients make of a few properties, for containers and for runs that have no id of
// their own: the MD5 of them as JSON with sorted keys and without spaces, everything but printable ASCII escaped.
func GUID(properties map[string]string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(properties)) {
		if i > 0 {
			b.WriteByte(',')
		}
		quote(&b, key)
		b.WriteByte(':')
		quote(&b, properties[key])
	}
	b.WriteByte('}')
	sum := md5.Sum([]byte(b.String())) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// DataProcessInstanceID returns the id that DataHub's Python client gives to a run of which it knows a name alone.
func DataProcessInstanceID(cluster, orchestrator, name string) string {
	return GUID(map[string]string{"cluster": cluster, "orchestrator": orchestrator, "id": name})
}

var short = map[rune]string{
	'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`,
}

// quote writes a JSON text as Python's json does by default, whose bytes the sum is made of.
func quote(b *strings.Builder, text string) {
	b.WriteByte('"')
	for _, r := range text {
		switch escape, ok := short[r]; {
		case ok:
			b.WriteString(escape)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}
