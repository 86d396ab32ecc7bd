package openlineage

import (
	"bytes"
	"slices"
	"strings"
)

// MaskSecrets replaces each of the given secrets wherever it stands in a text. Secrets shorter than four bytes are not
// looked for: they would star out half of any text.
func MaskSecrets(text string, secrets []string) string {
	for _, secret := range longestFirst(secrets) {
		text = strings.ReplaceAll(text, secret, Masked)
	}
	return text
}

// MaskSecretsJSON replaces the given secrets in the texts of a JSON object and returns it as canonical JSON. One that
// holds none, which is nearly every one, is returned as it is. Names of members stay, and so does what identifies an
// event: whoever takes a job's name for a password must not lose the job. What is no JSON is masked as text.
func MaskSecretsJSON(object []byte, secrets []string) []byte {
	secrets = longestFirst(secrets)
	if !slices.ContainsFunc(secrets, func(secret string) bool { return bytes.Contains(object, inJSON(secret)) }) {
		return object
	}
	v, err := decode(object)
	if err != nil {
		return []byte(MaskSecrets(string(object), secrets))
	}
	return appendCanonical(nil, withoutSecrets(v, secrets, ""))
}

// MaskRow masks a row of an API that is to be kept as it came: values under secret names and, in all texts, what MaskText
// finds. One that holds no secret is returned as it is, any other as canonical JSON. What is no JSON is masked as text.
func MaskRow(row []byte) []byte {
	v, err := decode(row)
	if err != nil {
		return []byte(MaskText(string(row)))
	}
	before := appendCanonical(nil, v)
	masked := appendCanonical(nil, maskTree(v, SecretKey))
	if bytes.Equal(before, masked) {
		return row
	}
	return masked
}

func withoutSecrets(v any, secrets []string, name string) any {
	switch v := v.(type) {
	case string:
		return MaskSecrets(v, secrets)
	case []any:
		for i, item := range v {
			v[i] = withoutSecrets(item, secrets, name)
		}
	case map[string]any:
		for member, item := range v {
			if !identifies(name, member) {
				v[member] = withoutSecrets(item, secrets, member)
			}
		}
	}
	return v
}

// identifies says whether a member of the object of that name is what an event or a facet is known by.
func identifies(object, member string) bool {
	switch member {
	case "producer", "schemaURL", "_producer", "_schemaURL", "eventType", "eventTime", "runId":
		return true
	case "namespace", "name":
		return object == "job"
	}
	return false
}

// longestFirst leaves out secrets that are too short to look for. Where one holds another the longer goes first, so
// that nothing of it is left.
func longestFirst(secrets []string) []string {
	long := slices.DeleteFunc(slices.Clone(secrets), func(secret string) bool { return len(secret) < 4 })
	slices.SortFunc(long, func(a, b string) int { return len(b) - len(a) })
	return long
}

// inJSON is a text as it stands in canonical JSON, without its quotes.
func inJSON(text string) []byte {
	quoted := appendCanonical(nil, text)
	return quoted[1 : len(quoted)-1]
}
