package httptransport

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

const (
	tokenTimeout = 10 * time.Second
	// unknownLife is how long a token is used that does not say when it ends. A refused one is replaced at once, so this
	// only bounds how long a revoked one lives on in here.
	unknownLife = 5 * time.Minute
	// maxTokenAnswer is more than any token endpoint says, in bytes.
	maxTokenAnswer = 64 << 10
)

// TokenFunc gets a bearer token and says how long it lives; 0: nobody knows. Requests for it go through client, which
// knows the proxy and the authorities to trust. Its error is, or wraps, a *transport.Error without secrets.
type TokenFunc func(ctx context.Context, client *http.Client) (token string, life time.Duration, err error)

// tokenAuth gets tokens and keeps the last one while it lives.
type tokenAuth struct {
	ask    func(ctx context.Context) (token string, life time.Duration, err error)
	buffer time.Duration // how long before its end a token is replaced
	client *http.Client
	mask   *mask.Masker
	now    func() time.Time

	turn chan struct{} // holds one: whose turn it is to fetch; others wait as long as their context lives

	mu      sync.Mutex
	value   string    // the Authorization header's value; "": none yet
	replace time.Time // when a new one is due
}

func newTokenAuth(ask func(context.Context) (string, time.Duration, error), buffer time.Duration, client *http.Client,
	m *mask.Masker, now func() time.Time,
) *tokenAuth {
	return &tokenAuth{ask: ask, buffer: buffer, client: client, mask: m, now: now, turn: make(chan struct{}, 1)}
}

// Authorization returns a living token, fetching one where needed. Of several callers one fetches.
func (a *tokenAuth) Authorization(ctx context.Context) (string, error) {
	if value := a.current(); value != "" {
		return value, nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", transport.ClassifyError(fmt.Errorf("waiting for a token: %w", context.Cause(ctx)))
	}
	if value := a.current(); value != "" {
		return value, nil
	}
	token, life, err := a.ask(ctx)
	if err != nil {
		return "", err
	}
	if life <= 0 {
		life = unknownLife
	}
	a.mask.Set("token", token)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.value = "Bearer " + token
	// A token that lives no longer than twice the buffer is used for half its life, not fetched for every event.
	a.replace = a.now().Add(life - min(a.buffer, life/2))
	return a.value, nil
}

func (a *tokenAuth) current() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value != "" && a.now().Before(a.replace) {
		return a.value
	}
	return ""
}

// Refused throws a token away, if it is still the one in use.
func (a *tokenAuth) Refused(value string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value == value {
		a.value = ""
	}
	return true
}

func (a *tokenAuth) close() { a.client.CloseIdleConnections() }

// tokenEndpoint trades a key for tokens as the settings say.
type tokenEndpoint struct {
	auth      Auth
	client    *http.Client
	mask      *mask.Masker
	now       func() time.Time
	userAgent string
}

func newTokenEndpoint(auth Auth, client *http.Client, m *mask.Masker, o Options) *tokenEndpoint {
	if user := auth.Token.Endpoint.User; user != nil {
		password, _ := user.Password()
		m.Set("token endpoint", password)
	}
	return &tokenEndpoint{auth: auth, client: client, mask: m, now: o.Now, userAgent: o.UserAgent}
}

// fetch asks the endpoint for a token. It returns how long the token lives.
func (a *tokenEndpoint) fetch(ctx context.Context) (string, time.Duration, error) {
	secret, err := readSecret(a.auth.Key, a.mask)
	if err != nil {
		return "", 0, err
	}
	endpoint := *a.auth.Token.Endpoint
	user := endpoint.User
	endpoint.User = nil
	form, basic := a.form(secret)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, holdAuth(errors.New("the token endpoint is not an address"))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", a.userAgent)
	switch {
	case basic != "":
		req.Header.Set("Authorization", basic)
	case user != nil:
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return "", 0, a.failed(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenAnswer))
	if err != nil {
		return "", 0, a.failed(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return "", 0, a.refused(resp, body)
	}
	token, life, err := readToken(body, a.auth.Token, a.now())
	if err != nil {
		return "", 0, holdAuth(fmt.Errorf("token endpoint %s: %w", a.display(), err))
	}
	return token, life, nil
}

// form returns the request's fields and, for client_secret_basic, the header that carries id and secret instead
// (RFC 6749, 2.3.1: each form-urlencoded before they are joined).
func (a *tokenEndpoint) form(secret string) (url.Values, string) {
	t := a.auth.Token
	if a.auth.Kind == AuthJWT {
		return url.Values{"grant_type": {t.GrantType}, "response_type": {t.ResponseType}, "apikey": {secret}}, ""
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if t.Scope != "" {
		form.Set("scope", t.Scope)
	}
	if !t.Basic {
		form.Set("client_id", t.ClientID)
		form.Set("client_secret", secret)
		return form, ""
	}
	pair := url.QueryEscape(t.ClientID) + ":" + url.QueryEscape(secret)
	encoded := base64.StdEncoding.EncodeToString([]byte(pair))
	a.mask.Set("client", encoded)
	return form, "Basic " + encoded
}

func (a *tokenEndpoint) display() string { return Display(a.auth.Token.Endpoint) }

func (a *tokenEndpoint) failed(ctx context.Context, err error) error {
	return describe(ctx, "token endpoint "+a.display(), err, a.mask)
}

// refused classes an answer that is no token. A refusal by the endpoint is never an event's fault.
func (a *tokenEndpoint) refused(resp *http.Response, body []byte) error {
	answer := transport.Answer{Status: resp.StatusCode, Header: resp.Header, Body: a.mask.Bytes(body), Now: a.now()}
	e := transport.Classify(answer)
	if e.Outcome != transport.Retry {
		e.Outcome, e.Reason = transport.Hold, transport.ReasonAuth
	}
	e.Err = fmt.Errorf("token endpoint %s answered %s%s",
		a.display(), transport.StatusLine(resp.StatusCode), quote(answer.Body))
	e.Status = 0 // the consumer itself said nothing
	return e
}
