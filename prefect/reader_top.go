package prefect

import (
	"context"
	"fmt"
)

// firstTop is how many rows a poll asks for first where it has to read from the top: mostly little has ended in the half
// minute that it looks back over, and each row costs a server half a thousandth of a second.
const firstTop = 20

// walkTop reads the runs that ended in a span, newest first, from a server that can't filter by end time: of all that
// ended, in the order of their ends, those from the end of the span to its beginning. Where that stretch begins in the
// list is looked for first, so that a long time can be read in pieces, the oldest first.
func walkTop[T run](ctx context.Context, api RunLister, of kind[T], base Filter, r RunFilter, in span, emit func(Page[T]) error) error {
	r.State = inState(Completed, Failed, Cancelled, Crashed)
	w := walk[T]{src: of.pages(api), filter: of.filter(base, r), by: byEnd[T]()}
	if in.to.IsZero() {
		w.first = firstTop
	} else {
		w.above = func(row T) bool { end := row.endTime(); return end != nil && end.After(in.to) }
		if err := w.seek(ctx); err != nil {
			return err
		}
	}
	return w.read(ctx, func(page Page[T]) (bool, error) {
		_, low := endsOf(page.Rows)
		page.Rows = keep(page.Rows, func(row T) bool {
			return row.ended() == nil || in.holds(row.ended()) || row.ended().Equal(in.to)
		})
		more := low.IsZero() || !low.Before(in.from)
		return more, emit(page)
	})
}

// readUnstarted reads the runs that ended in a span without having started. Older servers give them no end time, so no
// filter by it finds them, and they stand where chance has them in the order by it.
func readUnstarted[T run](ctx context.Context, api RunLister, of kind[T], base Filter, r RunFilter, in span, emit func(Page[T]) error) error {
	unset := true
	r.State, r.StartTime = inState(Completed, Failed, Cancelled, Crashed), &Window{IsNull: &unset}
	return walkOffsets(ctx, of.pages(api), of.filter(base, r), byID(T.id), func(page Page[T]) (bool, error) {
		page.Rows = keep(page.Rows, func(row T) bool { return in.holds(row.ended()) })
		return true, emit(page)
	})
}

// seek sets the walk's start to a row above the part that is wanted, at most a page before the first that is. It asks
// for single rows, which cost a server far less than the pages between. A row that doesn't say where it stands counts
// as wanted: to begin too early costs a page, to begin too late would lose runs.
func (w *walk[T]) seek(ctx context.Context) error {
	f := w.filter
	f.Sort, f.Limit = w.by.sort, 1
	aboveAt := func(offset int) (bool, error) {
		f.Offset = offset
		page, err := w.src.list(ctx, f)
		if err != nil {
			return false, fmt.Errorf("finding a place in %s: %w", w.src.resource, err)
		}
		return len(page.Rows) > 0 && w.above(page.Rows[0]), nil
	}
	low, high := 0, w.src.most
	for {
		above, err := aboveAt(high)
		if err != nil {
			return err
		}
		if !above {
			break
		}
		low, high = high, 2*high
	}
	for high-low > w.src.most {
		middle := low + (high-low)/2
		above, err := aboveAt(middle)
		if err != nil {
			return err
		}
		if above {
			low = middle
		} else {
			high = middle
		}
	}
	w.start = low
	return nil
}
