package httptransport

import (
	"context"
	"net/http"

	"github.com/prefect-openlineage/listener/transport"
)

// Probe asks the endpoint for its OPTIONS, the one request that reaches name, TLS, proxy and most gateways' credential
// check and changes nothing. Servers that know no OPTIONS answer 400, 404, 405 or 501: that they answer is then all that
// is known, and no error. Credentials that no gateway checks are only proved by an event.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	authorization, err := t.auth.Authorization(ctx)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodOptions, t.config.URL.String(), http.NoBody)
	if err != nil {
		return "", &transport.Error{Outcome: transport.Hold, Reason: transport.ReasonOther, Err: err}
	}
	t.setCommonHeaders(req, authorization)
	resp, err := t.pool.get().once.HTTPClient.Do(req)
	if err != nil {
		return "", describe(ctx, "OPTIONS "+t.display(), err, t.mask)
	}
	defer resp.Body.Close()
	e := t.classify(resp)
	if e == nil || (e.Outcome != transport.Retry && e.Reason != transport.ReasonAuth &&
		e.Reason != transport.ReasonProxy && e.Reason != transport.ReasonRedirect) {
		note := t.display() + " answered " + transport.StatusLine(resp.StatusCode) + " to OPTIONS"
		if e != nil {
			note += ": it is reached, and only an event can show whether the path is right"
		}
		return note, nil
	}
	return "", e
}
