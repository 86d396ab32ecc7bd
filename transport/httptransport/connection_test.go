package httptransport_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// counting is a server that counts connections.
func counting(tb testing.TB, handler http.HandlerFunc) (url string, connections *atomic.Int32) {
	tb.Helper()
	connections = new(atomic.Int32)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	tb.Cleanup(server.Close)
	return server.URL, connections
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	var arrived sync.WaitGroup
	arrived.Add(8)
	var once sync.Map
	url, connections := counting(t, func(w http.ResponseWriter, r *http.Request) {
		if _, again := once.LoadOrStore(r.Header.Get("Idempotency-Key"), true); !again {
			arrived.Done()
			arrived.Wait() // all eight are under way at once
		}
		w.WriteHeader(422)
		_, _ = w.Write(make([]byte, 10_000)) // answers are read to their end, or the connection is lost
	})
	tr := build(t, map[string]any{"url": url})
	for range 5 {
		var wg sync.WaitGroup
		for run := range 8 {
			wg.Go(func() { _ = tr.Emit(t.Context(), transporttest.Event(run, 0)) })
		}
		wg.Wait()
	}
	if n := connections.Load(); n != 8 {
		t.Errorf("%d connections for 8 lanes, want 8", n)
	}
}

// The server closes kept connections just as they are used again: the request goes out once more at once, although the
// settings allow no try of their own.
func TestAKeptConnectionThatIsClosedCostsNothing(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := build(t, map[string]any{"url": sink.URL(), "retry": map[string]any{"total": 0}})
	for range 20 {
		deliver(t, tr)
		sink.DropConnections()
	}
	// The close may also cross the request: the server resets the connection on which the request has just gone out.
	var seen sync.Map
	url, connections := counting(t, func(w http.ResponseWriter, r *http.Request) {
		if _, again := seen.LoadOrStore(r.RemoteAddr, true); !again {
			w.WriteHeader(201)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	})
	crossed := build(t, map[string]any{"url": url, "retry": map[string]any{"total": 0}})
	for range 3 {
		deliver(t, crossed)
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("%d connections, want 3: the first answers on each, and the reuse is reset", n)
	}
}

// A consumer that never reads: the bound on the whole attempt ends it.
func TestAConsumerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	})
	defer conns.Wait()
	defer listener.Close()
	tr := build(t, map[string]any{"url": "http://" + listener.Addr().String(), "timeout": 0.1})
	event := transporttest.Event(1, 0)
	event.Body = make([]byte, 32<<20) // more than the kernel's buffers hold
	begin := time.Now()
	e := transporttest.RequireError(t, tr.Emit(t.Context(), event))
	if took := time.Since(begin); e.Reason != "timeout" || took > 2*time.Second {
		t.Errorf("%q after %v", e.Reason, took)
	}
}

// A slow answer that keeps trickling is over after three times the timeout, and its status still counts.
func TestATricklingAnswer(t *testing.T) {
	t.Parallel()
	for status, delivered := range map[int]bool{201: true, 503: false} {
		url, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			for range 200 {
				_, _ = w.Write([]byte("."))
				w.(http.Flusher).Flush()
				select {
				case <-time.After(20 * time.Millisecond):
				case <-r.Context().Done():
					return
				}
			}
		})
		tr := build(t, map[string]any{"url": url, "timeout": 0.6, "retry": map[string]any{"total": 0}})
		begin := time.Now()
		err := emit(t, tr)
		if (err == nil) != delivered || time.Since(begin) > 4*time.Second {
			t.Errorf("%d: %v after %v", status, err, time.Since(begin))
		}
	}
}
