package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/state"
)

const (
	storeTimeout  = 30 * time.Second // of one access to the store
	maxStoreWait  = 15 * time.Second // between tries of a store that fails
	firstStoreTry = 250 * time.Millisecond
)

// storeAccess is where the drain stands with the store. There is one access at a time.
type storeAccess struct {
	busy     bool
	lastTry  bool   // the access under way, or the last one, was the last before the end
	settling []done // in the access under way
	answers  chan answer
	failures int // in a row
	retryAt  time.Time
	loggedAt time.Time
}

// request is one access to the store: settle, put dead letters back, then claim what is due after that.
type request struct {
	settle  []done
	putBack letters
	claim   int
	busy    func(run uuid.UUID) bool
	now     time.Time
}

// answer is what came of a request. What was not done is in left.
type answer struct {
	request request
	left    request
	claimed []state.Delivery
	err     error
}

// access starts an access to the store when there is something to settle or to claim.
func (d *drain) access(ctx context.Context, now time.Time) {
	lastTry := d.ending()
	waiting := d.store.failures > 0 && !reached(d.store.retryAt, now) && !lastTry
	if d.store.busy || waiting || lastTry && d.store.lastTry {
		return
	}
	q := request{now: now, claim: d.claimSize(now)}
	if d.settleDue(now) {
		q.settle, q.putBack = d.settled, d.putBack
		d.settled, d.putBack = nil, letters{}
	}
	if len(q.settle) == 0 && len(q.putBack.seqs) == 0 && q.claim == 0 {
		return
	}
	if q.claim > 0 {
		d.look = false
		q.busy = d.excluded(q.settle)
	}
	d.store.busy, d.store.settling = true, q.settle
	d.store.lastTry = lastTry
	d.beside.Go(func() { d.store.answers <- d.ask(ctx, q) })
}

// settleDue says whether to settle now: when a good part of what may be unsettled has gathered, when nothing else is
// under way that could join, or when the first has waited long enough.
func (d *drain) settleDue(now time.Time) bool {
	if len(d.settled) == 0 {
		return len(d.putBack.seqs) > 0
	}
	return d.inFlight == 0 || len(d.settled) >= d.to.Parallel*aheadPerSend/2 || reached(d.lingerEnd, now)
}

// claimSize returns how many events to claim. The queue is filled up when it is half empty, so that sends need not wait
// for a query; a destination in a bad phase gets one event, when its time has come.
func (d *drain) claimSize(now time.Time) int {
	switch {
	case d.stopping || !d.look:
		return 0
	case d.standing.phase != open:
		if d.probing || len(d.queue) > 0 || !reached(d.standing.probeAt, now) {
			return 0
		}
		return 1
	case len(d.queue) > d.portion.limit/2:
		return 0
	default:
		return d.portion.limit
	}
}

// excluded returns the runs that must not be claimed: those with an unsettled event, unless it is settled in the same
// access, and in a bad phase those that were probed. It is a copy, since the access reads it beside the loop.
func (d *drain) excluded(settling []done) func(run uuid.UUID) bool {
	runs := maps.Clone(d.busy)
	for _, s := range settling {
		delete(runs, s.run)
	}
	maps.Copy(runs, d.standing.probed)
	return func(run uuid.UUID) bool { return hasRun(runs, run) }
}

func hasRun(runs map[uuid.UUID]struct{}, run uuid.UUID) bool {
	_, ok := runs[run]
	return ok
}

// ask does the access. It runs beside the loop. An access in hand is finished even when the listener stops: it is
// short, and what it settles need not be sent again.
func (d *drain) ask(ctx context.Context, q request) answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	a := answer{request: q, left: q}
	if len(q.settle) > 0 {
		settlements := make([]state.Settlement, len(q.settle))
		for i, s := range q.settle {
			settlements[i] = s.settlement
		}
		if err := d.outbox.Settle(ctx, d.to.Name, settlements); err != nil {
			a.err = fmt.Errorf("settling %d deliveries: %w", len(settlements), err)
			return a
		}
		a.left.settle = nil
	}
	if len(q.putBack.seqs) > 0 {
		if err := d.replay(ctx, q.putBack); err != nil {
			a.err = fmt.Errorf("putting %d dead letters back: %w", len(q.putBack.seqs), err)
			return a
		}
		a.left.putBack = letters{}
	}
	if q.claim > 0 {
		claimed, err := d.outbox.Claim(ctx, d.to.Name, q.now, q.claim, q.busy)
		if err != nil {
			a.err = fmt.Errorf("claiming events: %w", err)
			return a
		}
		a.claimed, a.left.claim = claimed, 0
	}
	return a
}

// answered takes over what an access has brought. It returns an error when the store can't go on.
func (d *drain) answered(a answer) error {
	now := d.now()
	d.store.busy, d.store.settling = false, nil
	if len(a.left.settle) == 0 {
		d.committed(a.request.settle, now)
	}
	if len(a.request.putBack.seqs) > len(a.left.putBack.seqs) {
		d.look = true
	}
	if a.err != nil {
		d.settled = append(a.left.settle, d.settled...)
		d.putBack = a.left.putBack.with(d.putBack)
		d.look = true
		return d.storeFailed(a.err, now)
	}
	if d.store.failures > 0 {
		d.log.Info("the store takes deliveries again", zap.Int("failures", d.store.failures))
		d.store.failures = 0
		d.look = true
	}
	if a.request.claim > 0 {
		d.claimed(a.request, a.claimed, now)
	}
	return nil
}

// committed frees the lanes whose attempts are settled for good.
func (d *drain) committed(settled []done, now time.Time) {
	for _, s := range settled {
		delete(d.busy, s.run)
		if s.settlement.Verdict == state.Again && s.settlement.Due.After(now) {
			d.dues.add(s.settlement.Due)
			continue
		}
		d.look = true // the lane's next event, or another run's that stood behind it
	}
	if len(settled) > 0 {
		for _, wake := range d.followers {
			signal(wake)
		}
	}
}

func (d *drain) claimed(q request, deliveries []state.Delivery, now time.Time) {
	d.portion.claimed(deliveries)
	if len(deliveries) >= q.claim {
		d.look = true
	}
	if d.standing.phase != open && len(deliveries) == 0 && len(d.standing.probed) > 0 {
		clear(d.standing.probed) // each was tried: begin again with the oldest
		d.look = true
		return
	}
	if d.stopping || d.standing.phase != open && !reached(d.standing.probeAt, now) {
		return // the destination went down while the claim was under way
	}
	if d.standing.phase != open {
		deliveries = deliveries[:min(1, len(deliveries))]
	}
	for _, delivery := range deliveries {
		if hasRun(d.busy, delivery.Event.Run) {
			continue
		}
		d.busy[delivery.Event.Run] = struct{}{}
		d.queue = append(d.queue, delivery)
	}
}

// storeFailed plans the next try of a store that fails, or gives up when it failed for good.
func (d *drain) storeFailed(err error, now time.Time) error {
	d.meter.failures.Inc()
	if errors.Is(err, state.ErrFatalIO) || errors.Is(err, state.ErrDamaged) {
		return fmt.Errorf("destination %s: %w", d.to.Name, err)
	}
	wait := min(maxStoreWait, firstStoreTry<<min(d.store.failures, 10))
	d.store.failures++
	d.store.retryAt = now.Add(wait)
	if d.store.failures == 1 || now.Sub(d.store.loggedAt) >= logEvery {
		d.store.loggedAt = now
		d.log.Warn("the store does not take deliveries, trying again",
			zap.Error(err), zap.Int("failures", d.store.failures), zap.Duration("wait", wait))
	}
	return nil
}
