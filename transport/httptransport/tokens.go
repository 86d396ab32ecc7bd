package httptransport

import (
	"context"
	"strings"

	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// Tokens are the tokens of an OAuth 2 client, for transports that log in with one and are not HTTP. It is safe for
// concurrent use.
type Tokens struct{ auth authorizer }

// NewTokens returns the tokens for a client. Its error is about a certificate file; t's CA is trusted beside the
// system's.
func NewTokens(a Auth, t TLS, o Options) (*Tokens, error) {
	o = o.filled()
	auth, err := newAuthorizer(Config{Auth: a, TLS: t}, &mask.Masker{}, o)
	if err != nil {
		return nil, err
	}
	return &Tokens{auth: auth}, nil
}

// Token returns one that lives, asking for another where the last one is about to end. Its error is a *transport.Error.
func (t *Tokens) Token(ctx context.Context) (string, error) {
	value, err := t.auth.Authorization(ctx)
	return strings.TrimPrefix(value, "Bearer "), err
}

// Close releases the connections.
func (t *Tokens) Close() { t.auth.close() }
