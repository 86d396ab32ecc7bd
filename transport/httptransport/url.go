package httptransport

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// parseURL joins url and endpoint as a relative reference is resolved (RFC 3986, 5.2), which is what the Python client
// does: http://h/base loses its last part, http://h/base/ keeps it. No problem's text holds the value: it may be half a
// password.
func parseURL(s *settings.Section) (*url.URL, *url.Userinfo) {
	text := s.String("url")
	endpointText := s.String("endpoint")
	if endpointText == "" && !written(s, "endpoint") {
		endpointText = DefaultEndpoint
	}
	if text == "" {
		s.Refuse("url", "is missing", "set it to the consumer's address, such as http://marquez:5000")
		return nil, nil
	}
	base, err := url.Parse(text)
	if err != nil || !isHTTP(base) {
		s.Refuse("url", "is not an http or https address", "such as http://marquez:5000")
		return nil, nil
	}
	endpoint, err := url.Parse(endpointText)
	if err != nil {
		s.Refuse("endpoint", "is not a path", "such as "+DefaultEndpoint)
		return nil, nil
	}
	joined := base.ResolveReference(endpoint)
	if !isHTTP(joined) {
		s.Refuse("endpoint", "does not lead to an http or https address", "such as "+DefaultEndpoint)
		return nil, nil
	}
	user := joined.User
	if user != nil && user.String() == "" {
		user = nil
	}
	joined.User, joined.Fragment, joined.RawFragment = nil, "", ""
	joined.RawQuery = escapeQuery(joined.RawQuery)
	return joined, user
}

// written says whether a key is there, be it empty: an empty endpoint means the url as it is, as in the Python client.
func written(s *settings.Section, key string) bool { return s.Raw(key) != nil || s.Null(key) }

// escapeQuery escapes what may not stand in a query. net/url does so for paths only, and a server would take a space
// for the end of the address.
func escapeQuery(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// Display returns an address for people and as an identity: no user, no password, no query values; the host in lower
// case and the scheme's own port left out, so that two spellings of one address are one.
func Display(u *url.URL) string {
	if u == nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if port != "" && (u.Scheme != "http" || port != "80") && (u.Scheme != "https" || port != "443") {
		host = net.JoinHostPort(strings.Trim(host, "[]"), port)
	}
	shown := u.Scheme + "://" + host + u.EscapedPath()
	if u.RawQuery != "" {
		shown += "?" + transport.Masked
	}
	return shown
}

// querySecrets are the values of an address's query: any of them may be a key.
func querySecrets(u *url.URL) []string {
	var secrets []string
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	return secrets
}
