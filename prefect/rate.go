package prefect

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// gate lets requests through: few at once, no faster than the cap, and none while the server has asked for a pause.
// Limits of Prefect Cloud count for a whole account, so one refusal means that the other requests must wait too.
type gate struct {
	slots   chan struct{}
	limiter *rate.Limiter

	mu    sync.Mutex
	until time.Time
}

func newGate(inFlight int, perSecond float64) *gate {
	limit := rate.Inf
	if perSecond > 0 {
		limit = rate.Limit(perSecond)
	}
	return &gate{slots: make(chan struct{}, inFlight), limiter: rate.NewLimiter(limit, max(1, int(perSecond)))}
}

// enter waits until a request may be sent. leave must be called once the request is over.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-g.slots }
	if err := g.sitOut(ctx); err != nil {
		leave()
		return nil, err
	}
	if err := g.limiter.Wait(ctx); err != nil {
		leave()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, context.DeadlineExceeded // the limiter gives up early on a wait that would end too late
	}
	return leave, nil
}

// pause holds back every request until then.
func (g *gate) pause(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.until) {
		g.until = until
	}
}

// sitOut waits for the end of the pause, which may be put off meanwhile.
func (g *gate) sitOut(ctx context.Context) error {
	for {
		g.mu.Lock()
		left := time.Until(g.until)
		g.mu.Unlock()
		if left <= 0 {
			return nil
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
