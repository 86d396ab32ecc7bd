package openlineage

import (
	"encoding/json"
	"net/url"
	"strings"
)

// Masked stands in texts where a secret stood.
const Masked = "***"

// MaskURI returns a URI without its secrets. User info and secret parameters are left out rather than starred, so that
// the same place reached with other credentials is the same URI. A container before the @ of an Azure address is no
// user and stays. What is no URI, such as an ODBC connection string, is masked as text.
func MaskURI(uri string) string {
	prefix, rest, ok := cutScheme(uri)
	if !ok {
		return MaskText(maskOracle(uri))
	}
	rest = stripUserInfo(schemeName(prefix), rest)
	place, params := rest, ""
	if i := strings.IndexAny(rest, "?#;"); i >= 0 {
		place, params = rest[:i], rest[i:]
	}
	return prefix + place + dropSecretParams(params)
}

// cutScheme splits a URI behind its "://". The prefix holds all up to there, jdbc: included.
func cutScheme(uri string) (prefix, rest string, ok bool) {
	i := strings.Index(uri, "://")
	if i <= 0 {
		return "", uri, false
	}
	for _, r := range uri[:i] {
		if !isLetterOrDigit(r) && !strings.ContainsRune("+-.:", r) {
			return "", uri, false
		}
	}
	return uri[:i+3], uri[i+3:], true
}

// schemeName returns the bare scheme of a prefix: postgresql of jdbc:postgresql:// and of postgresql+psycopg2://.
func schemeName(prefix string) string {
	name := strings.ToLower(strings.TrimSuffix(prefix, "://"))
	name = strings.TrimPrefix(name, "jdbc:")
	name, _, _ = strings.Cut(name, "+")
	return name
}

// stripUserInfo takes the user info off what follows "://". What a first look leaves may look like user info again.
func stripUserInfo(scheme, rest string) string {
	for {
		n := userInfo(scheme, rest)
		if n == 0 {
			return rest
		}
		rest = rest[n:]
	}
}

// userInfo returns the length of the user info at the beginning of what follows "://", the @ included; 0: none.
//
// People paste passwords unescaped. Where the scheme is a database's, an @ in the path is far likelier to end a
// password with a slash in it than to be part of a database's name; SQLAlchemy reads it so too. Elsewhere an @ behind
// the first slash counts only when what stands before the slash can't be a host and its port.
func userInfo(scheme, rest string) int {
	authority := until(rest, "/?#")
	at := strings.LastIndexByte(rest, '@')
	if authority == "" || at < 0 {
		return 0
	}
	if isDatabaseScheme(scheme) {
		path := until(rest, "?#")
		if at < len(path) || !strings.Contains(rest[len(path):at], "=") {
			return at + 1
		}
		if in := strings.LastIndexByte(path, '@'); in >= 0 {
			return in + 1
		}
	}
	if in := strings.LastIndexByte(authority, '@'); in >= 0 {
		if isContainerScheme(scheme) && !strings.Contains(authority[:in], ":") {
			return 0
		}
		if in+1 < len(authority) {
			return in + 1
		}
		return at + 1 // no host follows: the password goes on
	}
	if isUserPassword(authority) {
		return at + 1
	}
	return 0
}

// until returns the text up to the first of the given characters.
func until(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i]
	}
	return s
}

// isUserPassword is true of an authority that can't be a host and its port: user:password whose password has a
// character that ended the authority early.
func isUserPassword(authority string) bool {
	i := strings.IndexByte(authority, ':')
	if i < 0 || strings.HasPrefix(authority, "[") || strings.Count(authority, ":") > 1 && isIPv6(authority) {
		return false
	}
	port := authority[i+1:]
	return strings.Trim(port, "0123456789") != ""
}

