package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
)

// requestsPerLook is how many requests of the cap a read of what events named takes: two for itself, and as many for the
// rest of the listener.
const requestsPerLook = 4

// hints are the parts that hear Prefect's events and read what they name.
type hints struct {
	named    *ingest.Hints
	events   *prefect.Hints
	follower *ingest.Follower
}

func newHints(o Options, src source, poller *prefect.Poller, recorder *ingest.Recorder, registry prometheus.Registerer, log *zap.Logger) *hints {
	named := ingest.NewHints(timeBetweenLooks(o.Config.Prefect.MaxRequestsPerSecond), log, ingest.NewHintMetrics(registry))
	return &hints{named: named, events: src.client.Hints(named, log), follower: ingest.NewFollower(named, poller, recorder, log)}
}

// timeBetweenLooks is the least time between two reads of what events named. Where requests are few it is longer, so that reads
// leave at least half of them to the polls.
func timeBetweenLooks(perSecond float64) time.Duration {
	if perSecond <= 0 {
		return ingest.LookEvery
	}
	return max(ingest.LookEvery, time.Duration(requestsPerLook/perSecond*float64(time.Second)))
}

func (h *hints) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		h.events.Run(ctx)
		return nil
	})
	group.Go(func() error { return h.follower.Run(ctx) })
	return group.Wait()
}
