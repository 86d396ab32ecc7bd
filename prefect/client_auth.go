package prefect

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
)

// redacted stands for a secret wherever one would be shown.
const redacted = "***"

// hide shows whether there is a secret, and nothing of it.
func hide(secret string) string {
	if secret == "" {
		return ""
	}
	return redacted
}

// userinfo is the user and password of a URL anywhere in a text. Passwords may hold an unescaped slash: rather too much
// is masked than too little.
var userinfo = regexp.MustCompile(`://[^\s"'<>]*@`)

// maskURLs replaces the user and password of every URL in a text.
func maskURLs(text string) string { return userinfo.ReplaceAllString(text, "://"+redacted+"@") }

// credentials holds what the client proves itself with, and masks it in texts. It may change while the client runs.
type credentials struct {
	current atomic.Pointer[credential]
	change  atomic.Pointer[chan struct{}]
}

type credential struct {
	headers       http.Header // custom ones: any of them may hold a token
	authorization string      // the header's value; empty: none
	setting       string      // the variable it came from
	token         string      // what a websocket is given instead of the header; empty: none
	mask          *strings.Replacer
}

func newCredentials(cfg Config, headers http.Header) *credentials {
	c := &credentials{}
	c.set(cfg.APIKey, cfg.AuthString, headers)
	return c
}

func (c *credentials) set(apiKey, authString string, headers http.Header) {
	// A secret that was read from a file often ends with a line break, which no header may hold.
	apiKey, authString = strings.TrimSpace(apiKey), strings.Trim(authString, "\r\n")
	next := &credential{headers: headers}
	encoded := base64.StdEncoding.EncodeToString([]byte(authString))
	switch {
	case headers.Get("Authorization") != "":
		next.authorization, next.setting = headers.Get("Authorization"), "PREFECT_CLIENT_CUSTOM_HEADERS"
	case authString != "":
		next.authorization, next.setting = "Basic "+encoded, "PREFECT_API_AUTH_STRING"
	case apiKey != "":
		next.authorization, next.setting = "Bearer "+apiKey, "PREFECT_API_KEY"
	}
	// The websocket takes the key or the auth string as it is. Where both are set, the one that counts above does here.
	if next.token = authString; next.token == "" {
		next.token = apiKey
	}
	_, password, _ := strings.Cut(authString, ":")
	secrets := []string{apiKey, authString, password, encoded}
	for _, values := range headers {
		secrets = append(secrets, values...)
	}
	var pairs []string
	for _, secret := range secrets {
		// Shorter ones would blot out ordinary words, and can't be kept secret anyway.
		if len(secret) >= 4 {
			pairs = append(pairs, secret, redacted)
		}
	}
	next.mask = strings.NewReplacer(pairs...)
	c.current.Store(next)
	changed := make(chan struct{})
	if before := c.change.Swap(&changed); before != nil {
		close(*before)
	}
}

// renewed is closed at the next change.
func (c *credentials) renewed() <-chan struct{} { return *c.change.Load() }

// apply sets the header that proves who is asking.
func (c *credentials) apply(header http.Header) {
	if value := c.current.Load().authorization; value != "" {
		header.Set("Authorization", value)
	}
}

// mask takes every secret out of a text.
func (c *credentials) mask(text string) string {
	return maskURLs(c.current.Load().mask.Replace(text))
}

// hint says what to check after a refusal with this status.
func (c *credentials) hint(status int, cloud bool) string {
	switch setting := c.current.Load().setting; {
	case status == http.StatusProxyAuthRequired:
		return "check the user and password of HTTP_PROXY or HTTPS_PROXY"
	case setting == "PREFECT_API_KEY" || (setting == "" && cloud):
		return "check PREFECT_API_KEY, and the account and workspace in PREFECT_API_URL"
	case setting == "":
		return "the server wants credentials: set PREFECT_API_AUTH_STRING, or PREFECT_API_KEY for Prefect Cloud"
	default:
		return "check " + setting
	}
}
