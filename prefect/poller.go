package prefect

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PollerConfig says how a Poller reads.
type PollerConfig struct {
	// Lookback is how long before its first poll a run may have ended to be read. Zero: DefaultLookback.
	Lookback time.Duration
	// SweepPages bounds the pages that one poll gives to each of the longer looks back; what is left of a look waits
	// for the next poll, so that looking back holds up nothing that is new. Zero: DefaultSweepPages.
	SweepPages int
}

// What a PollerConfig that leaves things out gets.
const (
	DefaultLookback   = time.Hour
	DefaultSweepPages = 20
)

// Poller finds the runs that changed. It is used by one goroutine at a time.
//
// Nothing in Prefect filters on the time of a change. A change is found by what runs now and by what ended lately, and
// for runs whose end is awaited, by id. Runs that show late are found by looking back (Overlap and its like). Whoever
// stores what a poll brings must bear seeing a run twice.
type Poller struct {
	api    RunLister
	cfg    PollerConfig
	prober *prober

	// How wide the server likes its queries, and the looks back that are under way. They are no part of the position:
	// after a restart a look back begins anew.
	catchUp, sweeping slicer
	short, day, late  *sweep
	lag               lag
	census            census
	heard             func(now time.Time) time.Time
}

// NewPoller returns a poller that reads from api.
func NewPoller(api RunLister, cfg PollerConfig) *Poller {
	if cfg.Lookback <= 0 {
		cfg.Lookback = DefaultLookback
	}
	if cfg.SweepPages <= 0 {
		cfg.SweepPages = DefaultSweepPages
	}
	return &Poller{api: api, cfg: cfg, prober: newProber(api), census: census{few: censusFew}}
}

// RelyOn has polls pass over the ends before the time that heard returns for the server's now: each was told by an event, and
// read by id since. Zero: none was. What is stored is counted all the same, so that an end which nobody heard of is found; only
// a run that ended twice between two polls, the second time unheard, waits for the look back over a day. It is to be called
// before the first poll.
func (p *Poller) RelyOn(heard func(now time.Time) time.Time) { p.heard = heard }

// Poll reads what changed since cur: the runs that run now, those that ended, and of the open runs those that were
// among neither. It hands portions of a few pages at most to yield; the last one carries the new position, and after
// an outage earlier ones do too. A zero cur is a first start. The new position's Ended is the server's clock at the
// beginning of the poll; it goes back only when the server's clock was set back.
//
// An error of yield ends the poll and is returned. After any error the position is the last one that was yielded.
func (p *Poller) Poll(ctx context.Context, cur Cursor, open OpenRuns, yield func(context.Context, Changes) error) error {
	err := p.poll(ctx, cur, open, yield)
	if errors.Is(err, ErrUnknownField) {
		p.prober.forget()
	}
	return unwrapYield(err)
}

func (p *Poller) poll(ctx context.Context, cur Cursor, open OpenRuns, yield func(context.Context, Changes) error) error {
	known, err := p.prober.get(ctx)
	if err != nil {
		return err
	}
	ahead, reading := newFeeds(ctx)
	defer ahead.stop()

	// The first answer tells the server's time. Only then is anything asked for that ended, so that whatever ends while
	// the poll goes on lies behind the new position.
	activeFlows := ahead.start(reading, func(ctx context.Context, emit func(Changes) error) error {
		return readActive(ctx, p.api, flowRunKind(p.api), emit)
	})
	first, more := <-activeFlows.out
	if !more {
		return activeFlows.err
	}
	if err := checkClock(first.Now); err != nil {
		return err
	}
	r := newRound(p, cur, first.Now, known, open, yield)
	if r.cur.SweptDay.IsZero() { // the server's clock or its database is another one
		p.census.forget()
	}
	activeTasks := ahead.start(reading, func(ctx context.Context, emit func(Changes) error) error {
		return readActive(ctx, p.api, taskRunKind(p.api), emit)
	})
	ended := r.startSlice(reading, r.slice(r.from))
	defer ended.stop()

	active := func(c Changes) error { return r.takeActive(ctx, c) }
	if err := active(first); err != nil {
		return err
	}
	if err := activeFlows.each(active); err != nil {
		return err
	}
	if err := activeTasks.each(active); err != nil {
		return err
	}
	if err := r.readTimeless(ctx); err != nil {
		return err
	}
	if err := r.readEnded(ctx, ended); err != nil {
		return err
	}
	if err := r.lookBack(ctx); err != nil {
		return err
	}
	if err := r.readOpen(ctx); err != nil {
		return err
	}
	if err := r.out.flush(ctx, &r.cur); err != nil {
		return err
	}
	p.short, p.day, p.late = r.short, r.day, r.late
	p.lag.passed(r.now, r.from)
	return nil
}

// readActive reads the runs that run now, whatever their age.
func readActive[T run](ctx context.Context, api RunLister, of kind[T], emit func(Changes) error) error {
	f := of.filter(Filter{}, RunFilter{State: inState(Running)})
	err := walkOffsets(ctx, of.pages(api), f, byID(T.id), func(page Page[T]) (bool, error) {
		return true, emit(changesOf(of, page))
	})
	if err != nil {
		return fmt.Errorf("finding active runs: %w", err)
	}
	return nil
}

func changesOf[T run](of kind[T], page Page[T]) Changes {
	c := of.changes(page.Rows)
	c.Bad, c.Now = page.Bad, page.Served
	return c
}
