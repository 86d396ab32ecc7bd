package prefect

import (
	"context"
	"fmt"
	"time"
)

// ends reads runs by the time of their end, from a server that filters by it. Each page goes on from the end time of
// the last row, so rows that come and go elsewhere move nothing here.
type ends[T run] struct {
	src  *pages[T]
	of   kind[T]
	base Filter
	run  RunFilter
	at   place[T]
}

func newEnds[T run](api RunLister, of kind[T], base Filter, r RunFilter) *ends[T] {
	return &ends[T]{src: of.pages(api), of: of, base: base, run: r, at: place[T]{by: byEnd[T]()}}
}

// read gives the runs that ended in a span, newest first, each once. A later read may go on further back.
func (e *ends[T]) read(ctx context.Context, in span, emit func(Page[T]) error) error {
	f, r := e.base, e.run
	f.Sort = sortEnd
	for {
		r.EndTime = in.window()
		page, full, err := e.src.read(ctx, e.of.filter(f, r))
		if err != nil {
			return err
		}
		if len(page.Rows) == 0 && full { // nothing but bad rows, whose end times are unknown
			if err := emit(page); err != nil {
				return err
			}
			f.Offset += len(page.Bad)
			continue
		}
		high, low := endsOf(page.Rows)
		if full && (low.IsZero() || !in.to.IsZero() && high.After(in.to)) {
			return fmt.Errorf("reading %s: %w", e.src.resource, errUnfiltered)
		}
		page.Rows = e.at.pass(page.Rows)
		if err := emit(page); err != nil || !full {
			return err
		}
		f.Offset, in.to = 0, low
		if !high.Equal(low) {
			continue
		}
		// More runs than a page holds may have ended at this one moment. Their order by end time is chance, so they are
		// read by id.
		if err := e.readLevel(ctx, low, emit); err != nil {
			return err
		}
		if in.to = low.Add(-tick); in.to.Before(in.from) {
			return nil
		}
	}
}

// readLevel reads the runs that ended at one moment and have not been given yet.
func (e *ends[T]) readLevel(ctx context.Context, moment time.Time, emit func(Page[T]) error) error {
	r := e.run
	r.EndTime = span{from: moment, to: moment}.window()
	return walkOffsets(ctx, e.src, e.of.filter(e.base, r), byID(T.id), func(page Page[T]) (bool, error) {
		page.Rows = e.at.pass(page.Rows)
		return true, emit(page)
	})
}

// endsOf returns the newest and the oldest end time of some rows.
func endsOf[T run](rows []T) (high, low time.Time) {
	for _, row := range rows {
		end := row.endTime()
		if end == nil {
			continue
		}
		if high.IsZero() || end.After(high) {
			high = *end
		}
		if low.IsZero() || end.Before(low) {
			low = *end
		}
	}
	return high, low
}