// isDatabaseScheme is true where a URI addresses a database server and user:password@ is customary.
func isDatabaseScheme(scheme string) bool {
	if _, ok := engineOf(scheme); ok {
		return true
	}
	switch scheme {
	case "snowflake", "databricks", "awsathena", "athena", "clickhouse", "clickhousedb", "cockroachdb", "mongodb",
		"redis", "rediss", "presto", "impala", "vertica", "exa", "hana", "firebird", "sybase", "netezza", "nzpy",
		"amqp", "amqps", "dremio", "druid", "pinot", "singlestoredb", "neo4j", "bolt", "elasticsearch", "opensearch":
		return true
	}
	return false
}

// isContainerScheme is true of Azure's storage addresses, which write a container before the @.
func isContainerScheme(scheme string) bool {
	switch scheme {
	case "abfs", "abfss", "wasb", "wasbs", "adl":
		return true
	}
	return false
}

// maskOracle takes user and password out of Oracle's thin and OCI forms: jdbc:oracle:thin:scott/tiger@host:1521:sid.
func maskOracle(uri string) string {
	for _, driver := range []string{"oracle:thin:", "oracle:oci:", "oracle:oci8:"} {
		i := indexFold(uri, driver)
		if i < 0 {
			continue
		}
		start := i + len(driver)
		if at := strings.LastIndexByte(uri, '@'); at >= start {
			return uri[:start] + uri[at:]
		}
	}
	return uri
}

// dropSecretParams removes the secret ones among ?a=b&c=d, ;a=b;c=d and #a=b.
func dropSecretParams(params string) string {
	var kept strings.Builder
	separator := ""
	for params != "" {
		start, rest := params[:1], params[1:]
		last, ends := "&", "&#"
		if start == ";" {
			last, ends = ";", ";?#"
		}
		param := until(rest, ends)
		if isSecretParam(param) {
			// An unescaped secret may hold any character but the one that separates parameters.
			params = rest[len(until(rest, last)):]
			if start != "&" {
				separator = start
			}
			continue
		}
		params = rest[len(param):]
		if start == "&" && separator != "" {
			start = separator // the parameters before it are gone, so it comes first now
		}
		separator = ""
		kept.WriteString(start + param)
	}
	return kept.String()
}

func isSecretParam(param string) bool {
	name, value, _ := strings.Cut(param, "=")
	if unescaped, err := url.QueryUnescape(name); err == nil {
		name = unescaped
	}
	if SecretKey(name) {
		return true
	}
	// A whole connection string may stand in one value, escaped: odbc_connect=DRIVER%3D...%3BPWD%3D...
	unescaped, err := url.QueryUnescape(value)
	if err != nil {
		unescaped = value
	}
	return MaskText(unescaped) != unescaped
}

// MaskParameter returns a run's parameter as text, masked: stars for a value under a secret name, whatever it is, and
// for those under secret names inside it; other texts by MaskText. A JSON string stands without its quotes, anything
// else as canonical JSON; what is no JSON is taken as plain text.
func MaskParameter(name string, value []byte) string {
	if SecretKey(name) {
		return Masked
	}
	v, err := decode(value)
	if err != nil {
		return MaskText(clean(string(value)))
	}
	v = maskTree(v, SecretKey)
	if s, ok := v.(string); ok {
		return s
	}
	return string(appendCanonical(nil, v))
}

// MaskJSON masks the texts inside a JSON value, by MaskText, and returns it as canonical JSON. Names are not judged: a
// column may well be called password.
func MaskJSON(raw []byte) (json.RawMessage, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return appendCanonical(nil, maskTree(v, func(string) bool { return false })), nil
}

func maskTree(v any, secret func(name string) bool) any {
	switch v := v.(type) {
	case string:
		return MaskText(clean(v))
	case []any:
		for i, item := range v {
			v[i] = maskTree(item, secret)
		}
	case map[string]any:
		for name, item := range v {
			if secret(name) && item != nil {
				v[name] = Masked
				continue
			}
			v[name] = maskTree(item, secret)
		}
	}
	return v
}
