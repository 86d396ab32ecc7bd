package prefect

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"
)

const (
	// mostGathered is how many runs are held at once to be put in order.
	mostGathered = 3 * MaxPage
	// leastGathered is the shortest stretch that is still cut in two because it holds more runs than that.
	leastGathered = time.Second
	// firstGathered is the stretch of flow runs that is tried first.
	firstGathered = time.Hour
)

// stretch reads the runs of one kind that started or ended within a span.
type stretch[T run] struct {
	api     RunLister
	of      kind[T]
	filters bool // the server filters these by end time
	base    Filter
	run     RunFilter
	within  span
	first   time.Duration // the length of the first slice
}

// read gives the runs in order: first those that ended in the span and started before it or never, then those that
// started in it, by their start. No run is given twice.
func (s stretch[T]) read(ctx context.Context, emit func(Page[T]) error) error {
	before := s.run
	before.StartTime = &Window{Before: utc(s.within.from)}
	err := s.readEnded(ctx, before, func(row T) bool { return row.began() != nil && row.began().Before(s.within.from) }, emit)
	if err != nil {
		return err
	}
	yes, never := true, s.run
	never.StartTime = &Window{IsNull: &yes}
	err = s.readEnded(ctx, never, func(row T) bool { return row.began() == nil }, emit)
	if err != nil {
		return err
	}
	return s.readStarted(ctx, emit)
}

// readEnded gives the runs that ended in the span, of those that a filter finds and want wants.
func (s stretch[T]) readEnded(ctx context.Context, r RunFilter, want func(T) bool, emit func(Page[T]) error) error {
	give := func(page Page[T]) error {
		page.Rows = keep(page.Rows, func(row T) bool { return want(row) && s.within.holds(row.ended()) })
		slices.SortFunc(page.Rows, byStart[T])
		return emit(page)
	}
	switch {
	case r.StartTime != nil && r.StartTime.IsNull != nil:
		return readUnstarted(ctx, s.api, s.of, s.base, r, s.within, give)
	case !s.filters:
		return walkTop(ctx, s.api, s.of, s.base, r, s.within, give)
	}
	// Few of the runs that ended in a long stretch are wanted, and the server has to look at all of them: where that
	// takes it too long, it is asked for less at once.
	ends := newEnds(s.api, s.of, s.base, r)
	cut := slicer{width: s.within.to.Sub(s.within.from)}
	for to := s.within.to; to.After(s.within.from); {
		in := span{from: later(s.within.from, to.Add(-cut.width)), to: to}
		err := ends.read(ctx, in, give)
		switch {
		case err != nil && cut.cut(err, in.to.Sub(in.from)):
			continue
		case err != nil:
			return err
		}
		cut.went(0)
		to = in.from
	}
	return nil
}

// readStarted gives the runs that started in the span, slice by slice. A slice is held as a whole, to put it in
// order: servers are slow at ordering by start time.
func (s stretch[T]) readStarted(ctx context.Context, emit func(Page[T]) error) error {
	cut := slicer{width: s.first}
	for from := s.within.from; from.Before(s.within.to); {
		in := cut.next(from, s.within.to, false)
		length := in.to.Sub(in.from)
		page, whole, err := s.gather(ctx, in, length > 2*leastGathered, emit)
		switch {
		case err != nil && cut.cut(err, length):
			continue
		case err != nil:
			return err
		case !whole:
			// Flow runs come in the order of random ids, so these are a fair sample of all that started in the slice. Task
			// runs come newest first: for them it is halved.
			aim := startOf(page.Rows[len(page.Rows)/4])
			cut.width = min(max(aim.Sub(in.from), leastGathered), length/2)
			continue
		}
		if err := emit(page); err != nil {
			return err
		}
		if len(page.Rows) < MaxPage {
			cut.width = 2 * length
		}
		cut.cuts, from = 0, in.to
	}
	return nil
}

// gather returns the runs that started in a span, in order. Where there are more than can be held and the span can be
// cut, it returns some of them; where it can't, it hands them over as they come.
func (s stretch[T]) gather(ctx context.Context, in span, canCut bool, emit func(Page[T]) error) (all Page[T], whole bool, err error) {
	r := s.run
	r.StartTime = in.window()
	whole = true
	err = walkOffsets(ctx, s.of.pages(s.api), s.of.filter(s.base, r), byID(T.id), func(page Page[T]) (bool, error) {
		all.Rows = append(all.Rows, keep(page.Rows, func(row T) bool { return in.holds(row.began()) })...)
		all.Bad = append(all.Bad, page.Bad...)
		all.Served = page.Served
		switch {
		case len(all.Rows) <= mostGathered:
			return true, nil
		case canCut:
			whole = false
			return false, nil
		}
		slices.SortFunc(all.Rows, byStart[T])
		err := emit(all)
		all = Page[T]{}
		return true, err
	})
	slices.SortFunc(all.Rows, byStart[T])
	return all, whole, err
}

// byStart has the earliest start first, and runs that never started before all others.
func byStart[T run](a, b T) int {
	x, y := a.id(), b.id()
	return cmp.Or(startOf(a).Compare(startOf(b)), bytes.Compare(x[:], y[:]))
}

func startOf[T run](row T) time.Time {
	if began := row.began(); began != nil {
		return *began
	}
	return time.Time{}
}
