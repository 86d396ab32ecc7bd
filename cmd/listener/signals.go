package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signalError is the cause of a context that a signal cancelled.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return "got " + e.signal.String() }

func (e signalError) code() int { return 128 + int(e.signal) }

// interruptible returns a context that the first SIGINT or SIGTERM cancels, so that the listener can finish what it
// has in hand. The second one calls exit at once: whoever asks twice does not want to wait. stop ends the watch.
func interruptible(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	var watch sync.WaitGroup
	watch.Go(func() {
		for asked := false; ; asked = true {
			select {
			case <-done:
				return
			case got := <-signals:
				number, _ := got.(syscall.Signal) // these two always are
				if asked {
					exit(signalError{number}.code())
					return
				}
				cancel(signalError{number})
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		watch.Wait()
		cancel(nil)
	}
}

// outliveReaders keeps the process alive when whoever reads its standard output goes away: the console is one
// destination among others, and is held then like any that does not take its events.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }
