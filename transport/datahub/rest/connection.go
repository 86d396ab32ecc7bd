package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Connections are kept as DataHub's client keeps them; idle ones are closed before servers close them, mostly after 30 s.
const (
	maxIdleConnections = 100
	idleTimeout        = 20 * time.Second
)

func newTransport(c Config) (*http.Transport, error) {
	config, err := c.TLS.load()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: c.ConnectTimeout}
	return &http.Transport{
		Proxy: c.Proxy, DialContext: dialer.DialContext, TLSClientConfig: config, TLSHandshakeTimeout: c.ConnectTimeout,
		MaxIdleConns: maxIdleConnections, MaxIdleConnsPerHost: maxIdleConnections, IdleConnTimeout: idleTimeout,
		ForceAttemptHTTP2: true,
	}, nil
}

// maxRedirects bounds a row of redirects.
const maxRedirects = 5

// checkRedirect follows a redirect only where the request stays what it is: the same method with its body, the same host,
// and never from TLS to plain HTTP. Any other would turn a write into a read and lose it, or show the token to another
// host; it is then the answer.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || next.Method != first.Method || next.URL.Hostname() != first.URL.Hostname() ||
		(first.URL.Scheme == "https" && next.URL.Scheme != "https") {
		return http.ErrUseLastResponse
	}
	return nil
}

// watchdog ends an attempt when nothing moves for a while: unlike a limit on the whole it lets a large batch take its
// time on a slow line, and a server that went silent not.
type watchdog struct {
	ctx       context.Context //nolint:containedctx // the attempt's own, ended with it
	cancel    context.CancelCauseFunc
	timer     *time.Timer
	idle      time.Duration
	connected atomic.Bool
}

// newWatchdog gives connecting its own time; from then on each byte renews idle.
func newWatchdog(ctx context.Context, connect, idle time.Duration) *watchdog {
	w := &watchdog{idle: idle}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(connect+idle, func() { w.cancel(&stallError{after: idle}) })
	w.ctx = httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		w.connected.Store(true)
		w.touch()
	}})
	return w
}

func (w *watchdog) touch() { w.timer.Reset(w.idle) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// cause returns the stall where that is why the attempt failed.
func (w *watchdog) cause(err error) error {
	if err == nil {
		return nil
	}
	if stalled, ok := context.Cause(w.ctx).(*stallError); ok { //nolint:errorlint // set by us, never wrapped
		return stalled
	}
	return err
}

// setBody gives a request its body, watched and fit to be sent again by net/http.
func (w *watchdog) setBody(req *http.Request, body []byte) {
	if body == nil {
		return
	}
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(w.reader(bytes.NewReader(body))), nil
	}
	req.Body, _ = req.GetBody() // can't fail
}

func (w *watchdog) reader(r io.Reader) io.Reader { return &watchedReader{reader: r, watch: w} }

type watchedReader struct {
	reader io.Reader
	watch  *watchdog
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	r.watch.touch()
	return n, err
}

// stallError says that a server went silent. It is a net.Error, so it is classed as a timeout.
type stallError struct{ after time.Duration }

func (e *stallError) Error() string { return fmt.Sprintf("the server did not move for %s", e.after) }
func (*stallError) Timeout() bool   { return true }
func (*stallError) Temporary() bool { return true }
