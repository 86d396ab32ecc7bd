package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// The first signal asks, the second ends at once.
func TestSignals(t *testing.T) { // not parallel: signals go to the whole process
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		exits := make(chan int, 1)
		ctx, stop := interruptible(context.Background(), func(code int) { exits <- code })
		kill := func() {
			t.Helper()
			if err := syscall.Kill(os.Getpid(), signal); err != nil {
				t.Fatal(err)
			}
		}
		kill()
		<-ctx.Done()
		cause, ok := errors.AsType[signalError](context.Cause(ctx))
		equal(t, []any{true, signal}, []any{ok, cause.signal})
		select {
		case code := <-exits:
			t.Fatalf("the first signal ends the process with %d", code)
		default:
		}
		kill()
		equal(t, 128+int(signal), <-exits)
		stop()
	}
}

func TestSignalsStop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, stop := interruptible(context.Background(), func(int) { t.Error("exit") })
	stop()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		t.Errorf("the cause is %v", cause)
	}
}
