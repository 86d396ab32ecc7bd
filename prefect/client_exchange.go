package prefect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// errAttemptTimeout is the cause of a context that ended because one try took too long.
var errAttemptTimeout = errors.New("the time for one request is over")

// exchange makes one try at a request and reads its whole answer. It is a RoundTripper, below the client that tries
// again: so a body that breaks off counts as a failed try, each try passes the gate, and the time for a request begins
// when it is really sent.
type exchange struct {
	next     *http.Transport
	gate     *gate
	timeout  time.Duration
	maxBytes int64
	base     *url.URL
	creds    *credentials
	metrics  Observer
}

// answer is a whole answer, as the body of its response.
type answer struct {
	*bytes.Reader
	header http.Header
	data   []byte
	fault  *Error  // nil: it is JSON with a good status
	asked  request // set by send
}

// Close does nothing: the connection was given back when the answer was whole.
func (a *answer) Close() error { return nil }

// resourceKey carries a request's resource in its context, for the metrics.
type resourceKey struct{}

// RoundTrip implements http.RoundTripper. Its errors are an *Error, or the request context's own.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	leave, err := x.gate.enter(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	defer leave()

	begun := time.Now()
	resp, err := x.try(req)
	x.observe(req, resp, err, time.Since(begun))
	return resp, err
}

// CloseIdleConnections is what http.Client looks for to close them.
func (x *exchange) CloseIdleConnections() { x.next.CloseIdleConnections() }

func (x *exchange) try(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), x.timeout, errAttemptTimeout)
	defer cancel()
	resp, err := x.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, x.failure(ctx, req, err)
	}
	data, err := x.read(req, resp)
	_ = resp.Body.Close()
	if err != nil {
		return nil, x.failure(ctx, req, err)
	}
	fault, err := x.examine(req, resp, data)
	if err != nil {
		return nil, err
	}
	if fault != nil && fault.RetryAfter > 0 && fault.RetryAfter <= sitOutCap {
		x.gate.pause(time.Now().Add(fault.RetryAfter))
	}
	resp.Body = &answer{Reader: bytes.NewReader(data), header: resp.Header, data: data, fault: fault}
	return resp, nil
}

// read returns the whole body, or ErrTooLarge with its beginning.
func (x *exchange) read(req *http.Request, resp *http.Response) ([]byte, error) {
	limit := x.maxBytes
	if resp.ContentLength > limit {
		limit = beginning // it would be thrown away: read no more than what names the row
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		fault := x.fault(req, ErrTooLarge, "too-large")
		fault.Status, fault.begin = resp.StatusCode, data[:min(len(data), beginning)]
		fault.Detail = "the answer is larger than " + size(x.maxBytes)
		return nil, fault
	}
	return data, nil
}

// examine says what is wrong with an answer; nil: nothing. The error is for half an answer, which is a failed try.
func (x *exchange) examine(req *http.Request, resp *http.Response, data []byte) (*Error, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return x.refusal(req, resp, data), nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	if kind != "" && !isJSON {
		fault := x.fault(req, ErrNotPrefect, "not-json")
		fault.Status, fault.Detail, fault.Hint = resp.StatusCode, x.sentence(resp.Header, data), x.addressHint()
		return fault, nil
	}
	if !json.Valid(data) {
		fault := x.fault(req, ErrUnavailable, "truncated")
		fault.Status, fault.Detail = resp.StatusCode, "the answer is no whole JSON document"
		return nil, fault
	}
	return nil, nil
}

// observe reports one try.
func (x *exchange) observe(req *http.Request, resp *http.Response, err error, took time.Duration) {
	if x.metrics == nil {
		return
	}
	resource, _ := req.Context().Value(resourceKey{}).(string)
	result := "ok"
	switch fault := faultOf(resp, err); {
	case fault != nil:
		result = fault.Reason
	case err != nil:
		result = "canceled"
	}
	x.metrics.ObserveRequest(resource, result, took)
}
