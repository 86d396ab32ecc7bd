package transporttest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Request is one request as the sink saw it.
type Request struct {
	N      int // its place among all requests, from 1
	At     time.Time
	Method string
	URL    *url.URL // path and query
	Host   string
	Header http.Header
	Raw    []byte // the body as it came
	Body   []byte // the body after gzip; Raw where there was none
	// Of the event, as far as the body is one.
	RunID, Type, Time string
	Reply             Reply
	// Taken: the sink has the event, whether or not the client was told.
	Taken bool
}

// Sink is an HTTP consumer on the loopback interface that records every request and answers by script. Without a script
// it takes everything.
type Sink struct {
	server  *httptest.Server
	script  Switch
	release chan struct{}
	once    sync.Once

	order sync.Mutex // held while a request is judged, so that scripts run one at a time
	count int        // requests so far

	mu       sync.Mutex
	requests []Request
	changed  chan struct{} // closed and renewed with every request
}

// NewSink starts a sink that ends with the test.
func NewSink(tb testing.TB) *Sink { return startSink(tb, nil) }

// NewTLSSink starts a sink that speaks https. A nil config asks for no client certificate.
func NewTLSSink(tb testing.TB, config *tls.Config) *Sink {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return startSink(tb, config)
}

func startSink(tb testing.TB, config *tls.Config) *Sink {
	tb.Helper()
	s := &Sink{release: make(chan struct{}), changed: make(chan struct{})}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.Config.ErrorLog = quiet()
	if config == nil {
		s.server.Start()
	} else {
		s.server.TLS = config
		s.server.StartTLS()
	}
	tb.Cleanup(s.Close)
	return s
}

// Close ends the sink and every request that hangs in it. It may be called again.
func (s *Sink) Close() {
	s.once.Do(func() {
		close(s.release)
		s.server.CloseClientConnections()
		s.server.Close()
	})
}

// URL is the sink's address, such as http://127.0.0.1:40001.
func (s *Sink) URL() string { return s.server.URL }

// CertPEM is the certificate of a TLS sink, which is its own authority. It is good for 127.0.0.1 and example.com.
func (s *Sink) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
}

// Script exchanges the script.
func (s *Sink) Script(script Script) { s.script.Set(script) }

// DropConnections closes all connections, those that clients keep for later too.
func (s *Sink) DropConnections() { s.server.CloseClientConnections() }

// Requests returns all requests so far, in order.
func (s *Sink) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Taken returns the events that the sink has, copies included, in the order in which they came.
func (s *Sink) Taken() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return !r.Taken })
}

// Forget drops what was recorded, for tests that run for long.
func (s *Sink) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// WaitTaken waits until the sink has at least n events, copies included, or fails the test after 10 s.
func (s *Sink) WaitTaken(tb testing.TB, n int) {
	tb.Helper()
	s.Wait(tb, fmt.Sprintf("%d events taken", n), func() bool { return len(s.Taken()) >= n })
}

// Wait waits until a condition on the sink's records holds, or fails the test after 10 s.
func (s *Sink) Wait(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			tb.Fatalf("waited for %s; the sink had %d requests, %d taken", what, len(s.Requests()), len(s.Taken()))
		}
	}
}

// serve records a request and does what the script says.
func (s *Sink) serve(w http.ResponseWriter, r *http.Request) {
	request := Request{
		At: time.Now(), Method: r.Method, URL: r.URL, Host: r.Host, Header: r.Header.Clone(),
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	request.setBody(raw)
	reply := s.record(request)
	s.answer(w, r, reply)
}

// record stores a request with the script's decision on it.
func (s *Sink) record(r Request) Reply {
	s.order.Lock()
	defer s.order.Unlock()
	s.count++
	r.N = s.count
	r.Reply = s.script.reply(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Taken = r.Method == http.MethodPost && r.Reply.takes()
	s.requests = append(s.requests, r)
	close(s.changed)
	s.changed = make(chan struct{})
	return r.Reply
}

// setBody stores the body and what it says of the event.
func (r *Request) setBody(raw []byte) {
	r.Raw, r.Body = raw, raw
	if r.Header.Get("Content-Encoding") == "gzip" {
		if reader, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			if body, err := io.ReadAll(reader); err == nil {
				r.Body = body
			}
		}
	}
	id := identify(r.Body)
	r.RunID, r.Type, r.Time = id.run, id.eventType, id.time
}

// answer carries a reply out.
func (s *Sink) answer(w http.ResponseWriter, r *http.Request, reply Reply) {
	if reply.Delay > 0 && !s.sleep(r, reply.Delay) {
		return
	}
	switch reply.Fault {
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.release:
		}
		panic(http.ErrAbortHandler)
	case ResetBefore, ResetAfter:
		reset(w)
		return
	case CutHead:
		cut(w, "HTTP/1.1 2")
		return
	case CutBody:
		cut(w, fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\ncut o",
			reply.Status, http.StatusText(reply.Status)))
		return
	case NoFault, Endless:
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(reply.Status)
	if reply.Fault == Endless {
		s.pour(w, r)
		return
	}
	_, _ = io.WriteString(w, reply.Body)
}

// sleep waits and reports whether somebody is still there for the answer.
func (s *Sink) sleep(r *http.Request, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	case <-s.release:
		return false
	}
}

// pour writes until the client has had enough.
func (s *Sink) pour(w http.ResponseWriter, r *http.Request) {
	chunk := strings.Repeat("on and on ", 400)
	for {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.release:
			return
		default:
		}
	}
}
