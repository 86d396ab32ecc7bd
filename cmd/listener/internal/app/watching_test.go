package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// A daemon that is well gives a sign of life, and one that can't read Prefect gives none.
func TestDaemonsHeartbeat(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 10)
	ping := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard <- r.Method + " " + r.URL.String() }))
	t.Cleanup(ping.Close)
	well, ill := newRig(t), newRig(t)
	ill.options.Config.Prefect.URL = "http://127.0.0.1:1/api"
	for name, r := range map[string]*rig{"well": well, "ill": ill} {
		r.options.Config.Heartbeat = config.NewCredential(ping.URL + "/" + name + "?key=1")
		r.start()
	}
	select {
	case got := <-heard:
		if got != "GET /well?key=1" {
			t.Errorf("heard %s", got)
		}
	case <-time.After(40 * time.Second):
		t.Fatal("no heartbeat")
	}
	for deadline := time.Now().Add(40 * time.Second); ill.logged("no heartbeat is sent until all is well again") == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is said of heartbeats that are not sent")
		}
	}
	if len(heard) > 0 {
		t.Errorf("heard %s", <-heard)
	}
}

// What polls read teaches the daemon which flows have task runs.
func TestDaemonLearnsWhichFlowsHaveTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.history(1)
	r.start()
	r.sink.WaitTaken(t, first) // so that the first poll is over
	r.prefect.AddHistory(prefecttest.History{Flows: 1, FlowRuns: 1, Tasks: 1, From: time.Now(), Every: time.Second, Lasts: time.Millisecond})
	store, err := sqlite.Open(t.Context(), r.options.Config.StatePath, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	waitFor(t, "a flow's habit is stored", func() bool {
		text, err := store.Cursor(t.Context(), "task-watch")
		return err == nil && strings.Contains(string(text), `"tasked":1`)
	})
}
