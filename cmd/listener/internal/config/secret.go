package config

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/prefect-openlineage/listener/transport"
)

// Redacted stands for a secret wherever one would be printed.
const Redacted = transport.Masked

// Secret is a text that never prints. Only Reveal gives it out.
type Secret struct {
	// A function, since fmt and other printers reach the fields of a struct even where they may not call its methods.
	reveal func() string
}

// NewSecret returns a secret that holds text. The empty text makes the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// Reveal returns the text itself.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero says whether there is no secret.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Equal says whether both hold the same text.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// String returns Redacted, or nothing for the zero Secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return Redacted
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// Format prints String, whatever the verb.
func (s Secret) Format(state fmt.State, _ rune) {
	// A printer's error shows at its own Flush or Close; fmt gives no way to hand it on.
	_, _ = io.WriteString(state, s.String())
}

// MarshalText returns String. Maps with secrets as keys and encoders of text formats use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON returns String as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML returns String.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
