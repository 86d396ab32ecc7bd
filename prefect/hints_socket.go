package prefect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// handshakeTimeout bounds the way from dialling to the server's consent. A busy server takes its time.
	handshakeTimeout = 30 * time.Second
	// pingEvery and pongWithin bound how long a connection that is dead without a word passes for a good one.
	pingEvery  = 10 * time.Second
	pongWithin = 15 * time.Second
	// maxMessage bounds one event, in bytes. Events carry what users put in them; only their beginning is kept.
	maxMessage = 256 << 20
)

// When an event may have occurred to be heard. Their clocks are the workers'; without an end the server takes the moment
// of asking for it, and then nothing ever comes.
const (
	heardSince = -24 * time.Hour
	heardUntil = 10 * 365 * 24 * time.Hour
)

// socket is one connection to the server's events.
type socket struct {
	client *Client
	conn   *websocket.Conn
}

// openSocket connects and asks for events. Its errors are an *Error, or the context's own.
func (c *Client) openSocket(ctx context.Context, names eventNames) (*socket, error) {
	shaking, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, errAttemptTimeout)
	defer cancel()
	req := c.socketRequest(ctx)
	current := c.creds.current.Load()
	maps.Copy(req.Header, current.headers)
	c.creds.apply(req.Header)
	req.Header.Set("User-Agent", c.userAgent)
	conn, resp, err := websocket.Dial(shaking, req.URL.String(), &websocket.DialOptions{ //nolint:bodyclose // the library's affair
		HTTPClient: &http.Client{Transport: c.sockets, CheckRedirect: followRedirect},
		HTTPHeader: req.Header, Host: current.headers.Get("Host"), Subprotocols: []string{"prefect"},
	})
	if err != nil {
		return nil, c.socketRefused(shaking, req, resp, err)
	}
	s := &socket{client: c, conn: conn}
	conn.SetReadLimit(maxMessage)
	if err := s.introduce(shaking, current.token, names); err != nil {
		s.close()
		return nil, s.fault(shaking, req, err)
	}
	return s, nil
}

// introduce proves who is asking and says what for. Servers want the first message even where they want no credentials.
func (s *socket) introduce(ctx context.Context, token string, names eventNames) error {
	auth := map[string]any{"type": "auth", "token": nil}
	if token != "" {
		auth["token"] = token
	}
	if err := s.send(ctx, auth); err != nil {
		return err
	}
	reply, err := s.read(ctx)
	if err != nil {
		return err
	}
	if reply.kind != "auth_success" {
		return errNoConsent(reply)
	}
	now := time.Now().UTC()
	return s.send(ctx, map[string]any{
		"type":     "filter",
		"backfill": false, // what was before is polled
		"filter": map[string]any{
			"event":    names,
			"occurred": map[string]any{"since": now.Add(heardSince), "until": now.Add(heardUntil)},
		},
	})
}

// errNoConsent is the server's answer to credentials that it does not take.
type errNoConsent message

func (e errNoConsent) Error() string {
	if e.reason != "" {
		return e.reason
	}
	return "it answers " + strconv.Quote(e.kind) + " to the credentials"
}

func (s *socket) send(ctx context.Context, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// read takes one message. Only so much of it is looked at as it takes to know the run; the rest is passed over.
func (s *socket) read(ctx context.Context) (message, error) {
	_, r, err := s.conn.Reader(ctx)
	if err != nil {
		return message{}, err
	}
	m := parseMessage(r)
	_, err = io.Copy(io.Discard, r)
	return m, err
}

// listen hands on what the events tell until the connection ends, and returns why it did.
func (s *socket) listen(ctx context.Context, hear func(Hint)) error {
	reading, lose := context.WithCancelCause(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer lose(nil)
	pinging.Go(func() { lose(s.keepAlive(reading)) })
	for {
		m, err := s.read(reading)
		if err != nil {
			if cause := context.Cause(reading); errors.Is(cause, errNoPong) {
				err = cause
			}
			return s.fault(reading, s.client.socketRequest(ctx), err)
		}
		if hint, ok := m.hint(); ok {
			hear(hint)
		}
	}
}

// errNoPong: a connection that stays silent when it is asked for a sign of life is dead, though nobody says so.
var errNoPong = errors.New("no sign of life within " + pongWithin.String())

// keepAlive asks for a sign of life now and then, and returns when none comes.
func (s *socket) keepAlive(ctx context.Context) error {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.ping(ctx); err != nil {
			return err
		}
	}
}

// ping asks for a sign of life and waits for it. Somebody must be reading meanwhile.
func (s *socket) ping(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, pongWithin)
	defer cancel()
	err := s.conn.Ping(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return errNoPong
	}
	return err
}

