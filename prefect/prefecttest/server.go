package prefecttest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// The versions whose ways are known here.
const (
	V2_20 = "2.20.25" // no filter by end time
	V3_6  = "3.6.0"   // flow runs by end time, task runs not
	V3_9  = "3.9.1"   // both
)

// Option changes a server from the stock one: 3.9.1, the real clock, pages of 200 rows, no protection.
type Option func(*Server)

// Version makes the server answer as this version.
func Version(version string) Option { return func(s *Server) { s.version = version } }

// Clock sets the server's clock, which dates its answers and the rows that are added without a time.
func Clock(now func() time.Time) Option { return func(s *Server) { s.now = now } }

// PageLimit sets the most rows that a page may hold, as PREFECT_SERVER_API_DEFAULT_LIMIT does.
func PageLimit(rows int) Option { return func(s *Server) { s.pageLimit = rows } }

// BearerAuth makes the server want an API key, as Prefect Cloud does.
func BearerAuth(key string) Option {
	return func(s *Server) { s.authorization, s.secret = "Bearer "+key, key }
}

// BasicAuth makes the server want a user:password, as PREFECT_SERVER_API_AUTH_STRING does.
func BasicAuth(userPassword string) Option {
	return func(s *Server) { s.authorization, s.secret = basic(userPassword), userPassword }
}

// CSRF turns the CSRF protection on, with tokens of this lifetime.
func CSRF(lifetime time.Duration) Option { return func(s *Server) { s.csrfLifetime = lifetime } }

// PostgreSQL puts missing times first where an order is descending, as a server on that database does. On SQLite, the
// stock one, they come last.
func PostgreSQL() Option { return func(s *Server) { s.postgres = true } }

// Server is a Prefect API in memory. Its methods may be called from several goroutines. It is an http.Handler for the
// paths below /api.
type Server struct {
	// URL is the API's address, for a server that New or NewTCP started. It ends in /api.
	URL string

	version       string
	now           func() time.Time
	pageLimit     int
	authorization string // the header's value
	secret        string // the same, as a websocket's first message holds it
	csrfLifetime  time.Duration
	postgres      bool
	noEvents      bool
	sockets       *sockets // nil: refused

	mu       sync.Mutex
	tables   map[string]*table
	events   []storedEvent
	numbers  map[string]int // of the rows made so far, for their ids
	tokens   map[string]token
	scripts  []*script
	requests []Request
	hook     func(Request)
	working  sync.WaitGroup // requests under way
	closed   bool           // no more requests

	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

type token struct {
	value   string
	expires time.Time
}

// NewServer returns a server that nothing listens for yet: it is a handler for any http.Server.
func NewServer(options ...Option) *Server {
	s := &Server{
		version: V3_9, now: time.Now, pageLimit: prefect.MaxPage,
		tables: make(map[string]*table), numbers: make(map[string]int), tokens: make(map[string]token),
	}
	for _, kind := range kinds {
		s.tables[kind] = newTable()
	}
	for _, option := range options {
		option(s)
	}
	return s
}

// New returns a server that listens in memory until the test ends. Only its Config reaches it.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := NewServer(options...)
	pipes := newPipes()
	s.dial = pipes.dial
	s.URL = "http://prefect.test/api"
	s.serve(t, pipes)
	return s
}

// NewTCP returns a server that listens on a free port of the loopback interface until the test ends.
func NewTCP(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := NewServer(options...)
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening for the Prefect test server: %v", err)
	}
	s.URL = "http://" + listener.Addr().String() + "/api"
	s.serve(t, listener)
	return s
}

func (s *Server) serve(t testing.TB, listener net.Listener) {
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	if s.sockets != nil {
		listener = icy{listener, s}
	}
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.CutSockets() // the HTTP server knows nothing of them any more
		s.working.Wait()
	})
}

// SetVersion makes the server answer as another version from now on, as after an upgrade.
func (s *Server) SetVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
	for _, table := range s.tables {
		for _, row := range table.rows {
			if row.record != nil {
				row.wire = nil // it may be written otherwise now
			}
		}
	}
}

// Config returns the settings by which a client reaches the server, credentials left out.
func (s *Server) Config() prefect.Config {
	return prefect.Config{URL: s.URL, DialContext: s.dial}
}

// Client returns a client of the server that is closed when the test ends.
func (s *Server) Client(t testing.TB) *prefect.Client {
	t.Helper()
	client, err := prefect.NewClient(s.Config(), nil, nil)
	if err != nil {
		t.Fatalf("making a client of the Prefect test server: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

// idSpace is the name space of the ids that are made up here.
var idSpace = uuid.MustParse("7a6f3a0e-6c52-4a0c-9a63-0f3a2f2f6a11")

// ID returns the id that a label always gets.
func ID(label string) uuid.UUID { return uuid.NewSHA1(idSpace, []byte(label)) }
