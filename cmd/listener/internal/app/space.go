package app

import (
	"context"
	"fmt"

	"github.com/prefect-openlineage/listener/state"
)

// space says when the store must not grow any more. Prefect keeps what is not read meanwhile.
type space struct {
	store interface {
		Size(ctx context.Context) (state.Size, error)
	}
	maxOutbox int64 // bytes
	reserve   int64 // bytes that must stay free on the disk
	paused    bool
}

// easing is the part of the limit that must be free again before reading goes on, so that it does not stutter.
const easing = 10

// Pause returns why reading must rest, empty when it need not.
func (s *space) Pause(ctx context.Context) (string, error) {
	size, err := s.store.Size(ctx)
	if err != nil {
		return "", err
	}
	reason := s.reason(size)
	s.paused = reason != ""
	return reason, nil
}

// Rests returns why a daemon would not read with a store of that size, empty when it would.
func Rests(size state.Size, maxOutbox int64) string {
	return (&space{maxOutbox: maxOutbox, reserve: diskReserve}).reason(size)
}

func (s *space) reason(size state.Size) string {
	limit, reserve := s.maxOutbox, s.reserve
	if s.paused {
		limit -= limit / easing
		reserve += reserve / easing
	}
	// An outbox that was emptied leaves its room in the file, where it is used again before the file grows: without it
	// a pause that the outbox itself has brought about would not end when the outbox is empty. But what is written
	// passes through the log first, so half of the reserve must be there or on the disk.
	free, log := size.DiskFree+size.Free, size.DiskFree+size.Log
	switch {
	case size.OutboxBytes >= limit:
		return fmt.Sprintf("the outbox holds %s of %s (LISTENER_OUTBOX_MAX_BYTES): a destination has not taken its events",
			mebibytes(size.OutboxBytes), mebibytes(s.maxOutbox))
	case free < reserve || log < reserve/2:
		return fmt.Sprintf("the disk of the store has %s left and %s are kept in reserve", mebibytes(size.DiskFree), mebibytes(s.reserve))
	}
	return ""
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
