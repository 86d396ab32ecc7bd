package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

const (
	// aheadPerSend is how many events may be sent and not yet settled for each that may be under way at once. It bounds
	// what a crash repeats, and lets one transaction settle many events of a fast consumer.
	aheadPerSend = 16
	// linger is how long a settlement waits for others, while others are under way.
	linger = 2 * time.Millisecond
	// lookEvery is how often the outbox is looked at without any sign: for rows whose wait began before a restart, and
	// for what other commands have put back.
	lookEvery = time.Second
)

// drain empties the outbox into one destination. Its loop owns all of its fields; sends and accesses to the store run
// beside it and report to it.
type drain struct {
	outbox  Outbox
	to      transport.Destination
	log     *zap.Logger
	now     func() time.Time
	meter   *meter
	report  *reporter
	patient time.Duration // how long sends may still take at the end

	wake, recheck chan struct{} // capacity 1: signals don't queue up
	hurry         <-chan struct{}
	followers     []chan struct{} // wakes the destinations that get an event once this one has it

	standing *standing
	portion  portion
	queue    []state.Delivery       // claimed, not yet sent
	busy     map[uuid.UUID]struct{} // runs with an event that is claimed and not yet settled
	inFlight int
	probing  bool // a probe is under way
	results  chan result

	settled   []done  // attempts that wait to be settled
	putBack   letters // to be made pending again
	lingerEnd time.Time
	store     storeAccess
	look      bool      // something may be there to be claimed
	lookAt    time.Time // next look without a sign
	dues      dues

	stopping  bool
	giveUpAt  time.Time // when sends are cancelled
	beside    sync.WaitGroup
	published snapshot

	lastDelivered time.Time
}

// done is an attempt whose settlement is not stored yet.
type done struct {
	run        uuid.UUID
	settlement state.Settlement
}

// run drains until the context ends and then lets the sends in hand end. It returns an error only when the store
// cannot go on.
func (d *drain) run(ctx context.Context) error {
	// The sends outlive the context: they are given time to end.
	sends, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer d.beside.Wait()
	defer cancel(errStopping)
	stop, hurry := ctx.Done(), d.hurry
	timer := time.NewTimer(0)
	defer timer.Stop()
	d.look, d.lookAt = true, d.now().Add(lookEvery)
	for {
		now := d.now()
		d.advance(now)
		d.dispatch(sends, now)
		d.access(ctx, now)
		d.publish()
		if d.finished() {
			return nil
		}
		timer.Reset(d.untilNext(now))
		select {
		case <-timer.C:
		case <-d.wake:
			d.look = true
		case <-d.recheck:
			d.standing.recheck(d.now())
			d.look = true
		case r := <-d.results:
			d.returned(r)
		case a := <-d.store.answers:
			if err := d.answered(a); err != nil {
				return err
			}
		case <-stop:
			stop = nil
			d.stop()
		case <-hurry:
			hurry = nil
			d.stop()
			cancel(errStopping)
		}
		if d.stopping && !d.now().Before(d.giveUpAt) {
			cancel(errStopping)
		}
	}
}

// advance takes note of what has come with time alone.
func (d *drain) advance(now time.Time) {
	if d.dues.pop(now) {
		d.look = true
	}
	if reached(d.lookAt, now) {
		d.look, d.lookAt = true, now.Add(lookEvery)
	}
	d.report.remind(now)
}

// dispatch starts as many sends as may be under way.
func (d *drain) dispatch(ctx context.Context, now time.Time) {
	for len(d.queue) > 0 && d.maySend(now) {
		next := d.queue[0]
		d.queue[0] = state.Delivery{}
		d.queue = d.queue[1:]
		d.inFlight++
		probe := d.standing.phase != open
		if probe {
			d.probing = true
			d.standing.probing(next.Event.Run)
		}
		d.beside.Go(func() { d.results <- send(ctx, d.to.Transport, next, probe) })
	}
	d.meter.inFlight.Set(float64(d.inFlight))
}

func (d *drain) maySend(now time.Time) bool {
	unsettled := d.inFlight + len(d.settled) + len(d.store.settling)
	switch {
	case d.stopping, d.store.failures > 0: // each more would be one more to repeat
		return false
	case d.inFlight >= d.to.Parallel, unsettled >= d.to.Parallel*aheadPerSend:
		return false
	case d.standing.phase != open:
		return !d.probing && reached(d.standing.probeAt, now)
	default:
		return true
	}
}

// returned deals with an attempt's end.
func (d *drain) returned(r result) {
	now := d.now()
	d.inFlight--
	if r.probe {
		d.probing = false
	}
	run := r.delivery.Event.Run
	d.meter.attempted(r, now)
	if r.fault == nil && !r.cancelled {
		d.lastDelivered = now
	}
	if r.cancelled {
		delete(d.busy, run)
		return
	}
	ruling := d.standing.judge(attempt{
		run: run, seq: r.delivery.Seq, attempts: r.delivery.Attempts, probe: r.probe, fault: r.fault,
	}, now)
	if len(d.settled) == 0 {
		d.lingerEnd = now.Add(linger)
	}
	d.settled = append(d.settled, done{run: run, settlement: ruling.settlement})
	d.putBack = d.putBack.with(ruling.putBack)
	for _, n := range ruling.news {
		d.meter.noted(n, d.standing.breaking)
		d.report.report(n, &r.delivery, now)
	}
	d.attempted(r)
	if d.standing.phase != open {
		d.drop()
	}
}

func (d *drain) attempted(r result) {
	if entry := d.log.Check(zap.DebugLevel, "attempt"); entry != nil {
		fields := append(eventFields(&r.delivery), zap.Duration("took", r.took), zap.Bool("probe", r.probe))
		if r.fault != nil {
			fields = append(fields, zap.Stringer("outcome", r.fault.Outcome))
			fields = append(fields, faultFields(r.fault)...)
		}
		entry.Write(fields...)
	}
}

// drop gives back what was claimed and not sent.
func (d *drain) drop() {
	for i := range d.queue {
		delete(d.busy, d.queue[i].Event.Run)
	}
	d.queue = nil
}

// stop ends claiming and starts the time that sends have to end. Done twice it changes nothing.
func (d *drain) stop() {
	if d.stopping {
		return
	}
	d.stopping = true
	d.giveUpAt = d.now().Add(d.patient)
	d.drop()
}

// ending says whether nothing is left to do but to settle what was sent.
func (d *drain) ending() bool { return d.stopping && d.inFlight == 0 }

// finished says whether all is done that can be done before the end. What the store does not take at a last try is left
// pending: it will be sent again, which is better than not to end.
func (d *drain) finished() bool {
	if !d.ending() || d.store.busy {
		return false
	}
	return len(d.settled) == 0 && len(d.putBack.seqs) == 0 || d.store.lastTry
}

// untilNext returns how long nothing will happen by itself.
func (d *drain) untilNext(now time.Time) time.Duration {
	next := d.lookAt
	earlier := func(at time.Time) {
		if at.After(now) && at.Before(next) {
			next = at
		}
	}
	if at, ok := d.dues.next(); ok {
		earlier(at)
	}
	if d.standing.phase != open && !d.probing {
		earlier(d.standing.probeAt)
	}
	if !d.store.busy {
		if len(d.settled) > 0 {
			earlier(d.lingerEnd)
		}
		earlier(d.store.retryAt)
	}
	if d.stopping {
		earlier(d.giveUpAt)
	}
	return max(next.Sub(now), 0)
}
