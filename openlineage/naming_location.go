package openlineage

import (
	"net/netip"
	"net/url"
	"strings"
)

// location is a URI taken apart leniently: people write what net/url refuses, such as unescaped passwords.
type location struct {
	jdbc      bool
	scheme    string // lower case, without jdbc: and driver: postgresql of postgresql+psycopg2
	authority string // as written, without user info
	host      string // of the first host, lower case, IPv6 without brackets
	port      string // of the first host; empty: not given
	server    bool   // there is a "//", and so an authority, if an empty one
	path      string // as written, with its first slash; the whole rest where there is no authority
	query     string // as written, without the question mark
	params    map[string]string
}

// parseLocation takes a URI apart; false: it has no scheme.
func parseLocation(uri string) (location, bool) {
	var at location
	if len(uri) > 5 && strings.EqualFold(uri[:5], "jdbc:") {
		at.jdbc, uri = true, uri[5:]
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !isScheme(scheme) {
		return location{}, false
	}
	at.scheme, _, _ = strings.Cut(strings.ToLower(scheme), "+")
	if variant, after, ok := strings.Cut(rest, "://"); ok && at.jdbc && isScheme(variant) {
		rest = "//" + after // jdbc:mysql:loadbalance://
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		rest = stripUserInfo(at.scheme, after)
		ends := "/?#"
		if at.jdbc {
			ends = "/?#;"
		}
		at.server, at.authority = true, until(rest, ends)
		rest = rest[len(at.authority):]
		at.host, at.port = splitHost(at.authority)
	}
	at.path, at.query, _ = strings.Cut(rest, "?")
	parameters := at.query
	if at.jdbc {
		var inPath string
		at.path, inPath, _ = strings.Cut(at.path, ";")
		parameters += ";" + inPath
		if at.server {
			at.path, inPath = cutPathParams(at.path)
			parameters += ";" + inPath
		}
		if strings.Contains(at.authority, "=") {
			parameters += ";" + at.authority // Athena: jdbc:awsathena://AwsRegion=...;...
		}
	}
	at.params = parseParams(parameters)
	return at, true
}

// cutPathParams splits the parameters from a JDBC path: DB2's /db:a=b and Teradata's /a=b,c=d.
func cutPathParams(path string) (place, params string) {
	last := strings.LastIndexByte(path, '/') + 1
	if database, more, ok := strings.Cut(path[last:], ":"); ok && strings.Contains(more, "=") {
		return path[:last] + database, more
	}
	if strings.Contains(path[last:], "=") {
		return path[:last], strings.ReplaceAll(path[last:], ",", ";")
	}
	return path, ""
}

func isScheme(s string) bool {
	for i, r := range s {
		if !isLetterOrDigit(r) && (i == 0 || !strings.ContainsRune("+-._", r)) {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// splitHost splits the first of the hosts in an authority from its port.
func splitHost(authority string) (host, port string) {
	first, _, _ := strings.Cut(authority, ",")
	if inner, ok := strings.CutPrefix(first, "["); ok {
		var after string
		host, after, _ = strings.Cut(inner, "]")
		port = strings.TrimPrefix(after, ":")
	} else if isIPv6(first) {
		host = first
	} else {
		host, port, _ = strings.Cut(first, ":")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), port
}

func isIPv6(s string) bool {
	ip, err := netip.ParseAddr(s)
	return err == nil && ip.Is6()
}

// parseParams reads a=b&c=d and a=b;c=d, names in lower case.
func parseParams(s string) map[string]string {
	params := map[string]string{}
	for _, pair := range strings.FieldsFunc(s, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if unescaped, err := url.QueryUnescape(value); err == nil {
			value = unescaped
		}
		if _, ok := params[name]; !ok {
			params[name] = strings.TrimSpace(value)
		}
	}
	return params
}

// param returns the first of the named parameters that has a value.
func (at location) param(names ...string) string {
	for _, name := range names {
		if v := at.params[name]; v != "" {
			return v
		}
	}
	return ""
}

// segments returns the parts of the path, unescaped, without empty ones.
func (at location) segments() []string {
	path, _, _ := strings.Cut(at.path, "#")
	var parts []string
	for part := range strings.SplitSeq(path, "/") {
		if part = strings.TrimSpace(unescape(part)); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// segment returns a part of the path, empty when there is none.
func (at location) segment(i int) string {
	if parts := at.segments(); i < len(parts) {
		return parts[i]
	}
	return ""
}

// hostPort writes host and port for a namespace. An IPv6 address stands without its brackets, which Marquez would not
// take; its port is what follows the last colon.
func (at location) hostPort(defaultPort string) string {
	port := at.port
	if port == "" {
		port = defaultPort
	}
	if port == "" {
		return at.host
	}
	return at.host + ":" + port
}

func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}
