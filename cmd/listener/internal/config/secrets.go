package config

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// leastSecret is the length in bytes from which a secret is looked for in what is logged and stored. Shorter ones stand
// in texts by chance.
const leastSecret = 8

// Known are the credentials that a process has had in use, the replaced ones included. It is safe for use by several
// goroutines.
type Known struct {
	mu  sync.RWMutex
	all []string
}

// NewKnown knows the credentials of these settings.
func NewKnown(c Config) *Known { return &Known{all: c.Secrets()} }

// Add adds the credentials of settings that were read anew.
func (k *Known) Add(c Config) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.Concat(k.all, c.Secrets())
	slices.Sort(all)
	k.all = slices.Compact(all)
}

// All returns them. The caller must not change the slice.
func (k *Known) All() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.all
}

// Secrets returns every credential in use, so that it can be masked wherever it turns up. Of a user:password the password
// is one of its own. Secrets of fewer than eight bytes are left out.
func (c Config) Secrets() []string {
	var all []string
	add := func(secret string) {
		if len(secret) >= leastSecret {
			all = append(all, secret)
		}
	}
	for _, credential := range []Credential{c.Prefect.APIKey, c.Prefect.AuthString, c.HTTP.Auth} {
		secret, _ := credential.Value() // beside an error it is the last good one
		add(secret.Reveal())
		if _, password, ok := strings.Cut(secret.Reveal(), ":"); ok {
			add(password)
			add(base64.StdEncoding.EncodeToString([]byte(secret.Reveal()))) // as a header has it
		}
	}
	heartbeat, _ := c.Heartbeat.Value()
	addAddress(heartbeat.Reveal(), add)
	if proxy, err := url.Parse(c.Prefect.SocketProxy.Reveal()); err == nil && proxy.User != nil {
		password, _ := proxy.User.Password()
		add(password)
	}
	headers, _ := c.Prefect.Headers.Value()
	for _, value := range headers {
		addHeader(value, add)
	}
	c.OpenLineage.eachSecret(add)
	slices.Sort(all)
	return slices.Compact(all)
}

// addAddress adds an address that is a secret, and the part of it behind the host.
func addAddress(text string, add func(string)) {
	add(text)
	if u, err := url.Parse(text); err == nil {
		add(strings.TrimPrefix(u.RequestURI(), "/"))
	}
}

// addHeader adds a header's value, and what stands behind its scheme: Bearer KEY.
func addHeader(value string, add func(string)) {
	add(value)
	if scheme, rest, ok := strings.Cut(value, " "); ok && !strings.Contains(scheme, "/") {
		add(strings.TrimSpace(rest))
	}
}

// eachSecret calls back for each secret among the transport's settings.
func (o OpenLineage) eachSecret(add func(string)) {
	for _, credential := range o.secrets {
		secret, _ := credential.Value()
		add(secret.Reveal())
	}
	walkSettings(o.Transport, "", false, add)
}

func walkSettings(v any, key string, inSecret bool, add func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			walkSettings(item, name, inSecret || secretMap(key) || secretKey(name), add)
		}
	case []any:
		for _, item := range v {
			walkSettings(item, key, inSecret, add)
		}
	case string:
		if inSecret || secretText(key) {
			addHeader(v, add)
			return
		}
		if u, err := url.Parse(v); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok {
				add(password)
				add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password)))
			}
		}
	}
}
