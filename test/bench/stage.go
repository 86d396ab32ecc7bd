package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// stage is a testing.TB for a program, so that what starts servers, sinks and flows for the tests does so here too.
type stage struct {
	testing.TB // nil: methods that are not below are not called

	name   string
	ctx    context.Context //nolint:containedctx // testing.TB hands out a context, and so must its stand-in
	cancel context.CancelFunc

	mu     sync.Mutex
	undo   []func()
	failed error
}

func newStage(name string) *stage {
	s := &stage{name: name}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// play calls f, which may end itself by Fatal, and then undoes all that it began. A signal does the same and ends the
// process.
func (s *stage) play(f func()) error {
	signals, stop := interrupted()
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		s.end()
	case got := <-signals:
		fmt.Fprintf(os.Stderr, "bench: %s: ending what was begun\n", got)
		s.end()
		os.Exit(130) //nolint:gocritic // what is deferred would only end the watch for signals
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *stage) end() {
	s.cancel()
	for {
		s.mu.Lock()
		if len(s.undo) == 0 {
			s.mu.Unlock()
			return
		}
		last := s.undo[len(s.undo)-1]
		s.undo = s.undo[:len(s.undo)-1]
		s.mu.Unlock()
		last()
	}
}

// Cleanup has f called at the end, the last one first.
func (s *stage) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undo = append(s.undo, f)
}

// Name is the measurement's.
func (s *stage) Name() string { return s.name }

// Helper does nothing: failures name no lines here.
func (s *stage) Helper() {}

// Context ends before the cleanups.
func (s *stage) Context() context.Context { return s.ctx }

// TempDir makes a folder that lasts as long as the measurement.
func (s *stage) TempDir() string {
	dir, err := os.MkdirTemp("", "listener-bench-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left there harms nobody
	return dir
}

// Fatal ends the measurement. As in a test, only the goroutine that measures may call it.
func (s *stage) Fatal(args ...any) {
	s.mu.Lock()
	s.failed = errors.New(fmt.Sprint(args...)) //nolint:err113 // the text is all there is
	s.mu.Unlock()
	runtime.Goexit()
}

// Fatalf is Fatal with a format.
func (s *stage) Fatalf(format string, args ...any) { s.Fatal(fmt.Sprintf(format, args...)) }

// Skip ends the measurement too: whoever asks for figures wants to know that there are none.
func (s *stage) Skip(args ...any) { s.Fatal(args...) }

// Logf says something beside the figures.
func (s *stage) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "  "+format+"\n", args...)
}

// within calls f and undoes all that it began.
func (s *stage) within(f func()) {
	s.mu.Lock()
	before := len(s.undo)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		later := slices.Clone(s.undo[before:])
		s.undo = s.undo[:before]
		s.mu.Unlock()
		slices.Reverse(later)
		for _, f := range later {
			f()
		}
	}()
	f()
}
