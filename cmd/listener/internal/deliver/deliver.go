package deliver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/prefect-openlineage/listener/transport"
)

// The defaults of Options.
const (
	DefaultShutdownTimeout = 15 * time.Second
	DefaultMaxTries        = 12
)

// countEvery is how often the store is asked how many events wait.
const countEvery = 15 * time.Second

// Options are what a Deliverer is made from.
type Options struct {
	Outbox Outbox
	// Destinations are drained each on its own. Their names must differ.
	Destinations []transport.Destination
	// Log defaults to none, Registerer to a registry of its own.
	Log        *zap.Logger
	Registerer prometheus.Registerer
	// ShutdownTimeout is how long sends in hand may take once the listener stops; default DefaultShutdownTimeout.
	ShutdownTimeout time.Duration
	// MaxTries is after how many tries an event that alone fails, while others pass, becomes a dead letter; default
	// DefaultMaxTries.
	MaxTries int
	// Now and Jitter, which returns numbers in [0,1), default to the clock and to random numbers. Jitter must be safe
	// for use by several goroutines.
	Now    func() time.Time
	Jitter func() float64
}

// Deliverer drains the outbox into every destination.
type Deliverer struct {
	outbox  Outbox
	log     *zap.Logger
	metrics *metrics
	drains  []*drain
	ran     atomic.Bool
	hurry   chan struct{}
	hasten  func()
}

// New makes a Deliverer. It starts nothing.
func New(o Options) (*Deliverer, error) {
	if o.Outbox == nil {
		return nil, errors.New("delivering: no outbox")
	}
	o.setDefaults()
	hurry := make(chan struct{})
	d := &Deliverer{
		outbox: o.Outbox, log: o.Log, metrics: newMetrics(o.Registerer),
		hurry: hurry, hasten: sync.OnceFunc(func() { close(hurry) }),
	}
	names := make(map[string]struct{}, len(o.Destinations))
	for _, to := range o.Destinations {
		if _, twice := names[to.Name]; twice || to.Name == "" || to.Transport == nil {
			return nil, fmt.Errorf("delivering: destination %q has no name of its own or no transport", to.Name)
		}
		names[to.Name] = struct{}{}
		d.drains = append(d.drains, newDrain(o, to, d.metrics.meter(to.Name), hurry))
	}
	for _, follower := range d.drains {
		for _, first := range d.drains {
			if follower.to.After == first.to.Name {
				first.followers = append(first.followers, follower.wake)
			}
		}
	}
	return d, nil
}

func (o *Options) setDefaults() {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.ShutdownTimeout <= 0 {
		o.ShutdownTimeout = DefaultShutdownTimeout
	}
	if o.MaxTries <= 0 {
		o.MaxTries = DefaultMaxTries
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
}

func newDrain(o Options, to transport.Destination, m *meter, hurry <-chan struct{}) *drain {
	to.Parallel = max(to.Parallel, 1)
	log := o.Log.With(zap.String("destination", to.Name))
	d := &drain{
		outbox: o.Outbox, to: to, log: log, now: o.Now, meter: m, report: newReporter(log), patient: o.ShutdownTimeout,
		wake: make(chan struct{}, 1), recheck: make(chan struct{}, 1), hurry: hurry,
		standing: newStanding(o.MaxTries, o.Jitter), portion: portion{limit: firstPortion},
		busy: make(map[uuid.UUID]struct{}), results: make(chan result, to.Parallel),
		store: storeAccess{answers: make(chan answer, 1)},
	}
	d.publish()
	return d
}

// Run delivers until the context ends. Then it claims nothing more, gives the sends in hand ShutdownTimeout to end,
// cancels the rest, whose events stay pending, and settles what was delivered. It returns when all of its goroutines
// have ended; only then may the transports be closed. An error means that the store cannot go on: it wraps
// state.ErrFatalIO or state.ErrDamaged. Run works once.
func (d *Deliverer) Run(ctx context.Context) error {
	if d.ran.Swap(true) {
		return errors.New("delivering: Run was called twice")
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, drain := range d.drains {
		group.Go(func() error {
			err := drain.run(ctx)
			if err != nil {
				d.Hurry() // nothing that is sent from now on could be settled
			}
			return err
		})
	}
	group.Go(func() error {
		d.count(ctx)
		return nil
	})
	return group.Wait()
}

// Wake tells that events were put into the outbox. It never blocks.
func (d *Deliverer) Wake() {
	for _, drain := range d.drains {
		signal(drain.wake)
	}
}

// Recheck tells that credentials or certificates have changed: destinations that are held are tried at once. It never
// blocks.
func (d *Deliverer) Recheck() {
	for _, drain := range d.drains {
		signal(drain.recheck)
	}
}

// Hurry ends a shutdown's patience: sends in hand are cancelled at once. Called before the context of Run ends it stops
// the delivery too. It may be called any number of times, at any moment.
func (d *Deliverer) Hurry() { d.hasten() }

// Snapshot says how each destination stands, in the order of Options.Destinations.
func (d *Deliverer) Snapshot() []DestinationState {
	states := make([]DestinationState, len(d.drains))
	for i, drain := range d.drains {
		states[i] = drain.published.get()
	}
	return states
}

// count shows in the metrics how much waits in the store, until the context ends.
func (d *Deliverer) count(ctx context.Context) {
	ticker := time.NewTicker(countEvery)
	defer ticker.Stop()
	for {
		d.countOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-d.hurry:
			return
		case <-ticker.C:
		}
	}
}

// countOnce leaves the figures as they are when the store does not answer; the drains tell of that.
func (d *Deliverer) countOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	all, err := d.outbox.Status(ctx)
	if err != nil {
		d.log.Debug("the outbox could not be counted", zap.Error(err))
		return
	}
	for _, s := range all {
		d.metrics.stored(s)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
