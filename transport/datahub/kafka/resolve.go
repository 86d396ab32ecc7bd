package kafka

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// registryPause is the shortest wait between two questions after the registry refused: an operator mends nothing sooner.
	registryPause = time.Second
	// firstBackoff and lastBackoff bound the wait after no answer, which doubles between them.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// grace is what a question has beyond the records' time. One that is put at its very end would fail for that alone,
	// and the error would not say what was in the way all the time.
	grace = 50 * time.Millisecond
)

// resolve asks the registry for the schema's id while records wait for it, until it is known or the emitter closes.
func (e *Emitter) resolve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.waiting.wake:
		}
		for try := 0; ; try++ {
			oldest, some := e.waiting.oldest()
			if !some {
				break
			}
			id, err := e.ask(ctx, oldest)
			if err == nil {
				e.waiting.release(id, e.send)
				return
			}
			if ctx.Err() != nil {
				return // Close gives up what waits
			}
			if !e.keepWaiting(ctx, err, try) {
				break
			}
		}
	}
}

// ask asks the registry once, and hardly longer than the oldest record has time.
func (e *Emitter) ask(ctx context.Context, oldest time.Time) (uint32, error) {
	if limit := e.config.Producer.MessageTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, oldest.Add(limit+grace))
		defer cancel()
	}
	return e.registry.schemaID(ctx)
}

// keepWaiting settles what no answer can help any more and pauses. False: nothing waits.
func (e *Emitter) keepWaiting(ctx context.Context, err error, try int) bool {
	pause := firstBackoff << min(try, 10)
	pause = time.Duration(float64(min(pause, lastBackoff)) * (0.5 + rand.Float64()/2)) //nolint:gosec // a wait is no secret
	var answer *RegistryError
	if errors.As(err, &answer) && !answer.Temporary() {
		for _, r := range e.waiting.takeAll() {
			e.settle(r, Delivery{}, err)
		}
		sleep(ctx, registryPause)
		return true // what came meanwhile
	}
	limit := e.config.Producer.MessageTimeout
	e.expire(limit, err)
	oldest, some := e.waiting.oldest()
	if !some {
		return false
	}
	if limit > 0 {
		pause = min(pause, time.Until(oldest.Add(limit)))
	}
	sleep(ctx, pause)
	e.expire(limit, err)
	return true
}

// expire gives up the records whose time is over.
func (e *Emitter) expire(limit time.Duration, cause error) {
	if limit <= 0 {
		return
	}
	for _, r := range e.waiting.takeBefore(time.Now().Add(-limit)) {
		e.settle(r, Delivery{}, &TimeoutError{After: limit, Err: cause})
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(max(d, time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
