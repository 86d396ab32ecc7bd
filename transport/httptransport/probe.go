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
	answer, e := t.Ask(ctx, http.MethodOptions, t.config.URL)
	note := t.display() + " answered " + transport.StatusLine(answer.Status) + " to OPTIONS"
	switch {
	case e == nil:
		return note, nil
	case answer.Status == 0 || e.Outcome == transport.Retry || e.Reason == transport.ReasonAuth ||
		e.Reason == transport.ReasonProxy || e.Reason == transport.ReasonRedirect:
		return "", e
	default:
		return note + ": it is reached, and only an event can show whether the path is right", nil
	}
}

// Ask sends a request without a body to an address, with the credentials and headers that events get; change may alter
// those. It returns the answer, one without a status where there was none, and what it would mean for an event.
func (t *Transport) Ask(ctx context.Context, method string, to *url.URL, change ...func(*http.Request)) (transport.Answer, *transport.Error) {
	authorization, err := t.auth.Authorization(ctx)
	if err != nil {
		return transport.Answer{}, transport.ClassifyError(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), http.NoBody)
	if err != nil {
		return transport.Answer{}, &transport.Error{Outcome: transport.Hold, Reason: transport.ReasonOther, Err: err}
	}
	t.setCommonHeaders(req, authorization)
	for _, alter := range change {
		alter(req)
	}
	if err := t.sign(ctx, req, nil); err != nil {
		return transport.Answer{}, transport.ClassifyError(err)
	}
	at := t.mask.Text(Display(to))
	resp, err := t.pool.get().once.HTTPClient.Do(req)
	if err != nil {
		return transport.Answer{}, describe(ctx, method+" "+at, err, t.mask)
	}
	defer resp.Body.Close()
	e := t.classify(resp, at)
	return t.read(resp), e
}
