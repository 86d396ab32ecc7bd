package rest_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

const page = "<!DOCTYPE html><html><body>Sign in</body></html>"

// hijack cuts the connection after writing some bytes of an answer.
func hijack(t *testing.T, text string) answer {
	return func(w http.ResponseWriter, _ sentRequest) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
}

// TestAnswers is the table of what each answer comes to, for one proposal.
func TestAnswers(t *testing.T) {
	t.Parallel()
	type want struct {
		State     rest.State
		Status    int
		Attempts  int
		Sleeps    []float64
		Retryable bool
		Message   string
		Hint      string
		NotGMS    bool
	}
	for name, c := range map[string]struct {
		answer answer
		want   want
	}{
		"400": {
			tries(says(400, `{"message":"bad aspect","stackTrace":"at com.linkedin","status":400}`)),
			want{State: rest.Failed, Status: 400, Attempts: 1, Message: "bad aspect"},
		},
		"400 of a server that is too old": {
			tries(says(400, `{"message":"/x :: unrecognized field found but not allowed"}`)),
			want{
				State: rest.Failed, Status: 400, Attempts: 1, Message: "/x :: unrecognized field found but not allowed",
				Hint: "the server is likely older than what was sent",
			},
		},
		"401": {
			tries(says(401, `{"message":"Unauthorized"}`)),
			want{
				State: rest.Failed, Status: 401, Attempts: 1, Message: "Unauthorized",
				Hint: "the token is missing, wrong or expired",
			},
		},
		"403": {
			tries(says(403, `{"message":"no"}`)),
			want{State: rest.Failed, Status: 403, Attempts: 1, Message: "no", Hint: "the token's owner may not write this"},
		},
		"404 with a page": {tries(says(404, page)), want{State: rest.Failed, Status: 404, Attempts: 1}},
		"413": {
			tries(says(413, "too large")),
			want{State: rest.Failed, Status: 413, Attempts: 1, Hint: "raise the limit of the server or of the proxy before it"},
		},
		"413 for a while": {
			tries(says(413, "", "Retry-After", "2"), says(200, "")),
			want{State: rest.Written, Status: 200, Sleeps: []float64{2}},
		},
		"422": {tries(says(422, `{"error":"Unprocessable"}`)), want{State: rest.Failed, Status: 422, Attempts: 1, Message: "Unprocessable"}},
		"429 that passes": {
			tries(says(429, ""), says(429, "", "Retry-After", "7"), says(200, "")),
			want{State: rest.Written, Status: 200, Sleeps: []float64{7}},
		},
		"429 with a day of Retry-After": {
			tries(says(429, "", "Retry-After", "86400"), says(200, "")),
			want{State: rest.Written, Status: 200, Sleeps: []float64{120}},
		},
		"500 for ever": {
			tries(says(500, `{"message":"boom"}`)),
			want{State: rest.Unknown, Status: 500, Attempts: 5, Sleeps: []float64{4, 8, 16}, Retryable: true, Message: "boom"},
		},
		"429s do not use up the tries of 503s": {
			tries(says(503, ""), says(429, ""), says(429, ""), says(503, ""), says(503, ""), says(503, ""), says(200, "")),
			want{State: rest.Written, Status: 200, Sleeps: []float64{4, 8, 16, 32, 64}},
		},
		"501":                         {tries(says(501, "")), want{State: rest.Unknown, Status: 501, Attempts: 1}},
		"a page instead of an answer": {tries(says(200, page)), want{State: rest.Failed, Status: 200, Attempts: 1, NotGMS: true}},
		"a redirect to a login": {
			tries(says(302, "", "Location", "https://user:secret@login.example/x?token=1")),
			want{
				State: rest.Failed, Status: 302, Attempts: 1, NotGMS: true,
				Hint: "it redirects to https://login.example/x",
			},
		},
		"an answer that is cut, then a good one": {
			tries(hijack(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), says(200, "{}")),
			want{State: rest.Written, Status: 200},
		},
		"a connection that is cut for ever": {
			tries(hijack(t, "")),
			want{State: rest.Unknown, Attempts: 5, Sleeps: []float64{4, 8, 16}, Retryable: true},
		},
		"no JSON": {tries(says(400, "{nonsense")), want{State: rest.Failed, Status: 400, Attempts: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, c.answer)
			e, time := newEmitter(t, g.URL, nil)
			r, err := e.Emit(t.Context(), proposal(t, 1))
			got := want{State: r.State, Status: r.Status, Sleeps: time.Slept(), NotGMS: errors.Is(err, rest.ErrNotGMS)}
			problem, ok := errors.AsType[*rest.Error](err)
			if ok {
				got.Status, got.Attempts, got.Retryable = problem.Status, problem.Attempts, problem.Retryable
				got.Message, got.Hint = problem.Message, problem.Hint
				if strings.Contains(string(problem.Body), "stackTrace") || strings.Contains(err.Error(), "secret") {
					t.Errorf("it tells too much: %v, %s", err, problem.Body)
				}
			}
			if (err == nil) != (r.State == rest.Written) || (err != nil && !ok) {
				t.Errorf("state %s with the error %v", r.State, err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s%v", diff, err)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	connects := 0
	e, time := newEmitter(t, "http://"+address, func(c *rest.Config) {
		c.Observe = func(a rest.Attempt) {
			connects++
			if a.Number != connects || a.Err == nil || a.Status != 0 || !strings.HasSuffix(a.URL, "/aspects?action=ingestProposal") {
				t.Errorf("attempt %+v", a)
			}
		}
	})
	r, err := e.Emit(t.Context(), proposal(t, 1))
	problem, ok := errors.AsType[*rest.Error](err)
	if !ok || problem.Status != 0 || !problem.Retryable || problem.Attempts != 5 || r.State != rest.Unknown || connects != 5 {
		t.Errorf("got %+v, %v after %d connects", r, err, connects)
	}
	// As error-connection-refused has it: five connects, with these waits between.
	if diff := cmp.Diff([]float64{4, 8, 16}, time.Slept()); diff != "" {
		t.Error(diff)
	}
}

// TestRedirects follows where the request stays what it is, and nowhere else.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := newGMS(t, nil)
	for name, c := range map[string]struct {
		status int
		to     string
		ok     bool
	}{
		"307 on the host":      {307, "/moved", true},
		"308 on the host":      {308, "/moved", true},
		"301 makes it a GET":   {301, "/moved", false},
		"307 to another name":  {307, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), false},
		"307 round and round":  {307, "/aspects?action=ingestProposal", false},
		"307 without location": {307, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
				if r.path != "/moved" {
					says(c.status, "", "Location", c.to)(w, r)
				}
			})
			e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Token = "tok-secret" })
			_, err := e.Emit(t.Context(), proposal(t, 1))
			if c.ok != (err == nil) || (err != nil && !errors.Is(err, rest.ErrNotGMS) && c.to != "") {
				t.Errorf("got %v", err)
			}
			if sent := g.requests(); c.ok && sent[1].body != sent[0].body {
				t.Errorf("the redirected request has the body %q", sent[1].body)
			}
		})
	}
	t.Cleanup(func() {
		if len(other.requests()) != 0 {
			t.Error("another host was shown the token")
		}
	})
}
