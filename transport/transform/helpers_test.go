package transform_test

import (
	"context"
	"errors"

	"github.com/prefect-openlineage/listener/transport"
)

// closeable gives up with its caller and may be closed again, as real transports.
type closeable struct{ transport.Transport }

func (c closeable) Emit(ctx context.Context, event transport.Event) error {
	if err := ctx.Err(); err != nil {
		return transport.ClassifyError(err)
	}
	return c.Transport.Emit(ctx, event)
}

func (closeable) Close(context.Context) error { return nil }

var errSeen = errors.New("seen")

type prober struct{ transport.Transport }

func (prober) Probe(context.Context) (string, error) { return "seen", errSeen }
