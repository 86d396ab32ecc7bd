// Package mask replaces configured secrets in texts: consumers and proxies echo what they were sent, and an answer that
// is kept for an operator must not hold a credential.
package mask

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prefect-openlineage/listener/transport"
)

// MinLength is the shortest secret, in bytes, that is looked for: a shorter one would tear up innocent words.
const MinLength = 4

// Masker knows secrets and takes them out of texts. The zero value knows none. It is safe for concurrent use.
type Masker struct {
	mu       sync.Mutex
	slots    map[string]generations
	replacer atomic.Pointer[strings.Replacer]
}

// generations are a slot's secrets and those before: a request that carries an old token may still be under way when
// the new one comes.
type generations struct{ now, before []string }

// Set makes the secrets of a slot known, in the forms in which they may come back: as they are, URL-escaped, inside
// JSON, base64. A slot is one setting; it forgets what it held two calls ago, so that tokens do not pile up.
func (m *Masker) Set(slot string, secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.slots[slot]
	if slices.Equal(held.now, secrets) {
		return
	}
	if m.slots == nil {
		m.slots = map[string]generations{}
	}
	m.slots[slot] = generations{now: slices.Clone(secrets), before: held.now}
	known := map[string]bool{}
	for _, g := range m.slots {
		for _, secret := range slices.Concat(g.now, g.before) {
			if len(secret) >= MinLength {
				known[secret] = true
			}
		}
	}
	m.replacer.Store(newReplacer(known))
}

// Text returns s with each known secret replaced.
func (m *Masker) Text(s string) string {
	if r := m.replacer.Load(); r != nil {
		return r.Replace(s)
	}
	return s
}

// Bytes is Text for bytes. It returns b itself when nothing is known.
func (m *Masker) Bytes(b []byte) []byte {
	if r := m.replacer.Load(); r != nil && len(b) > 0 {
		return []byte(r.Replace(string(b)))
	}
	return b
}

func newReplacer(secrets map[string]bool) *strings.Replacer {
	forms := map[string]bool{}
	for secret := range secrets {
		for _, form := range spellings(secret) {
			if len(form) >= MinLength {
				forms[form] = true
			}
		}
	}
	ordered := make([]string, 0, len(forms))
	for form := range forms {
		ordered = append(ordered, form)
	}
	// The longest first: where one secret begins with another, the rest of it must not stay behind.
	slices.SortFunc(ordered, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(ordered))
	for _, form := range ordered {
		pairs = append(pairs, form, transport.Masked)
	}
	return strings.NewReplacer(pairs...)
}

func spellings(secret string) []string {
	forms := []string{
		secret,
		url.QueryEscape(secret),
		url.PathEscape(secret),
		url.UserPassword("", secret).String()[1:],
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="),
		strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(secret)), "="),
	}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	return forms
}
