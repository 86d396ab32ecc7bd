package prefect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"
)

// request is one call of the API.
type request struct {
	method   string
	path     string // below the API's address, with a query if any
	resource string // for metrics
	body     []byte // JSON; nil: none
}

// send makes a call with its quick tries, and with a CSRF token where the server wants one.
func (c *Client) send(ctx context.Context, r request) (*answer, error) {
	if r.method != http.MethodPost {
		return c.call(ctx, r, "")
	}
	token, err := c.csrf.current(ctx, c)
	if err != nil {
		return nil, err
	}
	a, err := c.call(ctx, r, token)
	if !csrfRefused(err) {
		return a, err
	}
	token, renewErr := c.csrf.renew(ctx, c, token)
	switch {
	case renewErr != nil:
		return nil, fmt.Errorf("asking for a CSRF token: %w", renewErr)
	case token == "":
		return nil, err // it wants a token and gives out none: a proxy's doing
	default:
		return c.call(ctx, r, token)
	}
}

// call makes a call with its quick tries.
func (c *Client) call(ctx context.Context, r request, csrfToken string) (*answer, error) {
	var body any
	if r.body != nil {
		body = r.body // a []byte is sent with its length: Prefect Cloud refuses chunked requests
	}
	ctx = context.WithValue(ctx, resourceKey{}, r.resource)
	req, err := retryablehttp.NewRequestWithContext(ctx, r.method, c.base.String()+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("making the request %s %s: %w", r.method, r.path, err)
	}
	c.dress(req.Request, csrfToken)
	resp, err := c.http.Do(req) //nolint:bodyclose // exchange has read it whole and closed it
	if err == nil {
		a := resp.Body.(*answer) // every answer comes from exchange
		a.asked = r
		if a.fault == nil {
			return a, nil
		}
		return nil, a.fault
	}
	if fault := faultOf(nil, err); fault != nil {
		return nil, fault
	}
	for _, callers := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, callers) {
			return nil, fmt.Errorf("%s %s: %w", r.method, r.path, callers)
		}
	}
	return nil, fmt.Errorf("%s %s: %w", r.method, r.path, errors.New(c.creds.mask(err.Error())))
}

// dress sets a request's headers. X-PREFECT-API-VERSION is left out on purpose: without it every server answers, with
// one that is too old for a later server it would be refused.
func (c *Client) dress(req *http.Request, csrfToken string) {
	header := req.Header
	custom := c.creds.current.Load().headers
	maps.Copy(header, custom)
	if host := custom.Get("Host"); host != "" {
		req.Host = host
	}
	c.creds.apply(header)
	header.Set("Accept", "application/json")
	header.Set("User-Agent", c.userAgent)
	if req.Method == http.MethodPost {
		header.Set("Content-Type", "application/json")
		// Each POST here is a query, so the transport may repeat it when the server closed an idle connection under it.
		// The empty value says so to net/http without being sent.
		header["X-Idempotency-Key"] = []string{}
	}
	if csrfToken != "" {
		header.Set(csrfTokenHeader, csrfToken)
		header.Set(csrfClientHeader, c.csrf.client.String())
	}
}

// decode reads an answer that is one JSON value. What has another form comes from no Prefect API.
func (a *answer) decode(value any) error {
	if err := json.Unmarshal(a.data, value); err != nil {
		return a.strange(err)
	}
	return nil
}

// strange is the error for JSON that no Prefect server would send here.
func (a *answer) strange(err error) error {
	return &Error{
		Kind: ErrNotPrefect, Method: a.asked.method, Path: a.asked.path, Status: http.StatusOK, Reason: "not-prefect",
		Detail: "the answer has an unexpected form", Err: err,
	}
}
