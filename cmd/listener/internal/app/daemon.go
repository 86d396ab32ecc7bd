package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ops"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// Run is the daemon: it reads and delivers until the context ends, which is no error.
func Run(ctx context.Context, o Options) (err error) {
	if o.Log == nil {
		return errNoLogger
	}
	var done cleanup
	defer func() { err = errors.Join(err, done.run()) }()
	d, err := newDaemon(ctx, o, &done)
	if err != nil {
		return err
	}
	return d.run(ctx)
}

// daemon is everything that runs.
type daemon struct {
	options Options
	store   *sqlite.Store
	deliver *deliver.Deliverer
	loop    *ingest.Loop
	hints   *hints // nil: off
	jobs    *backfillJobs
	secrets *secretsWatcher
	beat    *heartbeat // nil: off
	ops     *operations
	watched *watched
	sizes   *storeMetrics
}

// newDaemon wires everything in one straight line, since every step needs what the ones before it made. What has to be
// undone is pushed as soon as it stands, so that a failure half-way undoes it too.
func newDaemon(ctx context.Context, o Options, done *cleanup) (*daemon, error) {
	registry := ops.NewRegistry(ops.Build{Version: o.Version, Revision: o.Commit})
	shown := newOperations(o)
	done.push("stopping the HTTP server", shown.stop) // last, so that probes and metrics see the stop
	mapper, err := newAdapter(o)
	if err != nil {
		return nil, err
	}
	o.reductions = newReductions(registry, o.Log.Named("deliver"))
	destinations, err := newDestinations(o, o.Config.OpenLineage)
	if err != nil {
		return nil, err
	}
	byName := replaceables(destinations)
	src, err := newSource(o, registry, done)
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, o, done) // before the address: a second daemon is to hear of the first
	if err != nil {
		return nil, err
	}
	if err := shown.serve(ctx, o, registry); err != nil {
		return nil, err
	}
	done.push("closing the transports", closeDestinations(destinations))
	d := &daemon{
		options: o, store: store, ops: shown, watched: newWatched(o), sizes: newStoreMetrics(registry, o.Config.OutboxMaxBytes),
	}
	if o.Config.OpenLineage.Disabled {
		return d, nil // nothing is read, and the destinations keep their places
	}
	if err := register(ctx, store, destinations); err != nil {
		return nil, err
	}
	if err := d.own(ctx); err != nil {
		return nil, err
	}
	d.deliver, err = deliver.New(deliver.Options{
		Outbox: store, Destinations: destinations, Log: o.Log.Named("deliver"), Registerer: registry,
	})
	if err != nil {
		return nil, err
	}
	metrics := ingest.NewMetrics(registry)
	log, known := o.Log.Named("ingest"), o.known()
	recorder := ingest.NewRecorder(mapper, src.reader, ingest.Scrubbed{Ledger: store, Secrets: known.All}, log, metrics, d.deliver.Wake)
	poller := prefect.NewPoller(src.client, prefect.PollerConfig{Lookback: o.Config.Lookback})
	d.loop = &ingest.Loop{
		Poller: &ingest.Guard{
			Poller: poller,
			Store:  store, Prefect: src.reader, API: o.Config.Prefect.URL, Metrics: metrics, Log: log,
			Begun: func(ctx context.Context, now time.Time) error { return recorder.Retry(ctx, store, now) },
		},
		Recorder: recorder, Store: store, Report: shown, Metrics: metrics, Log: log,
		Space:    &space{store: store, maxOutbox: o.Config.OutboxMaxBytes, reserve: diskReserve},
		Interval: o.Config.PollInterval, Grace: o.Config.Grace, Alive: d.watched.heard,
	}
	d.loop.Tasks = ingest.NewTaskWatch(store, metrics, log)
	if o.Config.Hints {
		d.hints = newHints(o, src, poller, recorder, registry, log)
		d.loop.Hints, d.hints.follower.Tasks = d.hints.named, d.loop.Tasks
	}
	d.jobs = &backfillJobs{store: store, client: src.client, recorder: recorder, log: o.Log.Named("backfill")}
	d.secrets = &secretsWatcher{
		options: o, current: o.Config, known: known, client: src.client, destinations: byName,
		changed: d.deliver.Recheck, shown: shown, metrics: newReloadMetrics(registry),
	}
	beats := newHeartbeatMetrics(registry)
	if o.Config.Heartbeat.IsSet() {
		d.beat = newHeartbeat(o, d.trouble, beats)
	}
	shown.watch(d.deliver.Snapshot)
	return d, nil
}

// run starts everything and waits until all of it has ended. Reading ends first, in the middle of no transaction; then
// delivery gives what is under way its time.
func (d *daemon) run(ctx context.Context) error {
	d.ops.started()
	d.sayStarted()
	d.watched.started()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		d.watched.run(ctx)
		<-ctx.Done()
		d.ops.stopping()
		d.watched.stopping()
		return nil
	})
	group.Go(func() error {
		return housekeeping(ctx, d.store, d.options.Config.Retention, d.sizes, d.options.Log)
	})
	if d.deliver != nil {
		d.work(ctx, group)
	}
	err := group.Wait()
	d.options.Log.Info("stopped")
	return err
}

func (d *daemon) work(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error { return named("reading", d.loop.Run(d.watched.listen(ctx))) })
	if d.hints != nil {
		group.Go(func() error { return named("reading what events name", d.hints.run(ctx)) })
	}
	group.Go(func() error { return named("backfilling", d.jobs.run(ctx)) })
	group.Go(func() error { return named("delivering", d.deliver.Run(ctx)) })
	group.Go(func() error {
		d.secrets.run(ctx)
		return nil
	})
	group.Go(func() error {
		noting := &troubles{look: d.deliver.Snapshot, set: d.store.SetTroubles, log: d.options.Log}
		noting.run(ctx)
		return nil
	})
	if d.beat != nil {
		group.Go(func() error {
			d.beat.run(ctx)
			return nil
		})
	}
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (d *daemon) sayStarted() {
	c := d.options.Config
	fields := []zap.Field{
		zap.String("version", d.options.Version), zap.String("prefect", c.Prefect.URL), zap.String("store", c.StatePath),
		zap.Duration("poll_interval", c.PollInterval), zap.String("http", d.ops.addr()),
	}
	if d.deliver == nil {
		d.options.Log.Warn("started with OPENLINEAGE_DISABLED: nothing is read or sent", fields...)
		return
	}
	var names []string
	for _, s := range d.deliver.Snapshot() {
		names = append(names, s.Name)
	}
	d.options.Log.Info("started", append(fields, zap.Strings("destinations", names))...)
}

// own notes which Prefect the store belongs to where none is known yet. From then on the guard looks after it.
func (d *daemon) own(ctx context.Context) error {
	owner, err := d.store.Owner(ctx)
	if err != nil || owner.API != "" {
		return err
	}
	return d.store.SetOwner(ctx, state.Owner{API: d.options.Config.Prefect.URL, Since: time.Now()})
}
