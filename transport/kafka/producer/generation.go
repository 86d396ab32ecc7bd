package producer

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// generation is a client and those who use it.
type generation struct {
	client *kgo.Client
	users  int // guarded by the producer
	// retired: no more records go to the client. It is closed when the last user has left.
	retired atomic.Bool
	// lost: the client gave up a record that brokers may have, so that its numbers are in doubt.
	lost atomic.Bool
	// trouble is what went wrong last with a connection; nil once one works.
	trouble atomic.Pointer[error]
}

var (
	_ kgo.HookBrokerConnect = (*generation)(nil)
	_ kgo.HookBrokerE2E     = (*generation)(nil)
	_ kgo.Logger            = (*generation)(nil)
)

// take returns the client that is in use, or a new one where there is none.
func (p *Producer) take() (*generation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.retired.Load() {
		g := &generation{}
		opts, err := p.config.Options(p.build)
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.RecordRetries(min(quickTries, p.config.Retries)), kgo.WithHooks(g), kgo.WithLogger(g))
		if g.client, err = kgo.NewClient(opts...); err != nil {
			return nil, fmt.Errorf("making a client: %w", err)
		}
		p.current = g
	}
	p.current.users++
	return p.current, nil
}

// leave ends a use, and a retired client with its last one.
func (p *Producer) leave(g *generation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.users--
	if g.retired.Load() {
		p.end(g)
	}
}

// end closes a client that nobody uses; the producer is locked.
func (p *Producer) end(g *generation) {
	if p.current == g {
		p.current = nil
	}
	if g.users == 0 {
		p.closing.Go(g.client.Close)
	}
}

// settle decides on what the client says of a record. The client calls it for one record at a time, in the order in
// which it was done with them.
func (g *generation) settle(err error) error {
	switch {
	case err == nil && g.lost.Load():
		return errUnsure
	case err != nil && !clean(err):
		g.lost.Store(true)
		g.retired.Store(true)
	}
	return err
}

// explain adds to an error of the client's own what went wrong with a connection.
func (g *generation) explain(err error) error {
	last := g.trouble.Load()
	if last != nil && (errors.Is(err, kgo.ErrRecordTimeout) || errors.Is(err, kgo.ErrRecordRetries)) {
		return fmt.Errorf("%w: %w", err, *last)
	}
	return err
}

// OnBrokerConnect notes whether connections can be made.
func (g *generation) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		g.trouble.Store(&err)
	}
}

// OnBrokerE2E notes whether brokers answer.
func (g *generation) OnBrokerE2E(_ kgo.BrokerMetadata, _ int16, e2e kgo.BrokerE2E) {
	if err := e2e.Err(); err != nil {
		g.trouble.Store(&err)
	} else {
		g.trouble.Store(nil)
	}
}

// Level asks the client for errors and warnings.
func (*generation) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log keeps the error in what the client logs: a login that fails is said nowhere else.
func (g *generation) Log(_ kgo.LogLevel, _ string, pairs ...any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err, ok := pairs[i+1].(error); ok && pairs[i] == "err" && err != nil {
			g.trouble.Store(&err)
		}
	}
}
