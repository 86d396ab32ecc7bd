package openlineage

import (
	"regexp"
	"strings"
)

// maskRounds bounds how often a text is masked until nothing changes any more: stars may join what stood apart.
const maskRounds = 4

// MaskText stars out what looks like a secret in free text such as an error message: user info in URIs, values behind
// names that SecretKey knows (password=x, "token": "x", Pwd=x;), Authorization values, private keys, and tokens of
// well-known shapes. Masking a masked text changes nothing.
func MaskText(text string) string {
	for range maskRounds {
		masked := maskShapes(maskPairs(maskURIs(text)))
		if masked == text {
			break
		}
		text = masked
	}
	return text
}

// maskURIs stars the user info of each URI in a text.
func maskURIs(text string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		start := i
		for start > 0 && (isLetterOrDigit(rune(text[start-1])) || strings.IndexByte("+-.", text[start-1]) >= 0) {
			start--
		}
		scheme, rest := text[start:i], text[i+3:]
		out.WriteString(text[:i+3])
		n := 0
		if scheme != "" {
			n = textUserInfo(schemeName(scheme), rest)
		}
		switch {
		case n > 0 && rest[n-1] == '@':
			out.WriteString(Masked + "@")
		case n > 0:
			out.WriteString(Masked)
		}
		text = rest[n:]
	}
}

// textUserInfo is userInfo for a URI of which only the beginning is known, not where the text goes on.
func textUserInfo(scheme, rest string) int {
	word := until(rest, " \t\r\n\v\f")
	uri := until(word, "\"'`<>")
	if n := userInfo(scheme, uri); n > 0 {
		return n
	}
	if uri != until(uri, "/?#") || !isUserPassword(uri) {
		return 0
	}
	// user:password without an @: a quote in the password, or a text that was cut off inside it.
	if at := strings.LastIndexByte(word, '@'); at >= 0 {
		return at + 1
	}
	if len(uri) == len(rest) {
		return len(uri)
	}
	return 0
}

var (
	// pairKey is a name and what stands between it and its value. The escapes before a name are those of a whole
	// connection string inside a parameter.
	pairKey = regexp.MustCompile(
		`(?:%[0-9A-Fa-f]{2})*(\\?["'])?([A-Za-z_][A-Za-z0-9_.\-]*)(\\?["'])?\]?(\s*(?:=>|:=|=|:|%3[dD])\s*)`)
	// authScheme is the first word of an Authorization value, behind which the secret stands.
	authScheme = regexp.MustCompile(`^(?i:bearer|basic|token|negotiate|digest|apikey|bot)[ \t]+`)
)

// maskPairs stars the values of name and value pairs whose name is secret.
func maskPairs(text string) string {
	var out strings.Builder
	for {
		m := pairKey.FindStringSubmatchIndex(text)
		if m == nil {
			out.WriteString(text)
			return out.String()
		}
		name, separator, rest := text[m[4]:m[5]], text[m[8]:m[9]], text[m[1]:]
		quoted := m[2] >= 0 && m[6] >= 0
		out.WriteString(text[:m[1]])
		text = rest
		if !SecretKey(name) || strings.Contains(separator, ":") && !quoted && !namesSecretPlainly(name) {
			continue
		}
		open, value, after := pairValue(name, separator, rest)
		if value == "" {
			continue
		}
		out.WriteString(open + Masked)
		text = after
	}
}

// namesSecretPlainly is true of names that mean a secret even in prose: "password: x" does, "unexpected token: }"
// does not.
func namesSecretPlainly(name string) bool {
	name = strings.ToLower(name)
	for _, plain := range []string{"password", "passwd", "pwd", "secret", "api", "key", "authorization", "cookie"} {
		if strings.Contains(name, plain) {
			return true
		}
	}
	return false
}

// pairValue splits the text behind a name: an opening quote, the value, and what follows it.
func pairValue(name, separator, text string) (open, value, after string) {
	for _, quote := range []string{`\"`, `\'`, `"`, `'`} {
		if inner, ok := strings.CutPrefix(text, quote); ok {
			end := closingQuote(inner, quote)
			return quote, inner[:end], inner[end:]
		}
	}
	if separator[0] == '%' {
		end := len(until(text, "& \t\r\n\"'"))
		if i := indexFold(text[:end], "%3b"); i >= 0 {
			end = i
		}
		return "", text[:end], text[end:]
	}
	if strings.Contains(strings.ToLower(name), "cookie") {
		end := len(until(text, "\r\n\"'"))
		return "", text[:end], text[end:]
	}
	if strings.HasPrefix(text, "{") { // ODBC: PWD={a;b}
		if i := strings.IndexByte(text, '}'); i >= 0 && !strings.ContainsAny(text[:i], " \t\r\n") {
			return "", text[:i+1], text[i+1:]
		}
	}
	skip := len(authScheme.FindString(text))
	end := skip + len(until(text[skip:], " \t\r\n\v\f&;\"'`<>"))
	value = strings.TrimRight(text[:end], ",.)]}")
	return "", value, text[len(value):]
}

// indexFold is strings.Index that takes no notice of ASCII case. Lowering the text first may change its length.
func indexFold(s, sub string) int {
	for i := 0; i+len(sub) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(sub)], sub) {
			return i
		}
	}
	return -1
}

// closingQuote returns where the quote that closes a value stands, or the end of the text.
func closingQuote(text, quote string) int {
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], quote) {
			return i
		}
		if text[i] == '\\' && len(quote) == 1 {
			i++
		}
	}
	return len(text)
}

// shapes are secrets that are known by their look alone: JSON Web Tokens, keys of Prefect, GitHub, GitLab, Slack,
// Databricks and model providers, private keys, Authorization values.
var shapes = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?`),
	regexp.MustCompile(`\bpn[ub]_[A-Za-z0-9]{16,}`),
	regexp.MustCompile(`\b(?:gh[opusr]_|github_pat_)[A-Za-z0-9_]{20,}`),
	regexp.MustCompile(`\bglpat-[A-Za-z0-9_\-]{16,}`),
	regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9\-]{10,}`),
	regexp.MustCompile(`\bdapi[0-9a-f]{32}(?:-[0-9])?`),
	regexp.MustCompile(`\bsk-[A-Za-z0-9_\-]{20,}`),
}

var authorization = regexp.MustCompile(`\b((?i:bearer|basic))\s+[A-Za-z0-9\-._~+/]{16,}=*`)

func maskShapes(text string) string {
	for _, shape := range shapes {
		text = shape.ReplaceAllLiteralString(text, Masked)
	}
	return authorization.ReplaceAllString(text, "${1} "+Masked)
}
