package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/state"
)

// sized is a store of any size.
type sized struct {
	size state.Size
	err  error
}

func (s *sized) Size(context.Context) (state.Size, error) { return s.size, s.err }

func TestSpacePauses(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	store := &sized{}
	s := &space{store: store, maxOutbox: 100 * mib, reserve: 64 * mib}
	for _, step := range []struct {
		name   string
		size   state.Size
		reason string // a part of it; empty: none
	}{
		{"all is well", state.Size{OutboxBytes: 99 * mib, DiskFree: 64 * mib}, ""},
		{"the outbox is full", state.Size{OutboxBytes: 100 * mib, DiskFree: 900 * mib}, "the outbox holds 100.0 MiB of 100.0 MiB"},
		{"a little was delivered", state.Size{OutboxBytes: 91 * mib, DiskFree: 900 * mib}, "the outbox holds"},
		{"enough was delivered", state.Size{OutboxBytes: 89 * mib, DiskFree: 900 * mib}, ""},
		{"the disk is short", state.Size{DiskFree: 63 * mib}, "the disk of the store has 63.0 MiB left and 64.0 MiB are kept"},
		{"it is not much better", state.Size{DiskFree: 70 * mib}, "the disk of the store"},
		{"it is better", state.Size{DiskFree: 71 * mib}, ""},
		{"the disk is short again", state.Size{DiskFree: 50 * mib}, "the disk of the store"},
		{"the outbox was emptied within the file", state.Size{DiskFree: 50 * mib, Free: 30 * mib}, ""},
		{"and filled again", state.Size{DiskFree: 50 * mib, Free: 13 * mib}, "the disk of the store"},
		{"room in the file alone is not enough", state.Size{DiskFree: 30 * mib, Free: 900 * mib}, "the disk of the store"},
		{"room in the log is as good as on the disk", state.Size{DiskFree: 29 * mib, Log: 21 * mib, Free: 51 * mib}, ""},
	} {
		store.size = step.size
		reason, err := s.Pause(t.Context())
		if err != nil || (reason == "") != (step.reason == "") || !strings.Contains(reason, step.reason) {
			t.Errorf("%s: %q, %v", step.name, reason, err)
		}
	}
	store.err = errors.New("no store")
	if _, err := s.Pause(t.Context()); !errors.Is(err, store.err) {
		t.Errorf("the error is %v", err)
	}
}
