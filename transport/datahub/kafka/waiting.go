package kafka

import (
	"sync"
	"sync/atomic"
	"time"
)

// record is a proposal on its way.
type record struct {
	key, value []byte
	at         time.Time // of its Emit
	callback   Callback
	epoch      *epoch
}

func (r *record) size() int { return len(r.key) + len(r.value) }

// waiting keeps records in the order of their Emit until the schema's id is known.
type waiting struct {
	known atomic.Bool // whether id counts; only ever set
	id    uint32

	mu      sync.Mutex
	records []*record
	wake    chan struct{} // holds one: there is something to ask for
}

func newWaiting() *waiting { return &waiting{wake: make(chan struct{}, 1)} }

// add keeps a record, unless the id has become known meanwhile.
func (w *waiting) add(r *record) (kept bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known.Load() {
		return false
	}
	w.records = append(w.records, r)
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return true
}

// release makes the id known and hands all records to send. No other record is sent before these.
func (w *waiting) release(id uint32, send func(*record)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known.Load() {
		return
	}
	w.id = id
	for _, r := range w.records {
		send(r)
	}
	w.records = nil
	w.known.Store(true)
}

// takeBefore removes and returns the records that were emitted before a time.
func (w *waiting) takeBefore(t time.Time) []*record {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for n < len(w.records) && w.records[n].at.Before(t) {
		n++
	}
	taken := w.records[:n:n]
	w.records = w.records[n:]
	return taken
}

// takeAll removes and returns all records.
func (w *waiting) takeAll() []*record {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.records
	w.records = nil
	return taken
}

// oldest is when the first of the records was emitted; false where there is none.
func (w *waiting) oldest() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.records) == 0 {
		return time.Time{}, false
	}
	return w.records[0].at, true
}
