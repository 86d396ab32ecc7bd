package httptransport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

const (
	// idleTimeout closes a kept-alive connection before the usual server does (30 s).
	idleTimeout = 20 * time.Second
	// attemptTimeouts times the timeout bounds a whole attempt: connecting, sending, the answer.
	attemptTimeouts = 3
	// reloadEvery is how often certificate files are looked at, at most.
	reloadEvery  = 5 * time.Second
	maxRedirects = 5
)

// clients are the two ways of sending over one set of connections.
type clients struct {
	once  *retryablehttp.Client // a single try
	twice *retryablehttp.Client // a quick try after the first
}

func (c *clients) sender(quick bool) *retryablehttp.Client {
	if quick {
		return c.twice
	}
	return c.once
}

// pool holds the clients, and makes new ones when the certificate files change, so that a rotation needs no restart.
type pool struct {
	config Config
	now    func() time.Time
	proxy  func(*http.Request) (*url.URL, error)
	mask   *mask.Masker

	mu      sync.Mutex
	clients *clients
	files   string    // how the certificate files looked when clients was made
	checked time.Time // when they were last looked at
}

func newPool(c Config, o Options, m *mask.Masker) (*pool, error) {
	p := &pool{config: c, now: o.Now, proxy: safeProxy(o.Proxy, m), mask: m}
	p.files, p.checked = look(c.TLS.files()), o.Now()
	made, err := p.make()
	if err != nil {
		return nil, err
	}
	p.clients = made
	return p, nil
}

// get returns the clients to send with. Files that can't be used just now, half written perhaps, leave the old ones.
func (p *pool) get() *clients {
	files := p.config.TLS.files()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); len(files) > 0 && now.Sub(p.checked).Abs() >= reloadEvery {
		p.checked = now
		if seen := look(files); seen != p.files {
			if made, err := p.make(); err == nil {
				p.clients.once.HTTPClient.CloseIdleConnections()
				p.clients, p.files = made, seen
			}
		}
	}
	return p.clients
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients.once.HTTPClient.CloseIdleConnections()
}

// look describes files so that a change shows.
func look(files []string) string {
	var b strings.Builder
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			b.WriteString("-;")
			continue
		}
		fmt.Fprintf(&b, "%d %d;", info.Size(), info.ModTime().UnixNano())
	}
	return b.String()
}

func (p *pool) make() (*clients, error) {
	tlsConfig, err := p.config.TLS.load()
	if err != nil {
		return nil, err
	}
	timeout := p.config.Timeout
	protocols := new(http.Protocols)
	// HTTP/1.1 alone: events are few and small, and a connection that hangs goes down with its one request, while
	// requests that share one under HTTP/2 would all hang on it until somebody notices.
	protocols.SetHTTP1(true)
	client := &http.Client{
		Timeout: attemptTimeouts * timeout,
		Transport: locationGuard{&http.Transport{
			Proxy:                  p.proxy,
			OnProxyConnectResponse: checkProxy,
			DialContext:            (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:        tlsConfig,
			TLSHandshakeTimeout:    timeout,
			ResponseHeaderTimeout:  timeout,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConns:           p.config.Parallel,
			MaxIdleConnsPerHost:    p.config.Parallel,
			MaxResponseHeaderBytes: 256 << 10,
			Protocols:              protocols,
		}},
		CheckRedirect: p.config.followRedirect,
	}
	return &clients{once: p.retrying(client, 0), twice: p.retrying(client, 1)}, nil
}

// retrying wraps a client. Everything that go-retryablehttp does by default is replaced: its logger, its policy, its
// backoff (which obeys any Retry-After), and its last error, which would hide the answer.
func (p *pool) retrying(client *http.Client, tries int) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   client,
		RetryMax:     tries,
		CheckRetry:   p.config.Retry.again,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return p.config.Retry.wait() },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// again decides on the quick try: only after what may be over in a moment, never against the consumer's own word.
func (r Retry) again(ctx context.Context, resp *http.Response, err error) (bool, error) {
	switch {
	case ctx.Err() != nil:
		return false, nil
	case err != nil:
		e := transport.ClassifyError(err)
		if e.Outcome != transport.Retry || e.Reason != transport.ReasonConnection {
			return false, nil // a timeout has cost enough, a name or a proxy does not come back in a moment
		}
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			return r.OnConnect, nil
		}
		return r.OnRead, nil
	default:
		asked := resp.Header.Get("Retry-After") != ""
		return r.OnStatus && !asked && slices.Contains(r.Statuses, resp.StatusCode), nil
	}
}

// followRedirect lets an event be sent on only where it arrives as it is: by 307 or 308 (net/http turns the rest into a
// GET), on the same scheme, and to another host without what is secret.
func (c Config) followRedirect(req *http.Request, via []*http.Request) error {
	status := req.Response.StatusCode
	kept := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if !kept || len(via) > maxRedirects || req.URL.Scheme != c.URL.Scheme {
		return http.ErrUseLastResponse
	}
	req.Header.Del("Referer") // it would hold the query
	elsewhere := func(r *http.Request) bool { return !sameHost(r.URL, c.URL) }
	if !elsewhere(req) && !slices.ContainsFunc(via, elsewhere) {
		return nil
	}
	if c.TLS.Cert != "" {
		return http.ErrUseLastResponse // the other host would be shown our certificate
	}
	for name := range c.Headers {
		if name != "Content-Type" {
			req.Header.Del(name)
		}
	}
	req.Header.Del("Authorization")
	return nil
}

func sameHost(a, b *url.URL) bool {
	return Display(&url.URL{Scheme: a.Scheme, Host: a.Host}) == Display(&url.URL{Scheme: b.Scheme, Host: b.Host})
}

// locationGuard takes away a Location that is no address: net/http would fail on it as if the network had.
type locationGuard struct{ *http.Transport }

// RoundTrip sends one request.
func (g locationGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.Transport.RoundTrip(req)
	if err == nil && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		if _, bad := req.URL.Parse(resp.Header.Get("Location")); bad != nil {
			resp.Header.Del("Location")
		}
	}
	return resp, err
}
