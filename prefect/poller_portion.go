package prefect

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"
)

// mostRows is how many rows a portion holds before it is handed over: a few pages.
const mostRows = 3 * MaxPage

// portion gathers rows until they are worth handing over. A run stands in it once, as it was seen last.
type portion struct {
	now   time.Time // the server's
	yield func(context.Context, Changes) error

	rows           Changes
	flowAt, taskAt map[uuid.UUID]int
	bad            map[string]struct{}
}

func newPortion(now time.Time, yield func(context.Context, Changes) error) *portion {
	p := &portion{now: now, yield: yield}
	p.clear()
	return p
}

func (p *portion) clear() {
	p.rows = Changes{Now: p.now}
	p.flowAt, p.taskAt = make(map[uuid.UUID]int), make(map[uuid.UUID]int)
	p.bad = make(map[string]struct{})
}

// add puts rows in and hands the portion over when it is full.
func (p *portion) add(ctx context.Context, c Changes) error {
	p.rows.FlowRuns = replaceOrAppend(p.rows.FlowRuns, p.flowAt, c.FlowRuns)
	p.rows.TaskRuns = replaceOrAppend(p.rows.TaskRuns, p.taskAt, c.TaskRuns)
	p.rows.Gone = append(p.rows.Gone, c.Gone...)
	if len(c.Late) > 0 && p.rows.Late == nil {
		p.rows.Late = make(map[uuid.UUID]Look, len(c.Late))
	}
	maps.Copy(p.rows.Late, c.Late)
	for _, row := range c.Bad {
		key := row.Resource + "\x00" + row.ID + "\x00" + string(row.Raw)
		if _, seen := p.bad[key]; !seen {
			p.bad[key] = struct{}{}
			p.rows.Bad = append(p.rows.Bad, row)
		}
	}
	if p.size() < mostRows {
		return nil
	}
	return p.flush(ctx, nil)
}

// replaceOrAppend appends rows, or puts them in place of older sights of the same run.
func replaceOrAppend[T run](rows []T, at map[uuid.UUID]int, more []T) []T {
	for _, row := range more {
		i, seen := at[row.id()]
		switch {
		case !seen:
			at[row.id()] = len(rows)
			rows = append(rows, row)
		case !older(row.state(), rows[i].state()):
			rows[i] = row
		}
	}
	return rows
}

func older(a, b *State) bool { return a != nil && b != nil && a.Timestamp.Before(b.Timestamp) }

func (p *portion) size() int {
	return len(p.rows.FlowRuns) + len(p.rows.TaskRuns) + len(p.rows.Gone) + len(p.rows.Bad)
}

// flush hands over what is there, if anything, with the position that holds from then on, if any.
func (p *portion) flush(ctx context.Context, cur *Cursor) error {
	if p.size() == 0 && cur == nil {
		return nil
	}
	c := p.rows
	c.Cursor = cur
	p.clear()
	if err := p.yield(ctx, c); err != nil {
		return &yieldError{err: err}
	}
	return nil
}

// yieldError is an error of whoever took a portion. It is told apart from the server's, which a narrower query may
// get around, and is handed back as it came.
type yieldError struct{ err error }

func (e *yieldError) Error() string { return e.err.Error() }
func (e *yieldError) Unwrap() error { return e.err }

func unwrapYield(err error) error {
	if theirs, ok := errors.AsType[*yieldError](err); ok {
		return theirs.err
	}
	return err
}
