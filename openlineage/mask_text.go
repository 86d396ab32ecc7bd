package openlineage

import (
	"regexp"
	"strings"
)

const (
	// maskRounds bounds how often a text is masked until nothing changes any more: stars may join what stood apart.
	maskRounds = 4
	// maxURI bounds how far a URI and its password are looked for, in bytes, so that no text takes long.
	maxURI = 4096
	// maxKey bounds a name before a value likewise.
	maxKey = 64
)

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
	rest = rest[:min(len(rest), maxURI)]
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

// maskPairs stars the values of name and value pairs whose name is secret.
func maskPairs(text string) string {
	var out strings.Builder
	done := 0 // up to where the text is in out
	for from := 0; ; {
		at, end := separatorFrom(text, from)
		if at < 0 {
			out.WriteString(text[done:])
			return out.String()
		}
		from = end
		name, quoted := nameBefore(text[done:at])
		if !SecretKey(name) || text[at] == ':' && !quoted && !namesSecretPlainly(name) {
			continue
		}
		end += len(text[end:]) - len(strings.TrimLeft(text[end:], " \t"))
		open, value, after := pairValue(name, text[at:end], text[end:])
		if value == "" {
			continue
		}
		out.WriteString(text[done:end] + open + Masked)
		done = len(text) - len(after)
		from = done
	}
}

// separatorFrom finds what stands between a name and its value: =, :, =>, := or an escaped =.
func separatorFrom(text string, from int) (start, end int) {
	for i := from; i < len(text); i++ {
		switch {
		case text[i] == '%' && i+2 < len(text) && text[i+1] == '3' && text[i+2]|0x20 == 'd':
			return i, i + 3
		case text[i] != '=' && text[i] != ':':
		case i+1 < len(text) && (text[i:i+2] == "=>" || text[i:i+2] == ":="):
			return i, i + 2
		default:
			return i, i + 1
		}
	}
	return -1, -1
}

// nameBefore returns the name that a text ends with, and whether quotes stand around it.
func nameBefore(text string) (name string, quoted bool) {
	text = text[max(0, len(text)-maxKey-16):]
	text = strings.TrimSuffix(strings.TrimRight(text, " \t"), "]")
	bare := strings.TrimRight(text, `"'`)
	closed := len(bare) < len(text)
	bare = strings.TrimRight(bare, `\`)
	start := len(bare)
	for start > 0 && isNameByte(bare[start-1]) && len(bare)-start < maxKey {
		start--
	}
	name = bare[start:]
	if start > 0 && bare[start-1] == '%' && len(name) > 2 {
		name = name[2:] // the digits of an escaped separator before the name
	}
	return name, closed && start > 0 && (bare[start-1] == '"' || bare[start-1] == '\'')
}

func isNameByte(c byte) bool { return isLetterOrDigit(rune(c)) || c == '_' || c == '-' || c == '.' }

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

// authScheme is the first word of an Authorization value, behind which the secret stands.
var authScheme = regexp.MustCompile(`^(?i:bearer|basic|token|negotiate|digest|apikey|bot)[ \t]+`)

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

// shapes are secrets that are known by their look alone, each with a text that it always holds: JSON Web Tokens, keys
// of Prefect, GitHub, GitLab, Slack, Databricks and model providers, private keys.
var shapes = []struct {
	holds string
	look  *regexp.Regexp
}{
	{"PRIVATE KEY", regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
	{"eyJ", regexp.MustCompile(`\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?`)},
	{"pnu_", regexp.MustCompile(`\bpnu_[A-Za-z0-9]{16,}`)},
	{"pnb_", regexp.MustCompile(`\bpnb_[A-Za-z0-9]{16,}`)},
	{"gh", regexp.MustCompile(`\bgh[opusr]_[A-Za-z0-9_]{20,}`)},
	{"github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`)},
	{"glpat-", regexp.MustCompile(`\bglpat-[A-Za-z0-9_\-]{16,}`)},
	{"xox", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9\-]{10,}`)},
	{"dapi", regexp.MustCompile(`\bdapi[0-9a-f]{32}(?:-[0-9])?`)},
	{"sk-", regexp.MustCompile(`\bsk-[A-Za-z0-9_\-]{20,}`)},
}

var authorization = regexp.MustCompile(`\b((?i:bearer|basic))\s+[A-Za-z0-9\-._~+/]{16,}=*`)

func maskShapes(text string) string {
	for _, shape := range shapes {
		if strings.Contains(text, shape.holds) {
			text = shape.look.ReplaceAllLiteralString(text, Masked)
		}
	}
	for _, word := range []string{"earer", "asic", "EARER", "ASIC"} {
		if strings.Contains(text, word) {
			return authorization.ReplaceAllString(text, "${1} "+Masked)
		}
	}
	return text
}
