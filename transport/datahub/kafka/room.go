package kafka

import (
	"context"
	"sync"
	"time"
)

// room bounds what an emitter holds, from Emit to the end of the callback, and knows when all of it is settled.
type room struct {
	maxRecords, maxBytes int
	closed               chan struct{} // closed when nobody may wait for room any more

	mu             sync.Mutex
	records, bytes int
	freed          chan struct{} // closed when something was given back; nil while nobody waits
	epoch          *epoch        // what is emitted now belongs to it
	older          []*epoch      // those that a Flush has ended and that are not settled
}

// epoch is what was emitted between two calls of Flush: a Flush waits for what was emitted before it, so that it ends
// even while others go on emitting.
type epoch struct {
	left  int
	ended bool
	done  chan struct{}
}

func newRoom(maxRecords, maxBytes int) *room {
	return &room{maxRecords: maxRecords, maxBytes: maxBytes, closed: make(chan struct{}), epoch: newEpoch()}
}

func newEpoch() *epoch { return &epoch{done: make(chan struct{})} }

// take makes room for size bytes, waiting at most so long, and not at all for wait 0.
func (r *room) take(ctx context.Context, size int, wait time.Duration) (*epoch, error) {
	begun := time.Now()
	var timeout <-chan time.Time
	for {
		r.mu.Lock()
		if r.fits(size) {
			r.records++
			r.bytes += size
			r.epoch.left++
			e := r.epoch
			r.mu.Unlock()
			return e, nil
		}
		full := &BufferFullError{Records: r.records, MaxRecords: r.maxRecords, Bytes: r.bytes, MaxBytes: r.maxBytes}
		if wait <= 0 {
			r.mu.Unlock()
			return nil, full
		}
		if r.freed == nil {
			r.freed = make(chan struct{})
		}
		freed := r.freed
		r.mu.Unlock()
		if timeout == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-freed:
		case <-timeout:
			full.Waited = time.Since(begun).Round(time.Millisecond)
			return nil, full
		case <-r.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// fits says whether size bytes more are allowed. A proposal that is alone always is: message.max.bytes bounds it.
func (r *room) fits(size int) bool {
	return r.records == 0 || (r.records < r.maxRecords && r.bytes+size <= r.maxBytes)
}

// give returns the room of one settled proposal.
func (r *room) give(e *epoch, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records--
	r.bytes -= size
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
	if e.left--; e.left == 0 && e.ended {
		r.drop(e)
		close(e.done)
	}
}

func (r *room) drop(e *epoch) {
	for i, one := range r.older {
		if one == e {
			r.older = append(r.older[:i:i], r.older[i+1:]...)
			return
		}
	}
}

// settled waits until all that was taken before the call is given back.
func (r *room) settled(ctx context.Context) error {
	r.mu.Lock()
	if r.epoch.left > 0 {
		r.epoch.ended = true
		r.older = append(r.older, r.epoch)
		r.epoch = newEpoch()
	}
	waiting := append([]*epoch(nil), r.older...)
	r.mu.Unlock()
	for _, e := range waiting {
		select {
		case <-e.done:
		case <-ctx.Done():
			if left := r.left(waiting); left > 0 {
				return &UnsettledError{Left: left, Err: context.Cause(ctx)}
			}
			return nil
		}
	}
	return nil
}

func (r *room) left(epochs []*epoch) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0
	for _, e := range epochs {
		sum += e.left
	}
	return sum
}

// held is how many proposals have no outcome yet, and their bytes.
func (r *room) held() (records, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records, r.bytes
}
