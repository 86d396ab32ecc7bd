package urn

import (
	"fmt"
	"net/url"
	"strings"
)

// escapes are the reserved characters and what stands for each. U+241F separates parts in DataHub's own indexes.
var escapes = []string{",", "%2C", "(", "%28", ")", "%29", "\u241f", "%E2%90%9F"}

var encoder, decoder = strings.NewReplacer(escapes...), strings.NewReplacer(reversed(escapes)...)

func reversed(pairs []string) []string {
	back := make([]string, len(pairs))
	for i := 0; i < len(pairs); i += 2 {
		back[i], back[i+1] = pairs[i+1], pairs[i]
	}
	return back
}

// Encode escapes the reserved characters of a part. What is escaped already stays as it is.
func Encode(part string) string { return encoder.Replace(part) }

// Decode is Encode's way back, for people: of a part that held an escape from the beginning it returns the character.
func Decode(part string) string { return decoder.Replace(part) }

// MaxBytes is how long a URN may be, once it is encoded as a URL's query is: DataHub's server refuses a longer one, and
// its table has no room for it. Schema fields, which are no row of that table, may be longer.
const MaxBytes = 512

// Check returns an error for a URN that DataHub's server refuses for its length or its ends, though it is well-formed.
func Check(text string) error {
	if strings.TrimSpace(text) != text {
		return fmt.Errorf("the URN %.100q begins or ends with a space", text)
	}
	if strings.HasPrefix(text, prefix+SchemaFieldType+":") {
		return nil
	}
	if n := len(url.QueryEscape(text)); n > MaxBytes {
		return fmt.Errorf("the URN %.100q… has %d bytes once it is encoded, and DataHub takes %d", text, n, MaxBytes)
	}
	return nil
}
