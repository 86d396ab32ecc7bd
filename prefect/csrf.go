package prefect

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// The headers by which a server with CSRF protection knows that a token was given to this client.
const (
	csrfTokenHeader  = "Prefect-Csrf-Token" //nolint:gosec // a header's name
	csrfClientHeader = "Prefect-Csrf-Client"
)

// csrf keeps the token of a server with CSRF protection. None is asked for until the server has refused a request for
// the want of one, so that other servers never see the extra call.
type csrf struct {
	client uuid.UUID // the name under which the token was given out

	mu      sync.Mutex
	token   string // empty: none wanted so far
	expires time.Time
}

// csrfRefused says whether a request was refused for its CSRF token.
func csrfRefused(err error) bool {
	fault, ok := errors.AsType[*Error](err)
	if !ok || fault.Status != http.StatusForbidden {
		return false
	}
	said := strings.ToLower(fault.Detail)
	return strings.Contains(said, "csrf") || strings.Contains(said, "client identifier")
}

// current returns the token to send, empty when the server wants none. One that has expired is replaced first.
func (s *csrf) current(ctx context.Context, c *Client) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || time.Now().Before(s.expires) {
		return s.token, nil
	}
	return s.fetch(ctx, c)
}

// renew returns a token other than the refused one. Of several requests that were refused together one fetches it.
func (s *csrf) renew(ctx context.Context, c *Client, refused string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != refused && time.Now().Before(s.expires) {
		return s.token, nil
	}
	return s.fetch(ctx, c)
}

func (s *csrf) fetch(ctx context.Context, c *Client) (string, error) {
	s.token = ""
	a, err := c.call(ctx, request{
		method: http.MethodGet, path: "/csrf-token?client=" + s.client.String(), resource: "csrf",
	}, "")
	switch {
	case errors.Is(err, ErrRefused), errors.Is(err, ErrNotFound), errors.Is(err, ErrNotPrefect):
		return "", nil // the protection is off, or the server is too old to have one
	case err != nil:
		return "", err
	}
	var given struct {
		Token      string `json:"token"`
		Expiration stamp  `json:"expiration"`
	}
	if err := a.decode(&given); err != nil {
		return "", err
	}
	// The lifetime counts, not the time of day: the two clocks may disagree.
	now := time.Now()
	lifetime := given.Expiration.Sub(now)
	if served := a.served(); !served.IsZero() {
		lifetime = given.Expiration.Sub(served)
	}
	s.token, s.expires = given.Token, now.Add(lifetime)
	return s.token, nil
}
