package prefect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// maxSteps bounds how often one read goes back a page because rows moved under it.
const maxSteps = 12

// errMoving: rows leave the list faster than it can be read.
var errMoving = errors.New("rows keep moving while they are read")

// errUnfiltered: the server gives runs that the query left out, so reading on would never end.
var errUnfiltered = errors.New("the server overlooks the filter by end time")

// tick is the precision in which servers keep times.
const tick = time.Microsecond

// pages reads single pages of a list.
type pages[T any] struct {
	resource string
	list     func(context.Context, Filter) (Page[T], error)
	most     int // rows in a page
}

func newPages[T any](resource string, list func(context.Context, Filter) (Page[T], error), most int) *pages[T] {
	if most <= 0 || most > MaxPage {
		most = MaxPage
	}
	return &pages[T]{resource: resource, list: list, most: most}
}

// read returns a page and whether another may follow it.
func (p *pages[T]) read(ctx context.Context, f Filter) (Page[T], bool, error) {
	return p.readSome(ctx, f, p.most)
}

// readSome returns a page of so many rows, and whether another may follow it.
func (p *pages[T]) readSome(ctx context.Context, f Filter, rows int) (Page[T], bool, error) {
	f.Limit = min(rows, p.most)
	page, err := p.list(ctx, f)
	if err != nil {
		return page, false, fmt.Errorf("reading %s: %w", p.resource, err)
	}
	return page, page.Full(f.Limit), nil
}

// place is how far a read has come in an order.
type place[T any] struct {
	by    order[T]
	begun bool
	last  T
	level map[uuid.UUID]struct{} // the rows that stand level with last
}

// fresh says whether a row lies behind the place.
func (p *place[T]) fresh(row T) bool {
	if !p.begun {
		return true
	}
	if c := p.by.compare(row, p.last); c != 0 {
		return c > 0
	}
	_, seen := p.level[p.by.id(row)]
	return !seen
}

// pass moves the place on and returns the rows that lay behind it.
func (p *place[T]) pass(rows []T) []T {
	fresh := make([]T, 0, len(rows))
	for _, row := range rows {
		if !p.fresh(row) {
			continue
		}
		if !p.begun || p.by.compare(row, p.last) != 0 {
			p.level = make(map[uuid.UUID]struct{}, 1)
		}
		p.begun, p.last = true, row
		p.level[p.by.id(row)] = struct{}{}
		fresh = append(fresh, row)
	}
	return fresh
}

// walk is a read of a list page by page, by offset.
type walk[T any] struct {
	src    *pages[T]
	filter Filter
	by     order[T]
	// start is the offset of the first page. Behind the top of the list, above says of a row whether it stands before
	// all that is wanted: the first page must begin with such a row, or some may have moved up and away.
	start int
	above func(T) bool
	// first is how many rows the first page has, the following ones four times as many as the one before: who wants the
	// top of a long list mostly wants little of it. Zero: as many as a page holds.
	first int
}

// walkOffsets reads a list from its top.
func walkOffsets[T any](ctx context.Context, src *pages[T], f Filter, by order[T], emit func(Page[T]) (bool, error)) error {
	w := walk[T]{src: src, filter: f, by: by}
	return w.read(ctx, emit)
}

// read gives each row once. Rows move between two pages: one that leaves the part already read draws all later ones
// up. So each page begins with a row of the page before; when its first row is new instead, some may have slipped
// through, and the read goes back until it meets a row it knows. The walk ends with a short page, or when emit wants
// no more.
func (w *walk[T]) read(ctx context.Context, emit func(Page[T]) (bool, error)) error {
	f := w.filter
	f.Sort, f.Offset = w.by.sort, w.start
	at := place[T]{by: w.by}
	overlap, steps, shared := 1, 0, false
	begun, back, size := false, w.src.most, cmp.Or(w.first, w.src.most)
	for {
		page, full, err := w.src.readSome(ctx, f, size)
		if err != nil {
			return err
		}
		size = min(4*size, w.src.most)
		if !begun && f.Offset > 0 && (len(page.Rows) == 0 || !w.above(page.Rows[0])) {
			f.Offset, back = max(f.Offset-back, 0), 2*back
			continue
		}
		got := len(page.Rows) + len(page.Bad)
		slipped := len(page.Rows) > 0 && at.fresh(page.Rows[0]) || got == 0
		if f.Offset > 0 && at.begun && shared && slipped {
			if steps++; steps > maxSteps {
				return fmt.Errorf("reading %s: %w", w.src.resource, errMoving)
			}
			overlap = min(4*overlap, max(w.src.most/2, 1))
			f.Offset = max(f.Offset-overlap, 0)
			continue
		}
		begun = true
		page.Rows = at.pass(page.Rows)
		if more, err := emit(page); err != nil || !more || !full {
			return err
		}
		again := min(overlap+len(page.Bad), got-1)
		f.Offset += got - again
		shared, overlap = again > 0, max(overlap/2, 1)
	}
}

// keep returns the rows for which want holds, in a slice of their own.
func keep[T any](rows []T, want func(T) bool) []T {
	kept := make([]T, 0, len(rows))
	for _, row := range rows {
		if want(row) {
			kept = append(kept, row)
		}
	}
	return kept
}
