// Package transform changes events for one destination. The event that others get stays as it was, and the same event
// is changed to the same bytes each time.
package transform

import (
	"context"
	"fmt"

	"github.com/prefect-openlineage/listener/transport"
)

// Transformer changes an event. It must not write into the body that it is given.
type Transformer interface {
	Transform(event transport.Event) (transport.Event, error)
}

// Transport changes events on their way to another transport.
type Transport struct {
	transformer Transformer
	next        transport.Transport
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
	_ transport.Reviewer  = (*Transport)(nil)
)

// New returns a transport that sends what the transformer makes of an event to next.
func New(transformer Transformer, next transport.Transport) *Transport {
	return &Transport{transformer: transformer, next: next}
}

// Emit changes the event and sends it on. An event that can't be changed will never be: that is permanent.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	changed, err := t.transformer.Transform(event)
	if err != nil {
		return &transport.Error{
			Outcome: transport.Permanent, Reason: transport.ReasonRefused,
			Err: fmt.Errorf("transforming the event: %w", err),
		}
	}
	return t.next.Emit(ctx, changed)
}

// Close closes the transport behind.
func (t *Transport) Close(ctx context.Context) error { return t.next.Close(ctx) }

// Probe looks at the transport behind.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	if prober, ok := t.next.(transport.Prober); ok {
		return prober.Probe(ctx)
	}
	return "can't be tried without sending an event", nil
}

// Review says what the transport behind makes of the changed event.
func (t *Transport) Review(event transport.Event) transport.Review {
	changed, err := t.transformer.Transform(event)
	if err != nil {
		return transport.Review{Remarks: []string{"can't be changed as transform says, so it would be a dead letter: " + err.Error()}}
	}
	return transport.ReviewOf(t.next, changed)
}
