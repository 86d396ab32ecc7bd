package prefecttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		panic(http.ErrAbortHandler)
	}
	defer s.working.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	seen := Request{Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/api"), Query: r.URL.RawQuery,
		Header: r.Header.Clone(), Body: body, Length: r.ContentLength}
	s.mu.Lock()
	s.requests = append(s.requests, seen)
	hook, fault := s.hook, s.nextFault(seen)
	s.mu.Unlock()
	if hook != nil {
		hook(seen)
	}
	w.Header().Set("Server", "uvicorn")
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	if fault != nil {
		fault(w, r, http.HandlerFunc(s.answer))
		return
	}
	s.answer(w, r)
}

// begin counts a request as under way, unless the server has been closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.working.Add(1)
	return true
}

// answer is what a server without faults does.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if isSocket(r) {
		s.answerSocket(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path, found := strings.CutPrefix(r.URL.Path, "/api/")
	parts := strings.Split(path, "/")
	switch {
	case !found:
		missing(w, "Not Found")
	case path == "health":
		reply(w, http.StatusOK, true)
	case !s.admit(w, r):
	case path == "csrf-token":
		s.giveToken(w, r)
	case path == "admin/version":
		reply(w, http.StatusOK, s.version)
	case path == "events/filter" && r.Method == http.MethodPost, path == "events/filter/next" && r.Method == http.MethodGet:
		body, _ := io.ReadAll(r.Body) // it is in memory
		s.answerEvents(w, r, body)
	case len(parts) == 2 && slices.Contains(kinds, parts[0]) && parts[1] == "filter":
		if r.Method != http.MethodPost {
			reply(w, http.StatusMethodNotAllowed, map[string]any{"detail": "Method Not Allowed"})
			return
		}
		s.answerList(w, r, parts[0])
	case len(parts) == 2 && slices.Contains(kinds, parts[0]) && parts[1] == "count" && r.Method == http.MethodPost:
		s.answerCount(w, r, parts[0])
	case len(parts) == 2 && slices.Contains(kinds, parts[0]):
		s.answerRow(w, parts[0], parts[1])
	default:
		missing(w, "Not Found")
	}
}

// admit checks the CSRF token and then the credentials, in the real server's order.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if s.csrfLifetime > 0 && r.Method == http.MethodPost {
		given := r.Header.Get("Prefect-Csrf-Token")
		known, ok := s.tokens[r.Header.Get("Prefect-Csrf-Client")]
		switch {
		case given == "":
			reply(w, http.StatusForbidden, map[string]any{"detail": "Missing CSRF token."})
			return false
		case !ok || known.value != given || !s.now().Before(known.expires):
			reply(w, http.StatusForbidden, map[string]any{"detail": "Invalid CSRF token or client identifier."})
			return false
		}
	}
	if s.authorization != "" && r.Header.Get("Authorization") != s.authorization {
		reply(w, http.StatusUnauthorized, map[string]any{"exception_message": "Unauthorized"})
		return false
	}
	return true
}

func (s *Server) giveToken(w http.ResponseWriter, r *http.Request) {
	if s.csrfLifetime <= 0 {
		reply(w, http.StatusUnprocessableEntity, map[string]any{"detail": "CSRF protection is disabled."})
		return
	}
	client := r.URL.Query().Get("client")
	s.numbers["token"]++
	given := token{value: ID(fmt.Sprint("token ", client, s.numbers["token"])).String(), expires: s.now().Add(s.csrfLifetime)}
	s.tokens[client] = given
	reply(w, http.StatusOK, map[string]any{
		"id": ID(given.value), "created": s.moment(s.now()), "updated": s.moment(s.now()), "token": given.value,
		"client": client, "expiration": s.moment(given.expires),
	})
}

// ForgetTokens makes every CSRF token invalid, as a restart of the server does.
func (s *Server) ForgetTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

func (s *Server) answerList(w http.ResponseWriter, r *http.Request, kind string) {
	body, _ := io.ReadAll(r.Body) // it is in memory
	q, problems, err := s.parse(kind, body)
	var rows []*row
	if err == nil && len(problems) == 0 && q.limit >= 0 && q.limit <= s.pageLimit {
		rows, err = s.search(kind, q)
	}
	switch {
	case s.refused(w, body, problems, err):
	case q.limit < 0:
		reply(w, http.StatusUnprocessableEntity, map[string]any{"detail": "Invalid limit: must be greater than or equal to 0."})
	case q.limit > s.pageLimit:
		reply(w, http.StatusUnprocessableEntity, map[string]any{
			"detail": fmt.Sprintf("Invalid limit: must be less than or equal to %d.", s.pageLimit),
		})
	default:
		page := make([][]byte, len(rows))
		for i, r := range rows {
			page[i] = s.render(r)
		}
		write(w, http.StatusOK, slices.Concat([]byte("["), bytes.Join(page, []byte(",")), []byte("]")))
	}
}

func (s *Server) answerCount(w http.ResponseWriter, r *http.Request, kind string) {
	body, _ := io.ReadAll(r.Body) // it is in memory
	q, problems, err := s.parse(kind, body)
	q.limit, q.offset = math.MaxInt, 0
	var rows []*row
	if err == nil && len(problems) == 0 {
		rows, err = s.search(kind, q)
	}
	if !s.refused(w, body, problems, err) {
		reply(w, http.StatusOK, len(rows))
	}
}

// refused answers a filter that cannot be followed.
func (s *Server) refused(w http.ResponseWriter, body []byte, problems []problem, err error) bool {
	switch notHere, _ := errors.AsType[errNotHere](err); {
	case err != nil:
		reply(w, http.StatusNotImplemented, map[string]any{"detail": notHere.Error()})
	case len(problems) > 0:
		reply(w, http.StatusUnprocessableEntity, s.complain(problems, body))
	default:
		return false
	}
	return true
}

// complain is the body of a 422, in the form of pydantic 1 on Prefect 2 and of pydantic 2 on Prefect 3.
func (s *Server) complain(problems []problem, body []byte) map[string]any {
	details := make([]map[string]any, len(problems))
	for i, p := range problems {
		details[i] = map[string]any{"type": p.kind, "loc": p.loc, "msg": p.msg}
		if s.version == V2_20 {
			details[i]["type"] = p.old
			if p.old == "value_error.extra" {
				details[i]["msg"] = "extra fields not permitted"
			}
		}
	}
	var request any = string(body)
	if json.Valid(body) {
		request = jsonRaw(body)
	}
	return map[string]any{"exception_message": "Invalid request received.", "exception_detail": details, "request_body": request}
}

func (s *Server) answerRow(w http.ResponseWriter, kind, text string) {
	id, err := uuid.Parse(text)
	if err != nil {
		missing(w, "Not Found") // real paths only match UUIDs
		return
	}
	r := s.tables[kind].byID[id]
	if r == nil {
		missing(w, map[string]string{
			flowRuns: "Flow run not found", taskRuns: "Task not found", flows: "Flow not found",
			deployments: "Deployment not found", artifacts: "Artifact not found.",
		}[kind])
		return
	}
	write(w, http.StatusOK, s.render(r))
}

func missing(w http.ResponseWriter, detail string) {
	reply(w, http.StatusNotFound, map[string]any{"detail": detail})
}

func reply(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("prefecttest: writing an answer: %v", err))
	}
	write(w, status, body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away is its own affair
}

func basic(userPassword string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(userPassword))
}
