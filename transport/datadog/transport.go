package datadog

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
)

// TransportOptions are what a transport gets besides its settings.
type TransportOptions struct {
	UserAgent string
	// Proxy chooses the way out; nil: HTTPS_PROXY and the like.
	Proxy func(*http.Request) (*url.URL, error)
	// Now is the clock; nil: the system's.
	Now func() time.Time
}

// Transport posts events to one site. It is safe for concurrent use.
type Transport struct {
	config Config
	stamp  stamp
	http   *httptransport.Transport
	lanes  map[bool]lane // by whether an event is async; nil: all are alike
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
)

// New returns a transport. It opens no connection; its error is about a certificate file.
func New(c Config, o TransportOptions) (*Transport, error) {
	over, err := httptransport.New(c.HTTP, httptransport.Options{
		UserAgent: o.UserAgent, Proxy: o.Proxy, Now: o.Now, Judge: judge,
	})
	if err != nil {
		return nil, err
	}
	t := &Transport{config: c, stamp: stamp{env: c.Env, service: c.Service}, http: over}
	if c.mixed() {
		t.lanes = map[bool]lane{true: newLane(c.Concurrent), false: newLane(httptransport.DefaultParallel)}
	}
	return t, nil
}

// Emit posts Datadog's copy of an event.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	event, err := t.stamp.apply(event)
	if err != nil {
		return err
	}
	if t.lanes != nil {
		lane := t.lanes[t.config.Rules.AsyncEvent(event)]
		if err := lane.enter(ctx); err != nil {
			return err
		}
		defer lane.leave()
	}
	return t.http.Emit(ctx, event)
}

// Close releases the connections. It may be called again.
func (t *Transport) Close(ctx context.Context) error { return t.http.Close(ctx) }

// lane lets so many events through at once.
type lane chan struct{}

func newLane(width int) lane { return make(lane, width) }

// enter waits for room.
func (l lane) enter(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return transport.ClassifyError(context.Cause(ctx))
	}
}

func (l lane) leave() { <-l }
