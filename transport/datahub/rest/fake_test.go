package rest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// answer answers a request.
type answer = func(w http.ResponseWriter, r sentRequest)

// gms is a server that answers as a test scripts it, and remembers what it was asked.
type gms struct {
	*httptest.Server
	mu     sync.Mutex
	sent   []sentRequest
	answer answer
}

// newGMS starts a server. What answer leaves unanswered gets 200 and a trace.
func newGMS(t *testing.T, answer answer) *gms {
	t.Helper()
	g := &gms{answer: answer}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

func (g *gms) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	sent := sentRequest{method: r.Method, path: r.RequestURI, header: r.Header.Clone(), body: string(body)}
	g.mu.Lock()
	g.sent = append(g.sent, sent)
	g.mu.Unlock()
	w.Header().Set("Traceparent", traceHeader)
	if g.answer != nil {
		g.answer(w, sent)
	}
}

func (g *gms) requests() []sentRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sent)
}

// paths returns the requests in short: method and path.
func (g *gms) paths() []string {
	var all []string
	for _, r := range g.requests() {
		all = append(all, r.method+" "+r.path)
	}
	return all
}

// tries is a script in which each answer comes once, and the last for ever.
func tries(answers ...answer) answer {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r sentRequest) {
		mu.Lock()
		answer := answers[min(n, len(answers)-1)]
		n++
		mu.Unlock()
		answer(w, r)
	}
}

// says answers with a status, a body and headers in pairs.
func says(status int, body string, headers ...string) answer {
	return func(w http.ResponseWriter, _ sentRequest) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// versioned answers /config as a server of a version, and the rest as given.
func versioned(version, env string, rest answer) answer {
	return func(w http.ResponseWriter, r sentRequest) {
		switch {
		case r.path == "/config":
			fmt.Fprintf(w, `{"noCode":"true","versions":{"acryldata/datahub":{"version":%q}},"datahub":{"serverEnv":%q}}`, version, env)
		case rest != nil:
			rest(w, r)
		}
	}
}

// newEmitter returns an emitter whose clock is moved by sleeping, and that clock.
func newEmitter(t *testing.T, url string, change func(*rest.Config)) (*rest.Emitter, *clock) {
	t.Helper()
	time := newClock()
	c := rest.Config{
		Server: url, API: rest.APIRestli, Now: time.Now, Sleep: time.Sleep,
		Retry: rest.RetryPolicy{Jitter: func() float64 { return 1 }},
	}
	if change != nil {
		change(&c)
	}
	e, err := rest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, time
}

// proposal returns a proposal for the n-th table.
func proposal(t testing.TB, n int) mcp.Proposal {
	t.Helper()
	p, err := mcp.New(fmt.Sprintf("urn:li:dataset:(urn:li:dataPlatform:hive,t%d,PROD)", n), properties{Description: fmt.Sprint(n)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func proposals(t testing.TB, n int) []mcp.Proposal {
	t.Helper()
	var all []mcp.Proposal
	for i := range n {
		all = append(all, proposal(t, i))
	}
	return all
}

var tableNumber = regexp.MustCompile(`hive,t(\d+),`)

// tables returns the tables in a body, in order, each once for each item.
func tables(body string) []string {
	var all []string
	for _, m := range tableNumber.FindAllStringSubmatch(body, -1) {
		all = append(all, m[1])
	}
	return all
}

// holds reports whether a body has a proposal for the n-th table.
func holds(body string, n int) bool { return strings.Contains(body, fmt.Sprintf("hive,t%d,", n)) }
