package httptransport

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// authorizer answers the value of the Authorization header; "" sends none.
type authorizer interface {
	// Authorization returns the value. Its error is an *transport.Error and holds no secret.
	Authorization(ctx context.Context) (string, error)
	// Refused says that a value was answered with 401, and returns whether the next one may be better.
	Refused(value string) bool
	close()
}

// noAuth sends no Authorization header.
type noAuth struct{}

func (noAuth) Authorization(context.Context) (string, error) { return "", nil }
func (noAuth) Refused(string) bool                           { return false }
func (noAuth) close()                                        {}

// keyAuth sends a key as it is.
type keyAuth struct {
	key  Secret
	mask *mask.Masker
}

func (a keyAuth) Authorization(context.Context) (string, error) {
	key, err := readSecret(a.key, a.mask)
	if err != nil {
		return "", err
	}
	return "Bearer " + key, nil
}

// Refused reports whether the file holds another key by now.
func (a keyAuth) Refused(value string) bool {
	if a.key.File == "" {
		return false
	}
	key, err := a.key.Read()
	return err == nil && "Bearer "+key != value
}

func (keyAuth) close() {}

// readSecret reads a secret and has it masked from then on.
func readSecret(s Secret, m *mask.Masker) (string, error) {
	value, err := s.Read()
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty", s.File)
	}
	if err == nil && !validHeaderValue(value) {
		err = fmt.Errorf("%s holds more than one line", s.File)
	}
	if err != nil {
		return "", holdAuth(fmt.Errorf("reading the credentials: %w", err))
	}
	m.Set("key", value)
	return value, nil
}

// holdAuth is what becomes of an event whose credentials are not to be had.
func holdAuth(err error) *transport.Error {
	return &transport.Error{Outcome: transport.Hold, Reason: transport.ReasonAuth, Err: err}
}

// newAuthorizer returns what the settings ask for.
func newAuthorizer(c Config, m *mask.Masker, o Options) (authorizer, error) {
	if o.Token != nil {
		client, err := newTokenClient(c, m, o)
		if err != nil {
			return nil, err
		}
		ask := func(ctx context.Context) (string, time.Duration, error) { return o.Token(ctx, client) }
		return newTokenAuth(ask, defaultBuffer, client, m, o.Now), nil
	}
	switch c.Auth.Kind {
	case AuthNone:
		return noAuth{}, nil
	case AuthAPIKey:
		return keyAuth{key: c.Auth.Key, mask: m}, nil
	case AuthJWT, AuthOAuth2:
		client, err := newTokenClient(c, m, o)
		if err != nil {
			return nil, err
		}
		return newTokenAuth(newTokenEndpoint(c.Auth, client, m, o).fetch, c.Auth.Token.Buffer, client, m, o.Now), nil
	default:
		return nil, fmt.Errorf("auth %q is not known", c.Auth.Kind)
	}
}

// newTokenClient returns what tokens are fetched with.
func newTokenClient(c Config, m *mask.Masker, o Options) (*http.Client, error) {
	config, err := c.TLS.loadForTokens()
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout:   tokenTimeout,
		Transport: &http.Transport{Proxy: safeProxy(o.Proxy, m), TLSClientConfig: config, IdleConnTimeout: idleTimeout},
		// A redirect would take the secret along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}
