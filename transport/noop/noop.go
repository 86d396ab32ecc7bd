// Package noop takes every event and does nothing with it.
package noop

import (
	"context"

	"github.com/prefect-openlineage/listener/transport"
)

// Transport drops events.
type Transport struct{}

var _ transport.Transport = Transport{}

// Emit takes an event, unless the caller has given up.
func (Transport) Emit(ctx context.Context, _ transport.Event) error {
	if err := ctx.Err(); err != nil {
		return transport.ClassifyError(err)
	}
	return nil
}

// Close does nothing.
func (Transport) Close(context.Context) error { return nil }
