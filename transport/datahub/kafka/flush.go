package kafka

import (
	"context"
	"math"
	"sync"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// Flush returns once every proposal that was emitted before it is settled and its callback has run. When the context
// ends first it returns an *UnsettledError that says how many are not; they stay queued. Others may go on emitting.
func (e *Emitter) Flush(ctx context.Context) error {
	return e.room.settled(ctx)
}

// Held returns how many proposals wait, and how many bytes they have.
func (e *Emitter) Held() (records, bytes int) { return e.room.held() }

// EmitAll emits proposals and waits for their outcomes: one error for each, nil where the broker has it. It waits for
// room too, also where Emit does not. When the context ends first, those that are queued and have no outcome yet have an
// *UnsettledError: they stay queued and may still arrive.
func (e *Emitter) EmitAll(ctx context.Context, proposals []mcp.Proposal) []error {
	var (
		mu       sync.Mutex
		outcomes = make([]error, len(proposals))
		settled  = make([]bool, len(proposals))
		left     = len(proposals)
		done     = make(chan struct{})
	)
	if left == 0 {
		return outcomes
	}
	for i, p := range proposals {
		callback := func(_ Delivery, err error) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[i], settled[i] = err, true
			if left--; left == 0 {
				close(done)
			}
		}
		if err := e.queue(ctx, p, math.MaxInt64, callback); err != nil {
			callback(Delivery{}, err)
		}
	}
	select {
	case <-done:
		return outcomes
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	result := append([]error(nil), outcomes...)
	for i := range result {
		if !settled[i] {
			result[i] = &UnsettledError{Left: 1, Err: context.Cause(ctx)}
		}
	}
	return result
}

// Close takes no more proposals, waits until all are settled or the context ends, gives up the rest with ErrClosed and
// releases what the emitter holds. All callbacks have run when it returns. Its error is an *UnsettledError that says how
// many were given up. Closing again returns the same.
func (e *Emitter) Close(ctx context.Context) error {
	e.once.Do(func() {
		close(e.room.closed) // who waits for room leaves
		e.mu.Lock()
		e.closed = true
		e.mu.Unlock()
		e.err = e.room.settled(ctx)
		e.stop(ErrClosed)
		e.resolving.Wait()
		for _, r := range e.waiting.takeAll() {
			e.settle(r, Delivery{}, ErrClosed)
		}
		e.client.Close()
		// The client settles what it holds on a goroutine of its own.
		_ = e.room.settled(context.WithoutCancel(ctx)) // this context never ends
		e.sender.wait()
		e.settler.close()
		e.registry.close()
	})
	return e.err
}
