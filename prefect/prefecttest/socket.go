package prefecttest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// backlog is how many events wait for one subscriber of a real server; what comes then is thrown away without a word.
const backlog = 256

// Socket makes the server tell of its runs' states over the websocket /events/out, as a stock server does. Without it
// the websocket is refused, as by a server before 3 whose events are off. New states of rows that are added, set or
// changed are told.
func Socket() Option {
	return func(s *Server) { s.sockets = &sockets{open: map[*subscriber]struct{}{}} }
}

// sockets are the websockets and how their events are spoilt.
type sockets struct {
	// What follows is guarded by the server's lock.
	open   map[*subscriber]struct{}
	spoil  func(Event) []time.Duration
	opened int

	frozen atomic.Bool
}

// subscriber is one websocket that has asked for events.
type subscriber struct {
	queue chan []byte
	wants filterMessage
	conn  *websocket.Conn
}

// filterMessage is what a subscriber asks for.
type filterMessage struct {
	Type   string `json:"type"`
	Filter struct {
		Event struct {
			Name    []string `json:"name"`
			Prefix  []string `json:"prefix"`
			Exclude []string `json:"exclude_name"`
		} `json:"event"`
		Occurred struct {
			Since time.Time `json:"since"`
			Until time.Time `json:"until"`
		} `json:"occurred"`
	} `json:"filter"`
}

// takes says whether a subscriber asked for an event. One that named no end asked for none that is to come.
func (f filterMessage) takes(e Event) bool {
	names := f.Filter.Event
	begins := func(prefix string) bool { return strings.HasPrefix(e.Name, prefix) }
	return !e.Occurred.Before(f.Filter.Occurred.Since) && !e.Occurred.After(f.Filter.Occurred.Until) &&
		(names.Prefix == nil || slices.ContainsFunc(names.Prefix, begins)) &&
		(names.Name == nil || slices.Contains(names.Name, e.Name)) && !slices.Contains(names.Exclude, e.Name)
}

// isSocket says whether a request is for the websocket.
func isSocket(r *http.Request) bool {
	return r.URL.Path == "/api/events/out" && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// answerSocket serves a websocket until either side ends it.
func (s *Server) answerSocket(w http.ResponseWriter, r *http.Request) {
	if s.sockets == nil || !strings.Contains(r.Header.Get("Sec-Websocket-Protocol"), "prefect") {
		reply(w, http.StatusForbidden, map[string]any{"detail": "Forbidden"})
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"prefect"}})
	if err != nil {
		return // answered
	}
	defer conn.CloseNow() //nolint:errcheck // it may be closed
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	var auth struct{ Type, Token string }
	if !receive(ctx, conn, &auth) || auth.Type != "auth" {
		_ = conn.Close(websocket.StatusPolicyViolation, "Expected 'auth' message")
		return
	}
	if s.secret != "" && auth.Token != s.secret {
		_ = conn.Close(websocket.StatusPolicyViolation, "Invalid token")
		return
	}
	if conn.Write(ctx, websocket.MessageText, []byte(`{"type":"auth_success"}`)) != nil {
		return
	}
	sub := &subscriber{queue: make(chan []byte, backlog), conn: conn}
	sub.wants.Filter.Occurred.Until = s.now()
	if !receive(ctx, conn, &sub.wants) || sub.wants.Type != "filter" {
		_ = conn.Close(websocket.StatusProtocolError, "Expected 'filter' message")
		return
	}
	if !s.subscribe(sub) {
		return
	}
	defer s.unsubscribe(sub)
	ctx = conn.CloseRead(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-sub.queue:
			if conn.Write(ctx, websocket.MessageText, text) != nil {
				return
			}
		}
	}
}

func receive(ctx context.Context, conn *websocket.Conn, into any) bool {
	_, text, err := conn.Read(ctx)
	return err == nil && json.Unmarshal(text, into) == nil
}

func (s *Server) subscribe(sub *subscriber) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sockets.open[sub] = struct{}{}
	s.sockets.opened++
	return true
}

func (s *Server) unsubscribe(sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sockets.open, sub)
}

// Sockets returns how many websockets are open, and how many there were.
func (s *Server) Sockets() (open, ever int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sockets == nil {
		return 0, 0
	}
	return len(s.sockets.open), s.sockets.opened
}

// CutSockets breaks every websocket off, as a proxy that is restarted does.
func (s *Server) CutSockets() {
	for _, conn := range s.conns() {
		_ = conn.CloseNow() // it may be closed
	}
}

// CloseSockets closes every websocket with a status and a reason.
func (s *Server) CloseSockets(code int, reason string) {
	for _, conn := range s.conns() {
		_ = conn.Close(websocket.StatusCode(code), reason) // it may be closed
	}
}

func (s *Server) conns() []*websocket.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sockets == nil {
		return nil
	}
	var all []*websocket.Conn
	for sub := range s.sockets.open {
		all = append(all, sub.conn)
	}
	return all
}

// FreezeSockets makes every connection that has become a websocket a dead one, as a firewall does that forgot it: what
// is sent vanishes, and nobody is told. It holds for later ones too, until it is taken back.
func (s *Server) FreezeSockets(frozen bool) { s.sockets.frozen.Store(frozen) }

// icy is a listener whose connections can be frozen.
type icy struct {
	net.Listener
	server *Server
}

func (l icy) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &icyConn{Conn: conn, server: l.server}, nil
}

// icyConn is a connection that can be frozen once it has become a websocket.
type icyConn struct {
	net.Conn
	server *Server
	socket atomic.Bool
}

func (c *icyConn) frozen() bool { return c.socket.Load() && c.server.sockets.frozen.Load() }

func (c *icyConn) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "HTTP/1.1 101") {
		c.socket.Store(true)
	}
	if c.frozen() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *icyConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || !c.frozen() {
			return n, err
		}
	}
}
