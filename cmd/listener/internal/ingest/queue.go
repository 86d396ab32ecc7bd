package ingest

import (
	"context"
	"errors"

	"github.com/prefect-openlineage/listener/prefect"
)

// queue records portions one after the other while the next ones are being read. Reading waits for Prefect and
// recording for the disk, so a long catch-up takes as long as the slower of the two and not as both.
//
// A single portion is recorded in place. Once one comes while another is under way, what it needs from Prefect is read
// first, and then it waits for its turn; a third one waits before it.
type queue struct {
	recorder *Recorder
	mode     Mode
	record   func(ctx context.Context, changes prefect.Changes) error

	portions chan prefect.Changes
	failed   chan struct{} // closed once a portion could not be recorded
	done     chan struct{} // closed once the worker has ended; nil: there is none
	err      error         // of the worker, to be read after failed or done
}

// newQueue makes a queue. Record is called for each portion in turn, from one goroutine at a time.
func newQueue(r *Recorder, mode Mode, record func(context.Context, prefect.Changes) error) *queue {
	return &queue{recorder: r, mode: mode, record: record}
}

// put takes a portion. One that carries a position is recorded, and all before it are, once put returns: whoever moves
// the position on must know that it is stored. The error may be that of an earlier portion; nothing is recorded after
// it.
func (q *queue) put(ctx context.Context, changes prefect.Changes) error {
	switch {
	case q.done == nil && q.err != nil:
		return q.err
	case q.done == nil && changes.Cursor != nil:
		q.err = q.record(ctx, changes)
		return q.err
	case q.done == nil:
		q.start(ctx)
	}
	select {
	case q.portions <- changes:
	default:
		if err := q.recorder.readAhead(ctx, changes, q.mode); err != nil {
			return errors.Join(err, q.wait())
		}
		select {
		case q.portions <- changes:
		case <-q.failed:
			return q.wait()
		}
	}
	if changes.Cursor != nil {
		return q.wait()
	}
	return nil
}

func (q *queue) start(ctx context.Context) {
	q.portions, q.failed, q.done = make(chan prefect.Changes), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(q.done)
		for changes := range q.portions {
			if q.err = q.record(ctx, changes); q.err != nil {
				close(q.failed)
				return
			}
		}
	}()
}

// wait waits until all portions are recorded and returns the error that kept them from it. The queue may be used on
// after success. It must be called once nothing more is put.
func (q *queue) wait() error {
	if q.done == nil {
		return q.err
	}
	close(q.portions)
	<-q.done
	q.done = nil
	return q.err
}
