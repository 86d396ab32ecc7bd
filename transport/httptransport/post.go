package httptransport

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/prefect-openlineage/listener/transport"
)

// IdempotencyHeader carries the event's key, which is the same for each copy of an event, so that a consumer can tell
// copies. The name is that of the IETF draft on the matter and of the services that know such a header.
const IdempotencyHeader = "Idempotency-Key"

// maxAnswer is how much of an answer is read, in bytes; the connection behind a longer one is given up.
const maxAnswer = 64 << 10

// post sends an attempt; nil means that the consumer has the event.
func (t *Transport) post(ctx context.Context, a attempt) *transport.Error {
	body := a.event.Body
	if a.gzip {
		var err error
		if body, err = t.gzip.compress(body); err != nil {
			return transport.ClassifyError(err)
		}
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, t.address(a.event), body)
	if err != nil {
		return &transport.Error{
			Outcome: transport.Hold, Reason: transport.ReasonOther,
			Err: fmt.Errorf("%s is not an address to post to", t.display()),
		}
	}
	t.setHeaders(req.Request, a)
	if err := t.sign(ctx, req.Request, body); err != nil {
		return transport.ClassifyError(err)
	}
	resp, err := t.pool.get().sender(a.quick).Do(req)
	if err != nil {
		return describe(ctx, "POST "+t.display(), err, t.mask)
	}
	defer resp.Body.Close()
	return t.classify(resp, t.display())
}

// address returns where an event is posted.
func (t *Transport) address(event transport.Event) string {
	if t.query == nil {
		return t.config.URL.String()
	}
	to := *t.config.URL
	query := to.Query()
	maps.Copy(query, t.query(event))
	to.RawQuery = query.Encode()
	return to.String()
}

// sign has a request signed, where the kind has signatures.
func (t *Transport) sign(ctx context.Context, req *http.Request, body []byte) error {
	if t.signing == nil {
		return nil
	}
	secrets, err := t.signing(ctx, req, body)
	if err != nil {
		return err
	}
	t.mask.Set("signature", secrets...)
	return nil
}

// setHeaders writes the headers: ours first, so that custom ones override them.
func (t *Transport) setHeaders(req *http.Request, a attempt) {
	h := req.Header
	h.Set("Content-Type", "application/json")
	if a.event.Key != "" && validHeaderValue(a.event.Key) {
		h.Set(IdempotencyHeader, a.event.Key)
	}
	t.setCommonHeaders(req, a.authorization)
	if a.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	if t.mark != nil {
		t.mark(a.event, h)
	}
}

// setCommonHeaders writes what a probe has too.
func (t *Transport) setCommonHeaders(req *http.Request, authorization string) {
	h := req.Header
	h.Set("Accept", "*/*")
	h.Set("User-Agent", t.userAgent)
	if authorization != "" {
		h.Set("Authorization", authorization)
	}
	if user := t.config.User; user != nil {
		password, _ := user.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	for name, value := range t.config.Headers {
		if name == "Host" {
			req.Host = value
			continue
		}
		h.Set(name, value)
	}
}

// classify says what an answer means, in words that help; at is who gave it.
func (t *Transport) classify(resp *http.Response, at string) *transport.Error {
	answer := t.read(resp)
	e, said := t.meaning(answer, resp)
	if e == nil {
		return nil
	}
	if e.Outcome != transport.Retry && e.Status >= 400 && e.Status != http.StatusInternalServerError &&
		slices.Contains(t.config.Retry.Statuses, e.Status) {
		e.Outcome = transport.Retry // the operator knows better what it means there
	}
	if !t.config.Retry.RetryAfter {
		e.RetryAfter = 0
	}
	e.RetryAfter = min(e.RetryAfter, t.config.Retry.MaxRetryAfter)
	e.Err = errors.New(at + " answered " + transport.StatusLine(e.Status) + said)
	return e
}

// meaning classes an answer, and returns what is to be said of it behind its status.
func (t *Transport) meaning(answer transport.Answer, resp *http.Response) (*transport.Error, string) {
	if t.judge != nil {
		if e, said := t.judge(answer); e == nil || said != "" {
			return e, said
		}
	}
	e := transport.Classify(answer)
	if e == nil {
		return nil, ""
	}
	return e, t.hint(e, resp) + quote(answer.Body)
}

// hint says what to do about an answer that only the operator can change.
func (t *Transport) hint(e *transport.Error, resp *http.Response) string {
	switch {
	case e.Reason == transport.ReasonRedirect:
		to, err := resp.Location()
		if err != nil {
			return " (a redirect without an address)"
		}
		return " (a redirect to " + t.mask.Text(Display(to)) + " that is not followed; if that is right, set url to it)"
	case e.Status == http.StatusNotFound:
		return " (check url and endpoint; DataHub's endpoint is openapi/openlineage/api/v1/lineage)"
	case e.Reason == transport.ReasonAuth:
		return " (check auth)"
	case e.Reason == transport.ReasonNotAPI:
		return " with a web page, perhaps a login (check url, endpoint and auth)"
	default:
		return ""
	}
}

// read returns the beginning of an answer with secrets masked. It may be called again: what was read is put back. An
// answer that breaks off counts as far as it came, since its status stands at its head.
func (t *Transport) read(resp *http.Response) transport.Answer {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && len(body) < maxAnswer {
		err = resp.Body.Close()
	}
	if err != nil || len(body) == maxAnswer {
		_ = resp.Body.Close() // what is left over is not worth reading
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return transport.Answer{Status: resp.StatusCode, Header: resp.Header, Body: t.mask.Bytes(body), Now: t.now()}
}

func (t *Transport) display() string { return t.mask.Text(Display(t.config.URL)) }
