package openlineage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what consumers store, as a real Marquez was seen to have them. It answers a text that does not fit an index
// or a column of its database with an error for the whole event, however often it is sent, and a longer namespace by
// breaking its lists for everyone. Texts that compress well may be longer there; these hold for any.
const (
	MaxNamespaceChars = 1024
	// MaxDatasetBytes is how long a dataset's namespace and name may be together.
	MaxDatasetBytes = 2600
	// MaxJobNameBytes is how long a job's name may be. With its namespace it may be 1,300 bytes long.
	MaxJobNameBytes = 1000
	// MaxFieldNameChars is how long the name of a column may be, MaxFieldBytes how long its name and type together.
	MaxFieldNameChars = 255
	MaxFieldBytes     = 2600
	// MaxLocationChars is how long the address of a job's code may be.
	MaxLocationChars = 255
)

// CheckDataset returns a dataset's namespace and name as they may be sent, or why they may not.
//
// Both are trimmed. In the namespace each character outside a-z A-Z 0-9 : ; = / _ - . @ + becomes an underscore, as
// Marquez does with job namespaces: two namespaces that differ only in such characters fall together. In the name
// only invalid UTF-8 is replaced. Refused are: an empty namespace or name, a namespace without a single letter or
// digit or of more than 1,024 characters, more than 2,600 bytes in both, and control characters or line separators
// in either.
func CheckDataset(namespace, name string) (string, string, error) {
	namespace, name = strings.TrimSpace(namespace), strings.TrimSpace(name)
	switch {
	case namespace == "":
		return "", "", errors.New("the dataset's namespace is empty")
	case name == "":
		return "", "", errors.New("the dataset's name is empty")
	case strings.ContainsFunc(namespace, breaksLine):
		return "", "", errors.New("the dataset's namespace holds a control character")
	case strings.ContainsFunc(name, breaksLine):
		return "", "", errors.New("the dataset's name holds a control character")
	}
	namespace = strings.Map(namespaceChar, namespace)
	name = clean(name)
	switch {
	case !strings.ContainsFunc(namespace, isLetterOrDigit):
		return "", "", errors.New("the dataset's namespace has no letter or digit that may be sent")
	case len(namespace) > MaxNamespaceChars:
		return "", "", fmt.Errorf("the dataset's namespace is longer than %d characters", MaxNamespaceChars)
	case len(namespace)+len(name) > MaxDatasetBytes:
		return "", "", fmt.Errorf("the dataset's namespace and name are longer than %d bytes", MaxDatasetBytes)
	}
	return namespace, name, nil
}

// CheckNamespace says why a job namespace may not be used: it is empty, has control characters or line separators, or
// is longer than 1,024 characters.
func CheckNamespace(namespace string) error {
	switch {
	case strings.TrimSpace(namespace) == "":
		return errors.New("the namespace is empty")
	case strings.ContainsFunc(namespace, breaksLine):
		return errors.New("the namespace holds a control character")
	case utf8.RuneCountInString(namespace) > MaxNamespaceChars:
		return fmt.Errorf("the namespace is longer than %d characters", MaxNamespaceChars)
	}
	return nil
}

// CleanNamespace makes a job namespace that CheckNamespace takes out of one that it may not take: trimmed, each
// control character an underscore, and if too long cut, with a digest of the whole at its end so that two long ones
// stay two. Empty stays empty.
func CleanNamespace(namespace string) string {
	namespace = cleanLine(namespace)
	if utf8.RuneCountInString(namespace) <= MaxNamespaceChars {
		return namespace
	}
	suffix := digest(namespace)
	runes := []rune(namespace)
	return string(runes[:MaxNamespaceChars-len(suffix)]) + suffix
}

// CleanJobName makes a job name that consumers can store, by CleanNamespace's rules with the limit of 1,000 bytes. A
// job's name is never refused: its run must be told in any case. Empty stays empty.
func CleanJobName(name string) string {
	name = cleanLine(name)
	if len(name) <= MaxJobNameBytes {
		return name
	}
	suffix := digest(name)
	cut := MaxJobNameBytes - len(suffix)
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + suffix
}

func cleanLine(s string) string {
	return strings.Map(func(r rune) rune {
		if breaksLine(r) {
			return '_'
		}
		return r
	}, clean(strings.TrimSpace(s)))
}

// digest returns a short suffix that tells long texts apart.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "_" + hex.EncodeToString(sum[:6])
}

// breaksLine is true of control characters and of Unicode's line and paragraph separators: a name that is not one
// line breaks the lineage graph of Marquez.
func breaksLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func namespaceChar(r rune) rune {
	if isLetterOrDigit(r) || strings.ContainsRune(":;=/_-.@+", r) {
		return r
	}
	return '_'
}

func isLetterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
