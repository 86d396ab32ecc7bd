package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// supervisor counts what it hears.
type supervisor struct {
	patience time.Duration
	deaf     bool

	mu    sync.Mutex
	heard map[string]int
	last  time.Time // of a sign of life
}

func (s *supervisor) hear(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard == nil {
		s.heard = map[string]int{}
	}
	s.heard[what]++
	if what == "alive" {
		s.last = time.Now()
	}
	if s.deaf {
		return errors.New("nobody is there")
	}
	return nil
}

func (s *supervisor) Ready() error            { return s.hear("ready") }
func (s *supervisor) Stopping() error         { return s.hear("stopping") }
func (s *supervisor) Alive() error            { return s.hear("alive") }
func (s *supervisor) Patience() time.Duration { return s.patience }

func (s *supervisor) silence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.last)
}

// watch runs a watched daemon for the time of do.
func watch(t *testing.T, by Supervisor, do func(w *watched, logs *observer.ObservedLogs)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		w := newWatched(Options{
			Supervisor: by, Log: zap.New(core),
			Config: config.Config{Prefect: config.Prefect{RequestTimeout: time.Minute, MaxRequestsPerSecond: 0.1}},
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.run(ctx) })
		do(w, logs)
		cancel()
		running.Wait()
	})
}

// The supervisor hears of the daemon while reading goes on or rests as long as it said, and no more once it is stuck.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	const patience = 2 * time.Minute
	by := &supervisor{patience: patience}
	watch(t, by, func(w *watched, logs *observer.ObservedLogs) {
		w.started()
		time.Sleep(time.Hour) // reading has not begun: the store may be large
		for range 100 {
			w.heard(0)
			time.Sleep(4*time.Minute + 9*time.Second) // the longest that one step may take
			if by.silence() > patience/3 {
				t.Fatal("no sign of life, though reading goes on")
			}
		}
		w.heard(10 * time.Minute)
		time.Sleep(14 * time.Minute)
		if by.silence() > patience/3 {
			t.Error("no sign of life, though reading only rests")
		}
		time.Sleep(5 * time.Minute)
		if by.silence() < 3*time.Minute {
			t.Error("signs of life, though reading is stuck")
		}
		if n := logs.FilterLevelExact(zap.ErrorLevel).Len(); n != 1 {
			t.Errorf("%d lines say that it is stuck", n)
		}
		w.heard(0)
		time.Sleep(time.Minute)
		if by.silence() > patience/3 {
			t.Error("no sign of life, though reading goes on again")
		}
		w.stopping()
	})
	if by.heard["ready"] != 1 || by.heard["stopping"] != 1 {
		t.Errorf("heard %v", by.heard)
	}
}

func TestASupervisorWithoutAWatchdog(t *testing.T) {
	t.Parallel()
	by := &supervisor{}
	watch(t, by, func(w *watched, _ *observer.ObservedLogs) {
		w.started()
		w.heard(0)
		if ctx := t.Context(); w.listen(ctx) != ctx {
			t.Error("requests are listened to for nobody")
		}
		time.Sleep(time.Hour)
		w.stopping()
	})
	if by.heard["ready"] != 1 || by.heard["stopping"] != 1 || by.heard["alive"] != 0 {
		t.Errorf("heard %v", by.heard)
	}
}

// A request that reading makes, and its answer, are signs of reading.
func TestRequestsAreSigns(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-asked }))
	t.Cleanup(server.Close)
	w := newWatched(Options{Supervisor: &supervisor{patience: time.Minute}, Log: zap.NewNop()})
	ctx := w.listen(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	until := func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.until
	}
	answered := make(chan error, 1)
	go func() {
		answer, err := server.Client().Do(request)
		if err == nil {
			answer.Body.Close()
		}
		answered <- err
	}()
	waitFor(t, func() bool { return !until().IsZero() })
	first := until()
	close(asked)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if !until().After(first) {
		t.Error("the answer was no sign")
	}
}

func waitFor(t *testing.T, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !yes(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to it")
		}
	}
}

func TestNoSupervisor(t *testing.T) {
	t.Parallel()
	watch(t, nil, func(w *watched, logs *observer.ObservedLogs) {
		w.started()
		w.heard(time.Second)
		w.stopping()
		if logs.Len() != 0 {
			t.Errorf("the log: %v", logs.All())
		}
	})
}

// A supervisor that can't be told is no reason to end.
func TestADeafSupervisor(t *testing.T) {
	t.Parallel()
	watch(t, &supervisor{deaf: true, patience: time.Minute}, func(w *watched, logs *observer.ObservedLogs) {
		w.started()
		time.Sleep(time.Second)
		if logs.FilterLevelExact(zap.WarnLevel).Len() == 0 {
			t.Error("nothing is said of it")
		}
	})
}
