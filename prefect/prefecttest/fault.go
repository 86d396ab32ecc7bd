package prefecttest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request is a request as it came in.
type Request struct {
	Method string
	Path   string // below /api, such as /task_runs/filter
	Query  string
	Header http.Header
	Body   []byte
	Length int64 // the Content-Length; -1: none was given
}

// Match chooses the requests that a fault is for.
type Match func(Request) bool

// Any matches every request.
func Any() Match { return func(Request) bool { return true } }

// Path matches requests by the beginning of their path below /api, such as /task_runs/ for lists and single rows.
func Path(prefix string) Match {
	return func(r Request) bool { return strings.HasPrefix(r.Path, prefix) }
}

// Fault answers one request instead of the server. next is the server.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

type script struct {
	match  Match
	faults []Fault
	always bool
}

// Fault plays faults on the requests that match, one on each, and is over when all are played. Of several scripts the
// first that matches plays.
func (s *Server) Fault(match Match, faults ...Fault) {
	s.addScript(&script{match: match, faults: faults})
}

// FaultAlways plays a fault on every request that matches until ClearFaults.
func (s *Server) FaultAlways(match Match, fault Fault) {
	s.addScript(&script{match: match, faults: []Fault{fault}, always: true})
}

func (s *Server) addScript(added *script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = append(s.scripts, added)
}

// ClearFaults takes all faults away.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = nil
}

func (s *Server) nextFault(r Request) Fault {
	for i, played := range s.scripts {
		if !played.match(r) || len(played.faults) == 0 {
			continue
		}
		fault := played.faults[0]
		if !played.always {
			played.faults = played.faults[1:]
			if len(played.faults) == 0 {
				s.scripts = slices.Delete(s.scripts, i, i+1)
			}
		}
		return fault
	}
	return nil
}

// OnRequest calls a function before each answer, which may change rows: so they move between two pages.
func (s *Server) OnRequest(hook func(Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count returns how many requests for a path there were, such as /task_runs/filter. Empty: all.
func (s *Server) Count(path string) int {
	count := 0
	for _, r := range s.Requests() {
		if path == "" || r.Path == path {
			count++
		}
	}
	return count
}

// ForgetRequests begins the count of requests anew.
func (s *Server) ForgetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Pass lets a request through, between the faults of a script.
func Pass() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
}

// Status answers with a status and a JSON body like the server's own.
func Status(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		reply(w, code, map[string]any{"exception_message": http.StatusText(code)})
	}
}

// RetryAfter answers with a status and a Retry-After header.
func RetryAfter(code int, value string) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header().Set("Retry-After", value)
		Status(code)(w, r, next)
	}
}

// Answer answers with this.
func Answer(code int, contentType, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header()["Content-Type"] = nil // else net/http would guess one
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// LoginPage answers 200 with HTML, as a proxy with a login page does.
func LoginPage() Fault {
	return Answer(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html><html><head><title>Sign in</title></head></html>")
}

// Redirect answers with a redirect.
func Redirect(code int, to string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}
}

// HalfJSON answers with the first half of the real answer, as if that were all: only the JSON shows it.
func HalfJSON() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		whole := record(r, next)
		write(w, whole.Code, whole.Body.Bytes()[:whole.Body.Len()/2])
	}
}

// BrokenOff begins the real answer and closes the connection in the middle.
func BrokenOff() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		whole := record(r, next)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Reset closes the connection without a word.
func Reset() Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // so that the other side sees a reset
		}
		_ = conn.Close()
	}
}

// Hang does not answer until the client gives up.
func Hang() Fault {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Slow answers rightly, after a while.
func Slow(wait time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// NoDate answers rightly, without a Date header.
func NoDate() Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header()["Date"] = nil
		next.ServeHTTP(w, r)
	}
}

// record runs the server on the side.
func record(r *http.Request, next http.Handler) *httptest.ResponseRecorder {
	whole := httptest.NewRecorder()
	next.ServeHTTP(whole, r)
	return whole
}
