package app

import (
	"context"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

type outbox struct{ *sqlite.Store }

func (o outbox) Requeue(ctx context.Context, destination string, seqs []int64) error { return nil }
func (o outbox) Destinations(ctx context.Context) ([]state.DestinationStatus, error) {
	return o.Status(ctx)
}
