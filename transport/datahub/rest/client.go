package rest

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
)

// client makes requests, again where that may help.
type client struct {
	config Config
	base   *url.URL
	http   *http.Client
	mask   *mask.Masker
	// header is what each request has; extra goes before all else.
	header, extra http.Header
}

// request is one HTTP request as far as the server sees it.
type request struct {
	method string
	path   string // under the server's, escaped
	query  string
	body   []byte
	// limit is how much of the answer is needed, in bytes: the rest is read and dropped, or refused where whole is set.
	limit int64
	whole bool
}

// answer is what came back with a status that is no error.
type answer struct {
	status   int
	header   http.Header
	body     []byte
	attempts int
}

const (
	// answerHead is how much is read of an answer whose content does not matter.
	answerHead = 64 << 10
	// answerWhole is the longest answer that is taken where its content matters.
	answerWhole = 16 << 20
	// drainLimit is how much of an answer is read to keep its connection.
	drainLimit = 64 << 20
)

func newClient(c Config) (*client, error) {
	base, err := ServerURL(c.Server)
	if err != nil {
		return nil, err
	}
	cl := &client{config: c, base: base, mask: &mask.Masker{}, header: http.Header{}, extra: http.Header{}}
	roundTripper := c.Transport
	if roundTripper == nil {
		if roundTripper, err = newTransport(c); err != nil {
			return nil, err
		}
	}
	cl.http = &http.Client{Transport: roundTripper, CheckRedirect: checkRedirect}
	cl.setHeaders()
	return cl, nil
}

// setHeaders makes what each request carries and has its secrets masked.
func (c *client) setHeaders() {
	h := c.header
	h.Set("Accept", "*/*")
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", userAgent(c.config))
	h.Set("X-DataHub-Client-Mode", c.config.ClientMode)
	h.Set("X-RestLi-Protocol-Version", "2.0.0")
	// A request with this key, even without a value, goes out again at once where a kept connection was just closed by the
	// server; no header is sent. Proposals may be repeated.
	h["Idempotency-Key"] = []string{}
	if user := c.base.User; user != nil {
		password, _ := user.Password()
		c.mask.Set("url", password)
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
		c.base.User = nil
	}
	if c.config.SystemClientID != "" {
		c.mask.Set("system", c.config.SystemClientSecret)
		h.Set("Authorization", "Basic "+c.config.SystemClientID+":"+c.config.SystemClientSecret)
	}
	var secrets []string
	for name, value := range c.config.Headers {
		c.extra.Set(name, value)
		if openlineage.SecretKey(name) || slices.Contains([]string{"Authorization", "Cookie", "Proxy-Authorization"},
			http.CanonicalHeaderKey(name)) {
			secrets = append(secrets, value)
		}
	}
	c.mask.Set("headers", secrets...)
}

// do makes a request until it has an answer that is no error, or nothing more is to be tried. Its error is an *Error or
// holds the context's.
func (c *client) do(ctx context.Context, r request) (answer, error) {
	u, err := joinPath(c.base, r.path, r.query)
	if err != nil {
		return answer{}, err
	}
	op := r.method + " " + c.mask.Text(display(u))
	var count tally
	refreshed := false
	for n := 1; ; n++ {
		ans, token, connected, err := c.attempt(ctx, r, u, n)
		if ctx.Err() != nil {
			return answer{}, fmt.Errorf("%s: %w", op, context.Cause(ctx))
		}
		problem := c.judge(op, r, ans, err)
		if problem == nil {
			ans.attempts = n
			return ans, nil
		}
		problem.Attempts = n
		if refresher, ok := c.config.TokenSource.(TokenRefresher); ok && problem.Status == http.StatusUnauthorized &&
			!refreshed && refresher.Refused(token) {
			refreshed = true
			continue
		}
		if problem.Status == 0 && !problem.Retryable {
			return answer{}, problem
		}
		asked, hasAsked := transport.RetryAfter(ans.header, c.config.Now())
		wait, again := c.config.Retry.next(&count, failure{
			method: r.method, status: problem.Status, connected: connected, asked: asked, hasAsked: hasAsked,
		})
		if !again || tooLong(ctx, c.config.Now(), wait) {
			return answer{}, problem
		}
		if wait > 0 {
			if err := c.config.Sleep(ctx, wait); err != nil {
				return answer{}, fmt.Errorf("%w; the last try: %w", err, problem)
			}
		}
	}
}

