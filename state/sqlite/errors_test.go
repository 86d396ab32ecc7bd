package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// TestErrno covers what the system says of files beside the database; what SQLite says has tests with real faults.
func TestErrno(t *testing.T) {
	t.Parallel()
	for errno, want := range map[error]error{
		syscall.ENOSPC: state.ErrFull,
		syscall.EDQUOT: state.ErrFull,
		syscall.EROFS:  state.ErrFull,
		syscall.EIO:    state.ErrFatalIO,
	} {
		err := fmt.Errorf("writing: %w", &os.PathError{Op: "write", Path: "x", Err: errno})
		if got := sqlite.Classify("/x", err); !errors.Is(got, want) || !errors.Is(got, errno) {
			t.Errorf("%v became %v", errno, got)
		}
	}
	for _, err := range []error{nil, context.Canceled, syscall.EACCES, state.ErrLocked} {
		if got := sqlite.Classify("/x", err); !errors.Is(got, err) || errors.Is(got, state.ErrFull) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// TestBusy has another program hold the store's write lock for longer than a write waits.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	s := openDaemon(t, path, sqlite.Options{})
	defer s.Close()
	release := lockedByAnother(t, path)
	_, err := s.Commit(t.Context(), portion(1))
	if !errors.Is(err, state.ErrBusy) {
		t.Errorf("committing: %v", err)
	}
	if _, err := s.Told(t.Context(), told(portion(1))); err != nil {
		t.Errorf("reading: %v", err)
	}
	release()
	commit(t, s, portion(1))
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	s := openDaemon(t, storeIn(memoryDir(t)), sqlite.Options{})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, do := range map[string]func() error{
		"commit": func() error { _, err := s.Commit(ctx, portion(1)); return err },
		"told":   func() error { _, err := s.Told(ctx, told(portion(1))); return err },
	} {
		if err := do(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if at, err := position(t.Context(), s); err != nil || at != 0 {
		t.Errorf("the cursor is at %d, %v", at, err)
	}
}
