package prefect

import (
	"errors"
	"net/http"
	"time"
)

// How far back a poll looks, behind the position up to which everything was read. A run can show long after its own
// end: task runs are written by a recorder that lags, and workers' clocks go wrong.
const (
	// Overlap is looked back at each poll.
	Overlap = 30 * time.Second
	// Overlap10m is looked back once in Every10m.
	Overlap10m = 10 * time.Minute
	Every10m   = time.Minute
	// OverlapDay is looked back once in EveryDay.
	OverlapDay = 24 * time.Hour
	EveryDay   = time.Hour
)

const (
	// clockSlack is how much the clocks of a server's replicas may differ without it meaning anything.
	clockSlack = 5 * time.Second
	// firstSlice is the stretch that is read at once until it is known how much ran in it.
	firstSlice = 10 * time.Minute
	// leastSlice is the shortest stretch that is still cut in pieces when the server is too slow for it.
	leastSlice = 2 * time.Minute
	// mostCuts bounds how often one read is cut shorter before its error stands.
	mostCuts = 4
)

// begin settles where a poll goes on from, at the server's time now. A first start looks back a while. A clock that
// was set back, or a server restored from a copy, takes the position back too and makes the longer looks due: a
// position in the server's future would pass over everything until the clock reaches it.
func (c Cursor) begin(now time.Time, lookback time.Duration) Cursor {
	switch {
	case c.Ended.IsZero():
		since := now.Add(-lookback)
		return Cursor{Ended: since, Swept10m: now, SweptDay: now, Since: since}
	case c.Ended.After(now.Add(clockSlack)):
		c.Ended, c.Swept10m, c.SweptDay = now, time.Time{}, time.Time{}
		c.Since = earlier(c.Since, now.Add(-lookback)) // else nothing would be read until the clock is back there
	}
	return c
}

// from is where the read of each poll begins.
func (c Cursor) from(now time.Time) time.Time {
	return later(c.Since, earlier(c.Ended, now).Add(-Overlap))
}

// sweep is a longer look back that is under way: what is still to be read, and when it began.
type sweep struct {
	left  span
	began time.Time
}

// sweep10m and sweepDay return the longer look back that is due, or nil. A look back reaches as far as the one before
// it promised, however long nothing was read in between and whatever the position has become by now.
func (c Cursor) sweep10m(now time.Time) *sweep { return c.sweep(now, c.Swept10m, Overlap10m, Every10m) }
func (c Cursor) sweepDay(now time.Time) *sweep { return c.sweep(now, c.SweptDay, OverlapDay, EveryDay) }

func (c Cursor) sweep(now, last time.Time, overlap, every time.Duration) *sweep {
	if !last.IsZero() && now.Sub(last) < every && !last.After(now.Add(clockSlack)) {
		return nil
	}
	reach := earlier(c.Ended, now)
	if !last.IsZero() {
		reach = earlier(reach, last.Add(every))
	}
	left := span{from: later(c.Since, reach.Add(-overlap)), to: c.from(now)}
	return &sweep{left: left, began: now}
}

// done says whether nothing is left to read.
func (s *sweep) done() bool { return !s.left.from.Before(s.left.to) }

// slicer cuts a long stretch into slices that a server answers in good time: longer ones where little ran, shorter
// ones where it was too slow.
type slicer struct {
	width time.Duration
	cuts  int
}

// begin starts a read whose slices should be short at first. What the server was too slow for is remembered.
func (s *slicer) begin() { s.cuts, s.width = 0, min(s.width, firstSlice) }

// next returns the slice that begins at a time. It is open at its end where it reaches the end of the whole.
func (s *slicer) next(from, end time.Time, open bool) span {
	if s.width == 0 {
		s.width = firstSlice
	}
	if to := from.Add(s.width); to.Before(end) {
		return span{from: from, to: to}
	}
	if open {
		return span{from: from}
	}
	return span{from: from, to: end}
}

// went is told of a slice that was read, and of how many pages it had.
func (s *slicer) went(pages int) {
	s.cuts = 0
	switch {
	case pages <= 4:
		s.width = min(2*s.width, 365*24*time.Hour)
	case pages > 40:
		s.width = max(s.width/2, leastSlice)
	}
}

// cut says whether a slice of some length should be tried again shorter after an error.
func (s *slicer) cut(err error, length time.Duration) bool {
	if !tooWide(err) || length <= leastSlice || s.cuts >= mostCuts {
		return false
	}
	s.cuts++
	s.width = max(min(s.width, length)/4, leastSlice)
	return true
}

// tooWide says whether a narrower query may pass where this one failed.
func tooWide(err error) bool {
	if _, theirs := errors.AsType[*yieldError](err); theirs {
		return false
	}
	refusal, ok := errors.AsType[*Error](err)
	return errors.Is(err, ErrTimeout) || ok && refusal.Status >= http.StatusInternalServerError
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