// tooLong reports whether the context ends before a wait does: then the failure is told now, not the deadline later.
func tooLong(ctx context.Context, now time.Time, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && wait > 0 && now.Add(wait).After(deadline)
}

// attempt makes a request once. connected says whether a connection stood.
func (c *client) attempt(ctx context.Context, r request, u *url.URL, n int) (
	ans answer, token string, connected bool, err error,
) {
	started := c.config.Now()
	if c.config.Observe != nil {
		defer func() {
			c.config.Observe(Attempt{
				Method: r.method, URL: c.mask.Text(display(u)), Number: n, Status: ans.status, Err: c.masked(err),
				Duration: c.config.Now().Sub(started),
			})
		}()
	}
	watch := newWatchdog(ctx, 2*c.config.ConnectTimeout, c.config.ReadTimeout)
	defer watch.stop()
	req, err := http.NewRequestWithContext(watch.ctx, r.method, u.String(), nil)
	if err != nil {
		return answer{}, "", false, err
	}
	req.URL = u
	watch.setBody(req, r.body)
	if token, err = c.authorize(ctx, req); err != nil {
		return answer{}, "", false, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, token, watch.connected.Load(), watch.cause(withoutURL(err))
	}
	defer resp.Body.Close()
	ans = answer{status: resp.StatusCode, header: resp.Header}
	ans.body, err = readAnswer(watch.reader(resp.Body), r)
	return ans, token, true, watch.cause(err)
}

// authorize writes the headers of an attempt and returns the token that is in them.
func (c *client) authorize(ctx context.Context, req *http.Request) (string, error) {
	maps.Copy(req.Header, c.header)
	token := c.config.Token
	if c.config.TokenSource != nil {
		var err error
		if token, err = c.config.TokenSource.Token(ctx); err != nil {
			return "", fmt.Errorf("getting the token: %w", err)
		}
	}
	if token != "" {
		if !validHeader("Authorization", token) {
			return "", errTokenText
		}
		c.mask.Set("token", token)
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for name, values := range c.extra {
		if name == "Host" {
			req.Host = values[0]
			continue
		}
		req.Header[name] = values
	}
	return token, nil
}

// readAnswer reads what is wanted of an answer. The rest is read as well, so that the connection can be kept and a cut
// answer is seen.
func readAnswer(body io.Reader, r request) ([]byte, error) {
	limit := orDefault(r.limit, answerHead)
	head, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return head, fmt.Errorf("reading the answer: %w", err)
	}
	if int64(len(head)) < limit {
		return head, nil
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(body, drainLimit))
	if err != nil {
		return head, fmt.Errorf("reading the answer: %w", err)
	}
	if r.whole && rest > 0 {
		return head, fmt.Errorf("the answer is longer than %d bytes", limit)
	}
	return head, nil
}

// sparing returns a client that does not repeat a 500, for requests that are made to find who is to blame for one.
func (c *client) sparing() *client {
	s := *c
	s.config.Retry.Statuses = slices.DeleteFunc(slices.Clone(s.config.Retry.Statuses), func(status int) bool {
		return status == http.StatusInternalServerError
	})
	return &s
}

// close gives the idle connections back.
func (c *client) close() { c.http.CloseIdleConnections() }

// userAgent names the program in the form that GMS counts its clients by.
func userAgent(c Config) string {
	version := orDefault(c.ClientVersion, "unknown")
	return fmt.Sprintf("DataHub-Client/1.0 (%s; %s; %s) Go-http-client", strings.ToLower(c.ClientMode), c.Client, version)
}
