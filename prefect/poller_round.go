package prefect

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// settled is how old the state of a running run must be where names still move after it.
const settled = 2 * time.Second

// round is one poll under way.
type round struct {
	p     *Poller
	known features
	now   time.Time // the server's clock at the beginning
	cur   Cursor    // the position once what was read so far is stored
	from  time.Time // where the read of what ended begins
	since time.Time // the ends before it were read, if they were there: when the last poll began, or later
	out   *portion

	// flowRuns are those met whose task runs are still to be asked for ends without a time.
	flowRuns *idSet

	short, day, late *sweep // the looks back under way
	looking          Look   // the one whose rows are being taken; empty: none

	// active is when each run that was given as running came to be so, so that an older end can't overtake it.
	active map[uuid.UUID]time.Time
	// met says of each open run whether it was seen.
	met  map[uuid.UUID]bool
	open OpenRuns
}

func newRound(p *Poller, cur Cursor, now time.Time, known features, open OpenRuns, yield func(context.Context, Changes) error) *round {
	cur = cur.begin(now, p.cfg.Lookback)
	r := &round{
		p: p, known: known, now: now, cur: cur, from: cur.from(now), since: cur.Ended, out: newPortion(now, yield),
		active: make(map[uuid.UUID]time.Time), flowRuns: newIDSet(),
		met: make(map[uuid.UUID]bool, len(open.FlowRuns)+len(open.TaskRuns)), open: open,
	}
	for _, ids := range [][]uuid.UUID{open.FlowRuns, open.TaskRuns} {
		for _, id := range ids {
			r.met[id] = false
		}
	}
	if p.heard != nil {
		r.since = later(r.since, p.heard(now))
	}
	p.catchUp.begin()
	p.sweeping.cuts = 0
	r.planLooksBack()
	return r
}

// planLooksBack goes on with the looks back under way, or begins those that are due.
func (r *round) planLooksBack() {
	r.short, r.day = goOn(r.p.short, r.cur.sweep10m(r.now)), goOn(r.p.day, r.cur.sweepDay(r.now))
	r.late = goOn(r.p.late, r.p.lag.due(r.now, r.from))
}

// goOn returns a copy, so that a poll that fails leaves the look back where it was.
func goOn(underWay, due *sweep) *sweep {
	if underWay == nil {
		return due
	}
	left := *underWay
	return &left
}

// takeActive takes rows of the list of active runs.
func (r *round) takeActive(ctx context.Context, c Changes) error {
	for _, row := range c.FlowRuns {
		noteActive(r, row)
	}
	for _, row := range c.TaskRuns {
		noteActive(r, row)
	}
	return r.take(ctx, c)
}

func noteActive[T run](r *round, row T) {
	if state := row.state(); state != nil {
		r.active[row.id()] = state.Timestamp
	}
}

// take takes rows from wherever they were read.
func (r *round) take(ctx context.Context, c Changes) error {
	r.noteTimeless(c.FlowRuns)
	c.FlowRuns = takeRows(r, c.FlowRuns, c.Now)
	c.TaskRuns = takeRows(r, c.TaskRuns, c.Now)
	for _, row := range c.Bad {
		if id, err := uuid.Parse(row.ID); err == nil {
			r.meet(id)
		}
	}
	if r.looking != "" {
		c.Late = make(map[uuid.UUID]Look, len(c.FlowRuns)+len(c.TaskRuns))
		for _, row := range c.FlowRuns {
			c.Late[row.ID] = r.looking
		}
		for _, row := range c.TaskRuns {
			c.Late[row.ID] = r.looking
		}
	}
	return r.out.add(ctx, c)
}

// takeRows returns the rows that can be told now. The others come again: runs whose state isn't written yet, and
// those that may still be renamed.
func takeRows[T run](r *round, rows []T, served time.Time) []T {
	return keep(rows, func(row T) bool {
		r.meet(row.id())
		state := row.state()
		if state != nil && state.Type.Terminal() && !r.p.census.has(row.id(), row.ended()) {
			r.p.lag.note(row.id(), row.ended(), r.now)
		}
		if state == nil || state.Timestamp.Before(r.active[row.id()]) {
			return false
		}
		return !r.known.namesMove() || state.Type != Running || served.Sub(state.Timestamp) >= settled
	})
}

func (r *round) meet(id uuid.UUID) {
	if _, awaited := r.met[id]; awaited {
		r.met[id] = true
	}
}

// readOpen reads by id the open runs that were not met.
func (r *round) readOpen(ctx context.Context) error {
	unmet := func(id uuid.UUID) bool { return !r.met[id] }
	flows, tasks := keep(r.open.FlowRuns, unmet), keep(r.open.TaskRuns, unmet)
	ahead, reading := newFeeds(ctx)
	defer ahead.stop()
	read := ahead.start(reading, func(ctx context.Context, emit func(Changes) error) error {
		if err := readIDs(ctx, r.p.api, flowRunKind(r.p.api), flows, emit); err != nil {
			return err
		}
		return readIDs(ctx, r.p.api, taskRunKind(r.p.api), tasks, emit)
	})
	if err := read.each(func(c Changes) error { return r.take(ctx, c) }); err != nil {
		return fmt.Errorf("reading open runs: %w", err)
	}
	return nil
}
