package httptransport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// maxQuoted is how many runes of an answer stand in an error's text; the error's Answer holds more.
const maxQuoted = 200

// quote returns an answer's beginning on one line, after a colon; "" when there is nothing to say.
func quote(body []byte) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range string(body) {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar {
			space = b.Len() > 0
			continue
		}
		if n++; n > maxQuoted {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return ""
	}
	return ": " + b.String()
}

// failure is an error whose text is safe to show and whose cause can still be asked for.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// describe classes an error that came instead of an answer. Its text names what was tried without the address that
// net/http would put there: a redirect's may hold secrets. Once the caller has given up, that is the cause.
func describe(ctx context.Context, what string, err error, m *mask.Masker) *transport.Error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if ctx.Err() != nil {
		err = ctx.Err()
		if cause := context.Cause(ctx); !errors.Is(cause, err) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	known := *transport.ClassifyError(err)
	known.Err = &failure{text: what + ": " + m.Text(err.Error()), cause: err}
	return &known
}

// newMasker returns a masker that knows the secrets of a configuration.
func newMasker(c Config) *mask.Masker {
	m := &mask.Masker{}
	m.Set("key", c.Auth.Key.Value)
	if c.User != nil {
		password, _ := c.User.Password()
		secrets := []string{password}
		if password == "" {
			secrets = []string{c.User.Username()} // a token in the user's place
		}
		m.Set("user", secrets...)
		m.Set("basic", c.User.Username()+":"+password)
	}
	m.Set("query", querySecrets(c.URL)...)
	for name, value := range c.Headers {
		if secretHeader(name, value) {
			secrets := []string{value}
			if _, credential, ok := strings.Cut(value, " "); ok {
				secrets = append(secrets, credential) // behind Bearer, Basic and the like
			}
			m.Set("header "+name, secrets...)
		}
	}
	return m
}

// secretHeader guesses whether a custom header's value may not be shown: by its name, else by its length. Short values
// of other headers (a tenant, a tag) stay, or masking them would tear up words of an answer.
func secretHeader(name, value string) bool {
	for _, word := range []string{"auth", "key", "token", "secret", "cookie", "pass", "cred", "sign", "session"} {
		if strings.Contains(strings.ToLower(name), word) {
			return true
		}
	}
	return len(value) >= 20 && http.CanonicalHeaderKey(name) != "User-Agent" && !strings.ContainsAny(value, " /")
}
