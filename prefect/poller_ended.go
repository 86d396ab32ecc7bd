package prefect

import (
	"context"
	"fmt"
	"time"
)

// slice is a stretch of time of which the ended runs are being read.
type slice struct {
	span         span
	length       time.Duration
	ahead        *feeds
	flows, tasks *feed
	pages        int // taken so far
}

func (s *slice) stop() { s.ahead.stop() }

// slice returns the stretch that begins at a time: all the rest, where the rest is short. The last one has no end,
// because workers' clocks, and so their runs' ends, may lie ahead.
func (r *round) slice(from time.Time) span {
	return r.p.catchUp.next(from, r.now, true)
}

// startSlice begins to read a stretch: flow runs and task runs side by side.
func (r *round) startSlice(ctx context.Context, in span) *slice {
	s := &slice{span: in, length: in.to.Sub(in.from)}
	if in.to.IsZero() {
		s.length = r.now.Sub(in.from)
	}
	var reading context.Context
	looking := r.looking
	s.ahead, reading = newFeeds(ctx)
	s.flows = s.ahead.start(reading, func(ctx context.Context, emit func(Changes) error) error {
		if err := readEnded(ctx, r.p.api, flowRunKind(r.p.api), r.known.flowEnd, r.known, in, emit); err != nil {
			return err
		}
		return r.readUnstartedFlows(ctx, in, emit)
	})
	s.tasks = s.ahead.start(reading, func(ctx context.Context, emit func(Changes) error) error {
		return r.readEndedTasks(ctx, in, looking, emit)
	})
	return s
}

// readEndedTasks reads the task runs that ended in a span. Those that are known to be stored are passed over where the
// server can count them, but for the longest look back, which takes nothing on trust.
func (r *round) readEndedTasks(ctx context.Context, in span, looking Look, emit func(Changes) error) error {
	if !r.known.taskEnd || looking == LookDay {
		return readEnded(ctx, r.p.api, taskRunKind(r.p.api), r.known.taskEnd, r.known, in, emit)
	}
	fresh := &unseen{api: r.p.api, census: &r.p.census, since: r.since, odd: looking == Look10m, emit: emit}
	if err := fresh.read(ctx, in); err != nil {
		return fmt.Errorf("finding ended runs: %w", err)
	}
	return nil
}

func readEnded[T run](ctx context.Context, api RunLister, of kind[T], filters bool, known features, in span, emit func(Changes) error) error {
	give := func(page Page[T]) error { return emit(changesOf(of, page)) }
	var err error
	if filters {
		err = newEnds(api, of, Filter{}, RunFilter{}).read(ctx, in, give)
	} else {
		var f RunFilter
		if unset := false; !known.flowEnd {
			f.StartTime = &Window{IsNull: &unset}
		}
		err = walkTop(ctx, api, of, Filter{}, f, in, give)
	}
	if err != nil {
		return fmt.Errorf("finding ended runs: %w", err)
	}
	return nil
}

// takeSlice takes all of a stretch: flow runs first, so that they come before their task runs.
func (r *round) takeSlice(ctx context.Context, s *slice) error {
	defer s.stop()
	take := func(c Changes) error {
		s.pages++
		return r.take(ctx, c)
	}
	if err := s.flows.each(take); err != nil {
		return err
	}
	if err := s.tasks.each(take); err != nil {
		return err
	}
	return r.readTimeless(ctx)
}

// readEnded reads what ended since the last poll, from the slice on that has been started. After a long time it goes
// slice by slice, the oldest first, and the position moves on with each.
func (r *round) readEnded(ctx context.Context, s *slice) error {
	for {
		err := r.takeSlice(ctx, s)
		switch {
		case err != nil && r.p.catchUp.cut(err, s.length):
			s = r.startSlice(ctx, r.slice(s.span.from))
			continue
		case err != nil:
			return err
		}
		r.p.catchUp.went(s.pages)
		if s.span.to.IsZero() {
			r.cur.Ended = later(r.cur.Ended, r.now)
			return nil
		}
		r.cur.Ended = later(r.cur.Ended, s.span.to)
		so := r.cur
		s = r.startSlice(ctx, r.slice(s.span.to)) // which is read while the position is stored
		if err := r.out.flush(ctx, &so); err != nil {
			s.stop()
			return err
		}
	}
}

// lookBack reads the parts of the longer looks back that this poll has time for.
func (r *round) lookBack(ctx context.Context) error {
	defer func() { r.looking = "" }()
	if r.late != nil {
		r.looking = LookLag
		pages, err := r.lookOn(ctx, r.late)
		if err != nil {
			return err
		}
		if r.late.done() {
			r.p.lag.looked(r.now, pages)
			r.late = nil
		}
	}
	for _, look := range []struct {
		kind  Look
		sweep **sweep
		swept *time.Time
	}{{Look10m, &r.short, &r.cur.Swept10m}, {LookDay, &r.day, &r.cur.SweptDay}} {
		if *look.sweep == nil {
			continue
		}
		r.looking = look.kind
		if _, err := r.lookOn(ctx, *look.sweep); err != nil {
			return err
		}
		if (*look.sweep).done() {
			*look.swept, *look.sweep = (*look.sweep).began, nil
		}
	}
	return nil
}

// lookOn reads on in one look back until it is done or has had its pages, and returns how many those were.
func (r *round) lookOn(ctx context.Context, look *sweep) (pages int, err error) {
	for !look.done() && pages < r.p.cfg.SweepPages {
		s := r.startSlice(ctx, r.p.sweeping.next(look.left.from, look.left.to, false))
		err := r.takeSlice(ctx, s)
		switch {
		case err != nil && r.p.sweeping.cut(err, s.length):
			continue
		case err != nil:
			return pages, err
		}
		r.p.sweeping.went(s.pages)
		pages += s.pages
		look.left.from = s.span.to
	}
	return pages, nil
}
