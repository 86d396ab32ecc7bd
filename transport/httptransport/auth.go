package httptransport

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// AuthKind says where the value of the Authorization header comes from.
type AuthKind string

// The kinds of authentication. No auth.type means none, even where a key is set.
const (
	AuthNone   AuthKind = ""
	AuthAPIKey AuthKind = "api_key"
	AuthJWT    AuthKind = "jwt"
	AuthOAuth2 AuthKind = "oauth2"
)

// Auth is how events are authorised.
type Auth struct {
	Kind AuthKind
	// Key is the secret itself: an API key, or the client secret of OAuth 2.
	Key Secret
	// Token is for the kinds that trade the key for a token.
	Token Token
}

// Secret is a value, or a file that holds it and is read again for each use, so that a rotated key needs no restart.
type Secret struct {
	Value string
	File  string
}

// Read returns the secret without surrounding white space, which no header could carry and every editor adds.
func (s Secret) Read() (string, error) {
	if s.File == "" {
		return strings.TrimSpace(s.Value), nil
	}
	// A wrong path must neither fill the memory nor wait for somebody to write: a device has no end, a pipe may have no
	// writer.
	if info, err := os.Stat(s.File); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", s.File)
	}
	file, err := os.Open(s.File)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxSecret {
		return "", fmt.Errorf("%s is over %d bytes, which is no secret", s.File, maxSecret)
	}
	return strings.TrimSpace(string(raw)), nil
}

// maxSecret is more than any credential has, in bytes.
const maxSecret = 64 << 10

// Token is how a token endpoint is asked.
type Token struct {
	Endpoint *url.URL // with user and password where the settings hold them
	// ClientID and Scope are for OAuth 2; Basic sends id and secret in the Authorization header instead of the form.
	ClientID, Scope string
	Basic           bool
	// GrantType and ResponseType are for the JWT kind.
	GrantType, ResponseType string
	// Fields are the names under which the answer may hold the token, the first that is there wins.
	Fields         []string
	ExpiresInField string
	// Buffer is how long before its end a token is replaced.
	Buffer time.Duration
}

const defaultBuffer = 120 * time.Second

// parseAuth reads how events are authorised. Without an endpoint there is nothing to make of a kind that needs one.
func parseAuth(s *settings.Section) Auth {
	a := parseKind(s)
	if (a.Kind == AuthJWT || a.Kind == AuthOAuth2) && a.Token.Endpoint == nil {
		return Auth{}
	}
	return a
}

func parseKind(s *settings.Section) Auth {
	if s.Empty() {
		return Auth{}
	}
	kind := s.String("type")
	switch AuthKind(kind) {
	case AuthNone:
		s.Warn("type", "is missing, so events go without authorization; api_key, jwt and oauth2 are known")
		return Auth{}
	case AuthAPIKey:
		a := Auth{Kind: AuthAPIKey, Key: ParseSecret(s, "apiKey", Secret{})}
		s.Finish()
		return a
	case AuthJWT:
		a := Auth{Kind: AuthJWT, Key: ParseSecret(s, "apiKey", Secret{}), Token: parseToken(s, "token", "access_token")}
		a.Token.GrantType = orDefault(s.String("grantType"), "urn:ietf:params:oauth:grant-type:jwt-bearer")
		a.Token.ResponseType = orDefault(s.String("responseType"), "token")
		s.Finish()
		return a
	case AuthOAuth2:
		a := Auth{Kind: AuthOAuth2, Key: ParseSecret(s, "clientSecret", Secret{}), Token: parseToken(s, "access_token")}
		if a.Token.ClientID = s.String("clientId"); a.Token.ClientID == "" {
			s.Refuse("clientId", "is missing", "")
		}
		a.Token.Scope = s.String("scope")
		switch s.String("clientAuthMethod") {
		case "", "client_secret_basic":
			a.Token.Basic = true
		case "client_secret_post":
		default:
			s.Refuse("clientAuthMethod", "is not known", "client_secret_basic and client_secret_post are")
		}
		s.Finish()
		return a
	default:
		hint := "api_key, jwt and oauth2 are known"
		if strings.Contains(kind, ".") {
			hint = "a Python class cannot be loaded here; " + hint + ", and custom_headers take any header"
		}
		s.Refuse("type", "is not known", hint)
		return Auth{}
	}
}

// ParseSecret reads a secret, or the path of a file with it under the same name with a File at its end. Where neither is
// set, unset counts.
func ParseSecret(s *settings.Section, name string, unset Secret) Secret {
	secret := Secret{Value: s.String(name), File: s.String(name + "File")}
	if secret == (Secret{}) {
		secret = unset
	}
	switch {
	case secret.Value == "" && secret.File == "":
		s.Refuse(name, "is missing", "set it, or the path of a file that holds it as "+name+"File")
	case secret.Value != "" && secret.File != "":
		s.Refuse(name, "stands beside "+name+"File", "set one of the two")
	case !validHeaderValue(secret.Value):
		s.Refuse(name, "holds line breaks or control characters", "")
	}
	return secret
}

func parseToken(s *settings.Section, fields ...string) Token {
	t := Token{Fields: fields, ExpiresInField: orDefault(s.String("expiresInField"), "expires_in")}
	if text := s.String("tokenEndpoint"); text == "" {
		s.Refuse("tokenEndpoint", "is missing", "")
	} else if u, err := url.Parse(text); err != nil || !isHTTP(u) {
		s.Refuse("tokenEndpoint", "is not an http or https address", "")
	} else {
		t.Endpoint = u
	}
	switch names := s.Value("tokenFields").(type) {
	case nil:
	case string:
		t.Fields = []string{names}
	case []any:
		t.Fields = nil
		for _, name := range names {
			if text, ok := name.(string); ok && text != "" {
				t.Fields = append(t.Fields, text)
			}
		}
		if len(t.Fields) == 0 {
			s.Refuse("tokenFields", "must name at least one field", "")
		}
	default:
		s.Refuse("tokenFields", "must be a text or a list of texts", "")
	}
	if t.Buffer = seconds(s, defaultBuffer, "tokenRefreshBuffer"); t.Buffer == 0 {
		t.Buffer = defaultBuffer
	}
	return t
}

func orDefault(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
