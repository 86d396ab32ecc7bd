package config

import (
	"regexp"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
)

// userinfo reaches to the last @, since a password may hold any other sign when it was not written as a URL wants it.
var (
	userinfo = regexp.MustCompile(`://[^\s"']*@`)
	query    = regexp.MustCompile(`(://[^\s"'?]*)\?[^\s"']*`)
	// A path may have a query as well: api/v1/lineage?token=...
	pathQuery = regexp.MustCompile(`\?[^\s"'=?]+=[^\s"']*`)
)

// maskURL hides the user, the password and the query of every URL in a text.
func maskURL(text string) string {
	if !strings.Contains(text, "://") {
		return pathQuery.ReplaceAllString(text, "?"+Redacted)
	}
	return query.ReplaceAllString(userinfo.ReplaceAllString(text, "://"+Redacted+"@"), "$1?"+Redacted)
}

var (
	// bareUser is user:password@ without the scheme before it, as in an address that is wrong for that very reason.
	bareUser = regexp.MustCompile(`[^\s"'/:@]+:[^\s"'/@]+@`)
	// pemText is a key or a certificate where its path belongs.
	pemText = regexp.MustCompile(`(?s)-----BEGIN.*`)
)

// shown is a value as it may be repeated to people: what looks like a secret in it is starred out, wherever the value
// stands, since a secret is easily put into the wrong place.
func shown(text string) string {
	text = pemText.ReplaceAllString(text, Redacted)
	return maskURL(openlineage.MaskText(bareUser.ReplaceAllString(text, Redacted+"@")))
}

// secretWords mark the keys of a transport whose values are secrets, compared without case, dots and dashes. Keys
// such as token_endpoint, tokenFields and credentials_path only say where or how a secret is got.
var secretWords = regexp.MustCompile(`(password|passwd|passphrase|secret|apikey|accesskey|privatekey|token|credentials?|authorization|keypem|jaasconfig|oauthbearerconfig)$`)

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// secretKey says whether the value of a key in openlineage.yml or a dynamic variable is a secret.
func secretKey(key string) bool {
	return secretWords.MatchString(separators.Replace(strings.ToLower(key)))
}

// secretText says whether a key whose value is no map holds a secret: auth takes a map, and who gives it a text gives
// the Authorization header or JSON that is broken.
func secretText(key string) bool {
	return secretKey(key) || strings.HasSuffix(strings.ToLower(key), "auth")
}

// brokenJSON says whether a text looks like JSON with keys. Some of these may be a secret's.
func brokenJSON(text string) bool {
	return strings.Contains(text, "{") || strings.HasPrefix(text, "[")
}

// trimSecrets takes the line end off the secrets of a transport, which editors and blocks in YAML put there.
func trimSecrets(transport *node) {
	transport.walk("", func(path string, leaf *node) {
		if text, ok := leaf.value.(string); ok && secretKey(path) {
			leaf.value = strings.TrimRight(text, "\r\n")
		}
	})
}

// secretMap says whether all values of a map are taken as secrets: headers carry tokens under any name.
func secretMap(key string) bool {
	return separators.Replace(strings.ToLower(key)) == "customheaders"
}
