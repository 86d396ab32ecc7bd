package transporttest

import (
	"context"
	"slices"
	"sync"

	"github.com/prefect-openlineage/listener/transport"
)

// Recorder is a transport that is all memory: no network, so it works in a synctest bubble. It keeps what it was given
// and holds its caller to the contract.
type Recorder struct {
	// OnEmit decides on each event; nil takes it. It may block until ctx ends, and is called from several goroutines.
	OnEmit func(ctx context.Context, event transport.Event) error

	mu       sync.Mutex
	tried    []transport.Event
	taken    []transport.Event
	underWay map[string]int // by run id
	peak     int
	closed   int
	broken   []string
}

var _ transport.Transport = (*Recorder)(nil)

// Emit takes the event, or does what OnEmit says.
func (r *Recorder) Emit(ctx context.Context, event transport.Event) error {
	r.begin(event)
	var err error
	if r.OnEmit != nil {
		err = r.OnEmit(ctx, event)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay[event.RunID]--
	if r.underWay[event.RunID] == 0 {
		delete(r.underWay, event.RunID)
	}
	if err == nil {
		r.taken = append(r.taken, event)
	}
	return err
}

func (r *Recorder) begin(event transport.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.underWay == nil {
		r.underWay = map[string]int{}
	}
	if r.closed > 0 {
		r.broken = append(r.broken, "an event of run "+event.RunID+" came after Close")
	}
	if r.underWay[event.RunID] > 0 {
		r.broken = append(r.broken, "two events of run "+event.RunID+" were under way at once")
	}
	r.underWay[event.RunID]++
	all := 0
	for _, n := range r.underWay {
		all += n
	}
	r.peak = max(r.peak, all)
	r.tried = append(r.tried, event)
}

// Close notes that it was called.
func (r *Recorder) Close(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed++; r.closed > 1 {
		r.broken = append(r.broken, "Close came twice")
	}
	if len(r.underWay) > 0 {
		r.broken = append(r.broken, "Close came while an event was under way")
	}
	return nil
}

// Tried returns every event that was given, repeats included, in order.
func (r *Recorder) Tried() []transport.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tried)
}

// Taken returns the events that were delivered, in the order in which Emit returned.
func (r *Recorder) Taken() []transport.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken)
}

// Peak returns the largest number of events that were under way at once.
func (r *Recorder) Peak() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peak
}

// Closed reports whether Close was called.
func (r *Recorder) Closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed > 0
}

// Broken returns how the caller broke the Transport contract; nil when it kept it.
func (r *Recorder) Broken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.broken)
}