// close drops the connection. A server takes that for an ordinary end.
func (s *socket) close() { _ = s.conn.CloseNow() }

// fault is the error for a connection that stood and ended.
func (s *socket) fault(ctx context.Context, req *http.Request, err error) error {
	if req.Context().Err() != nil {
		return req.Context().Err()
	}
	x := s.client.exchange
	closed := websocket.CloseError{}
	if consent, no := errors.AsType[errNoConsent](err); no {
		fault := x.fault(req, ErrUnauthorized, "auth")
		fault.Detail, fault.Hint = x.creds.mask(consent.Error()), x.creds.hint(http.StatusUnauthorized, isCloud(x.base))
		return fault
	}
	if errors.As(err, &closed) {
		fault := x.fault(req, ErrUnavailable, "close-"+strconv.Itoa(int(closed.Code)))
		fault.Detail = "the server closes it: " + strings.TrimSpace(strconv.Itoa(int(closed.Code))+" "+x.creds.mask(closed.Reason))
		switch closed.Code {
		case websocket.StatusPolicyViolation:
			fault.Kind, fault.Hint = ErrUnauthorized, x.creds.hint(http.StatusUnauthorized, isCloud(x.base))
		case websocket.StatusProtocolError, websocket.StatusUnsupportedData, websocket.StatusMandatoryExtension:
			fault.Kind = ErrRefused
		default:
		}
		return fault
	}
	if context.Cause(ctx) == errAttemptTimeout { //nolint:errorlint // a cause is this very value
		fault := x.fault(req, ErrTimeout, "timeout")
		fault.Detail = "no consent within " + handshakeTimeout.String()
		return fault
	}
	reason, hint := failureReason(err)
	fault := x.fault(req, ErrUnavailable, reason)
	fault.Hint, fault.Err = hint, errors.New(x.creds.mask(err.Error()))
	return fault
}

// socketRefused is the error for a connection that did not come to be.
func (c *Client) socketRefused(ctx context.Context, req *http.Request, resp *http.Response, err error) error {
	if req.Context().Err() != nil {
		return req.Context().Err()
	}
	if resp == nil {
		return (&socket{client: c}).fault(ctx, req, err)
	}
	var said []byte
	if resp.Body != nil {
		said, _ = io.ReadAll(io.LimitReader(resp.Body, beginning)) // the status says enough
	}
	fault := c.exchange.refusal(req, resp, said)
	switch status := resp.StatusCode; {
	case status == http.StatusSwitchingProtocols, status < http.StatusMultipleChoices:
		fault.Kind, fault.Detail, fault.Hint = ErrNotPrefect, "what answers there is no websocket", notThrough
	case status == http.StatusForbidden, status == http.StatusNotFound, status == http.StatusMethodNotAllowed,
		status == http.StatusUpgradeRequired, status == http.StatusNotImplemented, status == http.StatusBadRequest,
		status == http.StatusInternalServerError: // Prefect 2 answers so while its events are off
		fault.Kind, fault.Hint = ErrRefused, notThrough
	}
	return fault
}

// notThrough is why a server that answers otherwise refuses a websocket.
const notThrough = "a proxy on the way lets no websocket through, or this server has none"
