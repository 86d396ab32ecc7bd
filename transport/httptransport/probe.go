package httptransport

import (
	"context"
	"net/http"
	"net/url"

	"github.com/prefect-openlineage/listener/transport"
)

// Probe asks the endpoint for its OPTIONS, the one request that reaches name, TLS, proxy and most gateways' credential
// check and changes nothing. Servers that know no OPTIONS answer 400, 404, 405 or 501: that they answer is then all that
// is known, and no error. Credentials that no gateway checks are only proved by an event.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	status, e := t.Ask(ctx, http.MethodOptions, t.config.URL)
	note := t.display() + " answered " + transport.StatusLine(status) + " to OPTIONS"
	switch {
	case e == nil:
		return note, nil
	case status == 0 || e.Outcome == transport.Retry || e.Reason == transport.ReasonAuth ||
		e.Reason == transport.ReasonProxy || e.Reason == transport.ReasonRedirect:
		return "", e
	default:
		return note + ": it is reached, and only an event can show whether the path is right", nil
	}
}

// Ask sends a request without a body to an address, with the credentials and headers that events get. It returns the
// status of the answer, 0 where there was none, and what the answer would mean for an event.
func (t *Transport) Ask(ctx context.Context, method string, to *url.URL) (int, *transport.Error) {
	authorization, err := t.auth.Authorization(ctx)
	if err != nil {
		return 0, transport.ClassifyError(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), http.NoBody)
	if err != nil {
		return 0, &transport.Error{Outcome: transport.Hold, Reason: transport.ReasonOther, Err: err}
	}
	t.setCommonHeaders(req, authorization)
	resp, err := t.pool.get().once.HTTPClient.Do(req)
	if err != nil {
		return 0, describe(ctx, method+" "+t.mask.Text(Display(to)), err, t.mask)
	}
	defer resp.Body.Close()
	return resp.StatusCode, t.classify(resp)
}
