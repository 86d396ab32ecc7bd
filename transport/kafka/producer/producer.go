package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/semaphore"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/internal/mask"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
)

const (
	// quickTries is how often the client sends a record again by itself: a leader that moves is found within them. The
	// caller owns all longer retrying.
	quickTries = 4
	// patience is added to the time that brokers may take over a record, for connecting and for the way.
	patience = 15 * time.Second
)

// Producer sends records. It is safe for concurrent use.
type Producer struct {
	config librdkafka.Config
	build  librdkafka.Build
	limit  time.Duration
	mask   *mask.Masker
	// slots are taken by who sends, all of them by a record that has to travel alone.
	slots *semaphore.Weighted
	width int64
	// worked: brokers answered once, so that the settings are right and a connection that is cut is the brokers' matter.
	worked atomic.Bool

	mu      sync.Mutex
	current *generation
	closing sync.WaitGroup
}

// New returns a producer. It opens no connection and reads no file. Parallel is how many records may be under way at
// once.
func New(c librdkafka.Config, b librdkafka.Build, parallel int) *Producer {
	p := &Producer{
		config: c, build: b, mask: &mask.Masker{}, limit: c.RequestTimeout + patience,
		width: int64(max(1, min(parallel, c.MaxBufferedRecords))),
	}
	if c.MessageTimeout > 0 {
		p.limit = min(p.limit, c.MessageTimeout)
	}
	p.slots = semaphore.NewWeighted(p.width)
	p.mask.Set("settings", c.Secrets()...)
	seen := b.Seen
	p.build.Seen = func(secret string) {
		p.mask.Set("read", secret)
		if seen != nil {
			seen(secret)
		}
	}
	return p
}

// Mask takes secrets out of a text.
func (p *Producer) Mask(text string) string { return p.mask.Text(text) }

// Send delivers a record, or returns a *transport.Error. Nothing is tried any more once it has returned, except while
// others wait for the same client. The record's Key and Value may be read until then and must not change.
func (p *Producer) Send(ctx context.Context, record *kgo.Record) error {
	limited, cancel := context.WithTimeoutCause(ctx, p.limit, errTooLong)
	defer cancel()
	fault := p.send(limited, *record, 1)
	if fault != nil && fault.Outcome == transport.Permanent {
		fault = p.send(limited, *record, p.width)
	}
	if fault != nil {
		return fault
	}
	return nil
}

// send makes one attempt with as many slots.
func (p *Producer) send(ctx context.Context, record kgo.Record, slots int64) *transport.Error {
	doing := "producing to topic " + record.Topic
	if err := ctx.Err(); err != nil {
		return p.fault(ctx, doing, err)
	}
	if err := p.slots.Acquire(ctx, slots); err != nil {
		return p.fault(ctx, doing, err)
	}
	defer p.slots.Release(slots)
	g, err := p.take()
	if err != nil {
		return p.unusable(err)
	}
	defer p.leave(g)
	done := make(chan error, 1)
	// The context stays out of the client: it would give the record up in the middle.
	g.client.TryProduce(context.WithoutCancel(ctx), &record, func(_ *kgo.Record, err error) { done <- g.settle(err) })
	select {
	case err = <-done:
	case <-ctx.Done():
		g.retired.Store(true)
		if last := g.trouble.Load(); last != nil {
			return p.fault(ctx, doing, fmt.Errorf("%w: %w", context.Cause(ctx), *last))
		}
		return p.fault(ctx, doing, context.Cause(ctx))
	}
	if err != nil {
		return p.fault(ctx, doing, g.explain(err))
	}
	p.worked.Store(true)
	return nil
}

// Close ends all clients. It is called after the last Send has returned, and may be called again.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	if g := p.current; g != nil {
		p.current = nil
		g.retired.Store(true)
		p.end(g)
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.closing.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing connections to the brokers: %w", context.Cause(ctx))
	}
}

// errTooLong is why a record is given up that the brokers neither took nor refused.
var errTooLong = fmt.Errorf("the brokers did not acknowledge it in time: %w", context.DeadlineExceeded)

// errUnsure is said of a record that was acknowledged by a client that had lost count by then.
var errUnsure = errors.New("it was acknowledged after the client had lost another record, which makes the word unsure")
