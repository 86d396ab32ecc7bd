package librdkafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
)

// mechanism returns how a connection logs in. Files are read for each connection.
func (s SASL) mechanism(b Build) (sasl.Mechanism, error) {
	switch s.Mechanism {
	case Plain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := s.Password.read(b.Seen)
			return plain.Auth{User: s.Username, Pass: password}, err
		}), nil
	case ScramSHA256:
		return scram.Sha256(s.scram(b)), nil
	case ScramSHA512:
		return scram.Sha512(s.scram(b)), nil
	case OAuthBearer:
		if s.OAuth == nil {
			if b.Tokens == nil {
				return nil, errors.New("nobody brings tokens to log in with")
			}
			return oauth.Oauth(b.Tokens), nil
		}
		return s.OAuth.mechanism(b)
	default:
		return nil, fmt.Errorf("%s can't be done here", s.Mechanism)
	}
}

func (s SASL) scram(b Build) func(context.Context) (scram.Auth, error) {
	return func(context.Context) (scram.Auth, error) {
		password, err := s.Password.read(b.Seen)
		return scram.Auth{User: s.Username, Pass: password}, err
	}
}

// mechanism makes a login of tokens, which come from an endpoint or are made here.
func (o OAuth) mechanism(b Build) (sasl.Mechanism, error) {
	if o.Unsecured != nil {
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			return oauth.Auth{Token: o.Unsecured.token(b.Now()), Extensions: o.Extensions}, nil
		}), nil
	}
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, errors.New("the token endpoint is no address")
	}
	tokens, err := httptransport.NewTokens(httptransport.Auth{
		Kind: httptransport.AuthOAuth2,
		Key:  httptransport.Secret{Value: o.ClientSecret.Value, File: o.ClientSecret.File},
		Token: httptransport.Token{
			Endpoint: endpoint, ClientID: o.ClientID, Scope: o.Scope, Basic: true,
			Fields: []string{"access_token"}, ExpiresInField: "expires_in", Buffer: time.Minute,
		},
	}, httptransport.TLS{CA: o.CA}, httptransport.Options{UserAgent: b.UserAgent, Now: b.Now})
	if err != nil {
		return nil, err
	}
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := tokens.Token(ctx)
		b.Seen(token)
		return oauth.Auth{Token: token, Extensions: o.Extensions}, err
	}), nil
}

// token is a JWT with nothing behind its last dot.
func (u Unsecured) token(now time.Time) string {
	claims := map[string]any{
		u.PrincipalClaim: u.Principal, "iat": float64(now.UnixMilli()) / 1000, "exp": now.Add(u.Life).Unix(),
	}
	if len(u.Scope) > 0 {
		claims[u.ScopeClaim] = u.Scope
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "" // texts and numbers always can be written
	}
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part(body) + "."
}

// maxSecret is more than any credential has, in bytes.
const maxSecret = 64 << 10

// read returns the secret and tells seen of it. Its error holds the destination: no event is to blame.
func (s Secret) read(seen func(string)) (string, error) {
	if s.File == "" {
		return s.Value, nil
	}
	value, err := readFile(s.File)
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty", s.File)
	}
	if err != nil {
		return "", &transport.Error{
			Outcome: transport.Hold, Reason: transport.ReasonAuth, Err: fmt.Errorf("reading the credentials: %w", err),
		}
	}
	seen(value)
	return value, nil
}

// readFile reads a regular file's text: a device has no end, and a pipe may have no writer.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxSecret {
		return "", fmt.Errorf("%s is over %d bytes, which is no secret", path, maxSecret)
	}
	return strings.TrimRight(string(raw), "\r\n"), nil
}
