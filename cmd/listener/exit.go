package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/state"
)

// The exit codes. Those of signals are 128 and the signal's number.
const (
	exitOK      = 0
	exitError   = 1
	exitUsage   = 2 // settings or usage
	exitStart   = 3 // can't start: the store, its lock, the address
	exitDamaged = 4 // the store is damaged
	exitIO      = 5 // the disk failed
)

// usageError is a command line that can't be carried out.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

func (e usageError) Unwrap() error { return e.err }

// reported is an outcome that a command has already told in its own words.
type reported int

func (r reported) Error() string { return fmt.Sprintf("exit code %d", int(r)) }

// exitCode turns an error into the process's exit code, here and nowhere else.
func exitCode(ctx context.Context, err error) int {
	var told reported
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &told):
		return int(told)
	case errors.Is(err, state.ErrFatalIO):
		return exitIO
	case errors.Is(err, state.ErrDamaged):
		return exitDamaged
	case isSettings(err):
		return exitUsage
	case isStart(err):
		return exitStart
	case errors.Is(err, context.Canceled):
		if signal, ok := errors.AsType[signalError](context.Cause(ctx)); ok {
			return signal.code()
		}
	}
	return exitError
}

func isSettings(err error) bool {
	if _, ok := errors.AsType[usageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[config.Problems](err); ok {
		return true
	}
	_, ok := errors.AsType[*app.SettingsError](err)
	return ok
}

func isStart(err error) bool {
	if _, ok := errors.AsType[*app.StartError](err); ok {
		return true
	}
	return errors.Is(err, state.ErrLocked) || errors.Is(err, state.ErrNewer) || errors.Is(err, state.ErrFull)
}

// complain writes an error for people, each of its lines under the program's name.
func complain(w io.Writer, err error) {
	if _, told := errors.AsType[reported](err); told {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		_, _ = io.WriteString(w, "listener: "+line+"\n") // there is nowhere left to tell of it
	}
	if _, usage := errors.AsType[usageError](err); usage {
		_, _ = io.WriteString(w, "listener: see listener --help\n")
	}
}
