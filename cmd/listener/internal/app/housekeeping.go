package app

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

const (
	purgeEvery   = 10 * time.Minute
	measureEvery = 15 * time.Second
)

// housekeeping forgets what is old, measures the store and keeps its memory small, until the context ends.
func housekeeping(ctx context.Context, store *sqlite.Store, retention time.Duration, metrics *storeMetrics, log *zap.Logger) error {
	purge := time.NewTicker(purgeEvery)
	defer purge.Stop()
	measure := time.NewTicker(measureEvery)
	defer measure.Stop()
	for {
		if size, err := store.Size(ctx); err == nil {
			metrics.set(size)
		}
		_ = store.Slim(ctx) // whoever writes next hears of what is wrong
		select {
		case <-ctx.Done():
			return nil
		case <-measure.C:
		case <-purge.C:
			err := forget(ctx, store, retention, time.Now())
			switch {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, state.ErrFatalIO), errors.Is(err, state.ErrDamaged):
				return err
			default:
				log.Warn("old entries could not be removed from the store; trying again later", zap.Error(err))
			}
		}
	}
}

// forget purges what ended before the retention. That counts from the position in Prefect's time, or from the listener's
// own clock where that is behind: a clock that was put ahead must not empty the ledger, and where nothing was read
// nothing has to go.
func forget(ctx context.Context, store *sqlite.Store, retention time.Duration, now time.Time) error {
	read, err := readUpTo(ctx, store)
	if err != nil || read.IsZero() {
		return err
	}
	if read.Before(now) {
		now = read
	}
	return purgeOld(ctx, store, now.Add(-retention))
}

func purgeOld(ctx context.Context, store *sqlite.Store, before time.Time) error {
	for {
		purged, err := store.Purge(ctx, before)
		if err != nil || !purged.More {
			return err
		}
	}
}
