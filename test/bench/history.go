package main

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// tasksEach is how many task runs a flow run of a history has, each with a table artifact.
const tasksEach = 10

// historyOf adds finished flow runs to a Prefect in memory, spread evenly over a stretch of time.
func historyOf(server *prefecttest.Server, flowRuns int, from, until time.Time) {
	every := until.Sub(from) / time.Duration(flowRuns)
	server.AddHistory(prefecttest.History{
		Flows: 20, FlowRuns: flowRuns, Tasks: tasksEach, Tables: true, From: from, Every: every, Lasts: min(every, time.Minute),
	})
}

// events is how many events a history of so many flow runs makes: a start and an end for each run.
func events(flowRuns int) int { return 2 * flowRuns * (1 + tasksEach) }

// source is a Prefect to read from.
type source struct {
	url string // of the API
	// work is how long the server has worked so far; nil: that says nothing.
	work func() time.Duration
}

// serveInstant serves a Prefect in memory as fast as it can.
func (b *bench) serveInstant(server *prefecttest.Server) source {
	return source{url: b.serveAPI(server)}
}

// servePaced serves a Prefect in memory at the pace of a real one.
func (b *bench) servePaced(server *prefecttest.Server) source {
	p := &paced{next: server}
	return source{url: b.serveAPI(p), work: p.work}
}

func (b *bench) serveAPI(handler http.Handler) string {
	listener := b.listen()
	b.serve(&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}, listener)
	return "http://" + listener.Addr().String() + "/api"
}

// How long a real Prefect 3.9.1 on SQLite worked on a row, by list, and on any request. It does one at a time, and nearly
// all of the time it computes.
var (
	perRow = map[string]time.Duration{
		"flow_runs": 1250 * time.Microsecond, "task_runs": 500 * time.Microsecond, "artifacts": 180 * time.Microsecond,
	}
	perRequest = 8 * time.Millisecond
)

// paced works as long on its answers as a real server.
type paced struct {
	next   http.Handler
	mu     sync.Mutex
	worked time.Duration
}

func (p *paced) work() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.worked
}

// ServeHTTP holds an answer back until a real server would have had it.
func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := httptest.NewRecorder()
	p.next.ServeHTTP(answer, r)
	resource, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	rows := bytes.Count(answer.Body.Bytes(), []byte(`"created":"`)) // each row has one
	takes := perRequest + time.Duration(rows)*perRow[resource]
	work(r.Context(), takes)
	p.worked += takes
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // a client that went away is its own affair
}
