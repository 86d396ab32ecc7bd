package prefect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// unseen reads the task runs that ended in a stretch of time, without those that the census has: each row costs a server
// half a thousandth of a second, and each poll looks back over as many as ended in half a minute. Two counts tell whether
// a stretch holds the known runs and no others: one of all that ended in it, one of the known among them.
type unseen struct {
	api    RunLister
	census *census
	// since is when the last poll began, or up to when events told of every end. What ended after it is always read: a known
	// run may have ended anew since.
	since time.Time
	// odd has the runs that did not complete read whatever the counts say, and counts the others by their state: an end
	// can become another one with the same end time.
	odd  bool
	emit func(Changes) error
}

// read gives the rows of a span, which may be open at its end.
func (u *unseen) read(ctx context.Context, in span) error {
	known := u.census.within(in)
	if len(known) <= u.census.few {
		return u.rows(ctx, in)
	}
	if in.to.IsZero() { // most of what shows late stands among the newest, so these are read again with what is newer
		border := earlier(known[len(known)-u.census.few].at, u.since)
		if err := u.rows(ctx, span{from: border}); err != nil {
			return err
		}
		if in.to = border.Add(-tick); in.to.Before(in.from) {
			return nil
		}
	}
	if u.odd {
		var err error
		if known, err = u.readOdd(ctx, in, known); err != nil {
			return err
		}
	}
	return u.differing(ctx, in, between(known, in))
}

// readOdd reads the runs that did not complete, and returns them with the known ones that did.
func (u *unseen) readOdd(ctx context.Context, in span, known []ending) ([]ending, error) {
	known = slices.DeleteFunc(known, func(e ending) bool { return !e.good })
	err := u.list(ctx, in, RunFilter{State: inState(Failed, Crashed, Cancelled)}, func(c Changes) error {
		for _, row := range c.TaskRuns {
			known = append(known, ending{id: row.ID, at: *row.EndTime}) // it was asked for by that
		}
		return u.emit(c)
	})
	sortEndings(known)
	return known, err
}

// differing reads the parts of a span that hold other runs than the known ones. It halves the span until what is known of a
// part is not worth two counts.
func (u *unseen) differing(ctx context.Context, in span, known []ending) error {
	if len(known) <= u.census.few {
		return u.rows(ctx, in)
	}
	n, same, err := u.count(ctx, in, known)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil, n > 2*len(known):
		return u.rows(ctx, in) // which says what is wrong with the server, if anything is
	case same:
		return nil
	}
	middle := known[len(known)/2].at
	if !known[0].at.Before(middle) { // half of them ended at one moment
		return u.rows(ctx, in)
	}
	for _, half := range []span{{from: middle, to: in.to}, {from: in.from, to: middle.Add(-tick)}} {
		if err := u.differing(ctx, half, between(known, half)); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many runs ended in a span, and whether they are the known ones.
func (u *unseen) count(ctx context.Context, in span, known []ending) (n int, same bool, err error) {
	f := RunFilter{EndTime: in.window()}
	if n, err = u.api.CountTaskRuns(ctx, f); err != nil {
		return 0, false, fmt.Errorf("counting task runs: %w", err)
	}
	if n != len(known) {
		return n, false, nil
	}
	var ids []uuid.UUID
	for _, e := range known {
		if e.good || !u.odd {
			ids = append(ids, e.id)
		}
	}
	if u.odd {
		f.State = inState(Completed)
	}
	for some := range slices.Chunk(ids, MaxPage) {
		f.ID = &AnyID{Any: some}
		there, err := u.api.CountTaskRuns(ctx, f)
		if err != nil {
			return 0, false, fmt.Errorf("counting task runs: %w", err)
		}
		if there != len(some) {
			return n, false, nil
		}
	}
	return n, true, nil
}

// rows gives all rows of a span.
func (u *unseen) rows(ctx context.Context, in span) error {
	return u.list(ctx, in, RunFilter{}, u.emit)
}

func (u *unseen) list(ctx context.Context, in span, only RunFilter, emit func(Changes) error) error {
	of := taskRunKind(u.api)
	return newEnds(u.api, of, Filter{}, only).read(ctx, in, func(page Page[TaskRun]) error { return emit(changesOf(of, page)) })
}
