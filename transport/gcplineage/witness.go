package gcplineage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"cloud.google.com/go/compute/metadata"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// maxTokenAnswer is more than any token endpoint says, in bytes.
const maxTokenAnswer = 64 << 10

// witness keeps what became of the last request for a token, and the secrets that requests carried: an endpoint may echo
// them in its refusal. It serves one token and one goroutine.
type witness struct {
	ctx    context.Context // of the whole call: the library makes some of its requests without one
	next   http.RoundTripper
	mask   *mask.Masker
	from   string // the address asked, without secrets
	answer transport.Answer
	err    error
}

// RoundTrip sends a request and looks at the answer.
func (w *witness) RoundTrip(req *http.Request) (*http.Response, error) {
	w.from, w.answer, w.err = httptransport.Display(req.URL), transport.Answer{}, nil
	w.learn(req)
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel() // the answer is read to its end below
	defer context.AfterFunc(w.ctx, cancel)()
	resp, err := w.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		w.err = err
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenAnswer))
	_ = resp.Body.Close() // what is left over is not worth reading
	if err != nil {
		w.err = err
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	w.answer = transport.Answer{Status: resp.StatusCode, Header: resp.Header, Body: w.mask.Bytes(body)}
	return resp, nil
}

// learn has the secrets of a form masked from then on.
func (w *witness) learn(req *http.Request) {
	if req.GetBody == nil || req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return
	}
	copied, err := req.GetBody()
	if err != nil {
		return
	}
	defer copied.Close()
	text, err := io.ReadAll(io.LimitReader(copied, maxTokenAnswer))
	if err != nil {
		return
	}
	if form, err := url.ParseQuery(string(text)); err == nil {
		w.mask.Set("form", form.Get("assertion"), form.Get("subject_token"), form.Get("client_secret"), form.Get("refresh_token"))
	}
}

// unreachable says of an error from the metadata server, which is not asked through a witness, that it may be over soon.
func unreachable(err error) bool {
	if said, ok := errors.AsType[*metadata.Error](err); ok {
		return said.Code >= 500 || said.Code == http.StatusTooManyRequests
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
