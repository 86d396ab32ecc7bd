package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// sink is a consumer that takes every event at once. It does as little as it can, so that it is never what limits.
type sink struct {
	url string

	mu          sync.Mutex
	count       int
	first, last time.Time
	keep        bool
	taken       []arrival
}

// arrival is an event that came to a sink that keeps them.
type arrival struct {
	at   time.Time
	body []byte
}

// newSink starts a sink that ends with the measurement. One that keeps the events has their bodies afterwards.
func (b *bench) newSink(keep bool) *sink {
	s := &sink{keep: keep}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	listener := b.listen()
	s.url = "http://" + listener.Addr().String()
	b.serve(server, listener)
	return s
}

func (b *bench) listen() net.Listener {
	var config net.ListenConfig
	listener, err := config.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return listener
}

func (b *bench) serve(server *http.Server, on net.Listener) {
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(on) }) // returns when it is closed
	b.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
}

// ServeHTTP takes an event.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	var err error
	if s.keep {
		body, err = io.ReadAll(r.Body)
	} else {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil {
		return // the client went away
	}
	now := time.Now()
	s.mu.Lock()
	if s.count == 0 {
		s.first = now
	}
	s.count, s.last = s.count+1, now
	if s.keep {
		s.taken = append(s.taken, arrival{now, body})
	}
	s.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
}

// got is how many events came so far.
func (s *sink) got() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// times are when the first and the last event came.
func (s *sink) times() (first, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, s.last
}

// arrivals are the events that came so far.
func (s *sink) arrivals() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]arrival(nil), s.taken...)
}

// forget begins anew.
func (s *sink) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count, s.taken = 0, nil
}

// lineage is what is needed of an event.
type lineage struct {
	Type string    `json:"eventType"`
	Time time.Time `json:"eventTime"`
	Run  struct {
		ID string `json:"runId"`
	} `json:"run"`
}

func (a arrival) event() (lineage, error) {
	var e lineage
	err := json.Unmarshal(a.body, &e)
	return e, err
}

var _ http.Handler = (*sink)(nil)

// pause waits, unless the measurement is broken off.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
