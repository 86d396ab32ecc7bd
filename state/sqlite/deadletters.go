package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
)

const defaultPage = 100

const deadColumns = `x.id, t.name, x.seq, e.enqueued, x.died, d.attempts, x.reason, x.status, x.answer, `

const deadJoins = ` FROM dead x JOIN deliveries d ON d.seq = x.seq AND d.dest = x.dest JOIN events e ON e.seq = x.seq
	JOIN destinations t ON t.dest = x.dest JOIN lanes l ON l.lane = e.lane LEFT JOIN lanes a ON a.lane = e.ancestor`

const listLetters = `SELECT ` + deadColumns + eventFacts + `, 0, x''` + deadJoins

// DeadLetters lists the dead letters that pass the filter by rising ID, a page at a time, without bodies and histories.
func (s *Store) DeadLetters(ctx context.Context, filter state.DeadFilter) ([]state.DeadLetter, error) {
	where, args := conditions(filter)
	query := listLetters + where
	var letters []state.DeadLetter
	err := s.read(ctx, func(q reader) error {
		// The text depends on the filter, so it is not worth keeping prepared.
		rows, err := q.tx.QueryContext(q.ctx, query, args...)
		if err != nil {
			return err
		}
		return eachRow(rows, func(rows *sql.Rows) error {
			letter, err := scanLetter(rows)
			letters = append(letters, letter)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("listing dead letters: %w", err)
	}
	return letters, nil
}

func conditions(f state.DeadFilter) (string, []any) {
	terms, args := []string{"x.id > ?"}, []any{f.After}
	add := func(wanted bool, term string, arg any) {
		if wanted {
			terms, args = append(terms, term), append(args, arg)
		}
	}
	if f.IDs != nil {
		terms = append(terms, "x.id IN (NULL"+strings.Repeat(", ?", len(f.IDs))+")")
		for _, id := range f.IDs {
			args = append(args, id)
		}
	}
	add(f.Destination != "", "t.name = ?", f.Destination)
	add(f.Reason != "", "x.reason = ?", f.Reason)
	add(f.Run != uuid.Nil, "l.run = ?", f.Run[:])
	add(f.Namespace != "", "e.namespace = ?", f.Namespace)
	add(f.Job != "", "e.name = ?", f.Job)
	add(!f.Since.IsZero(), "x.died >= ?", nanos(f.Since))
	add(!f.Until.IsZero(), "x.died < ?", nanos(f.Until))
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	return " WHERE " + strings.Join(terms, " AND ") + " ORDER BY x.id LIMIT ?", append(args, limit)
}

func scanLetter(rows interface{ Scan(dest ...any) error }) (state.DeadLetter, error) {
	var letter state.DeadLetter
	var enqueued, died int64
	var e eventRow
	err := rows.Scan(append([]any{
		&letter.ID, &letter.Destination, &letter.Seq, &enqueued, &died, &letter.Attempts,
		&letter.Reason, &letter.Status, &letter.Answer,
	}, e.targets()...)...)
	if err != nil {
		return letter, err
	}
	letter.Enqueued, letter.Died = moment(enqueued), moment(died)
	letter.Event, err = e.event(new(unpacker))
	if len(letter.Event.Body) == 0 {
		letter.Event.Body = nil
	}
	return letter, err
}

// DeadLetter returns one dead letter with its body and its last attempts; state.ErrUnknown where there is none.
func (s *Store) DeadLetter(ctx context.Context, id int64) (state.DeadLetter, error) {
	var letter state.DeadLetter
	err := s.read(ctx, func(q reader) error {
		found := false
		err := q.each(func(rows *sql.Rows) (err error) {
			found = true
			letter, err = scanLetter(rows)
			return err
		}, `SELECT `+deadColumns+eventColumns+deadJoins+` WHERE x.id = ?`, id)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("dead letter %d: %w", id, state.ErrUnknown)
		}
		return q.each(func(rows *sql.Rows) error {
			var a state.Attempt
			var at int64
			err := rows.Scan(&a.Number, &at, &a.Reason, &a.Status)
			a.At = moment(at)
			letter.History = append(letter.History, a)
			return err
		}, `SELECT n, at, reason, status FROM tries WHERE seq = ?
			AND dest = (SELECT dest FROM destinations WHERE name = ?) ORDER BY n`, letter.Seq, letter.Destination)
	})
	if err != nil {
		return state.DeadLetter{}, fmt.Errorf("reading a dead letter: %w", err)
	}
	return letter, nil
}

// deadBatch is how many dead letters one transaction replays or drops, so that a daemon beside it gets its turn.
const deadBatch = 200

// Replay puts dead letters back into their destination's outbox, each together with its run's later events there that
// were settled since, so that they arrive in order again. It returns how many deliveries that makes. A dead letter that
// is gone already, replayed by another command perhaps, makes none.
func (s *Store) Replay(ctx context.Context, ids []int64) (int, error) {
	return s.eachLetter(ctx, "replaying dead letters", ids, (*settling).replay)
}

// Drop forgets dead letters for good. It returns how many there were.
func (s *Store) Drop(ctx context.Context, ids []int64) (int, error) {
	return s.eachLetter(ctx, "dropping dead letters", ids, (*settling).drop)
}

func (s *Store) eachLetter(ctx context.Context, what string, ids []int64,
	do func(g *settling, row deliveryRow) (int, error)) (int, error) {
	total := 0
	for len(ids) > 0 {
		some := ids[:min(deadBatch, len(ids))]
		ids = ids[len(some):]
		n := 0
		err := s.write(ctx, what, func(t *tx) error {
			g := newSettling(t)
			for _, id := range some {
				row, found, err := g.letter(id)
				if err != nil {
					return err
				}
				if !found {
					continue
				}
				done, err := do(g, row)
				if err != nil {
					return fmt.Errorf("dead letter %d: %w", id, err)
				}
				n += done
			}
			return g.finish()
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

func (g *settling) letter(id int64) (deliveryRow, bool, error) {
	var r deliveryRow
	found, err := g.get(`SELECT d.seq, d.dest, d.lane, d.first, d.state, d.attempts
		FROM dead x JOIN deliveries d ON d.seq = x.seq AND d.dest = x.dest WHERE x.id = ?`, []any{id},
		&r.seq, &r.dest, &r.lane, &r.first, &r.state, &r.attempts)
	return r, found, err
}

// replay brings a dead letter and its run's later settled events back.
func (g *settling) replay(letter deliveryRow) (int, error) {
	rows, err := g.settledFrom(letter)
	if err != nil {
		return 0, err
	}
	revived := 0
	for _, row := range rows {
		n, err := g.revive(row)
		if err != nil {
			return 0, err
		}
		revived += n
	}
	return revived, nil
}

// settledFrom returns the rows at the letter's destination, from the letter on, that are of its run and could be sent
// again.
func (g *settling) settledFrom(letter deliveryRow) ([]deliveryRow, error) {
	var rows []deliveryRow
	err := g.each(func(found *sql.Rows) error {
		r := deliveryRow{dest: letter.dest, lane: letter.lane}
		err := found.Scan(&r.seq, &r.first, &r.state, &r.attempts)
		rows = append(rows, r)
		return err
	}, `SELECT seq, first, state, attempts FROM deliveries WHERE dest = ? AND lane = ? AND seq >= ? AND state >= 2 ORDER BY seq`,
		letter.dest, letter.lane, letter.seq)
	return rows, err
}

// revive makes a settled row pending again, and those that were skipped after it in its group.
func (g *settling) revive(row deliveryRow) (int, error) {
	if row.state == rowDead {
		if err := g.forgetLetter(row); err != nil {
			return 0, err
		}
	}
	if err := g.forgetTries(row); err != nil {
		return 0, err
	}
	if _, err := g.exec(`UPDATE deliveries SET state = 0, ready = 0, due = 0, attempts = 0 WHERE seq = ? AND dest = ?`,
		row.seq, row.dest); err != nil {
		return 0, err
	}
	g.pending[row.dest]++
	if err := g.holdFollowing(row); err != nil {
		return 0, err
	}
	if err := g.holdLane(row.dest, row.lane); err != nil {
		return 0, err
	}
	if row.first {
		if err := g.holdChildren(row.dest, row.lane); err != nil {
			return 0, err
		}
	}
	if err := g.freeLane(row.dest, row.lane); err != nil {
		return 0, err
	}
	revived := 1
	err := g.eachSkipped(row, func(below deliveryRow) error {
		n, err := g.replay(below)
		revived += n
		return err
	})
	return revived, err
}

// holdFollowing makes the same event wait in the destinations right after this one in its group. There it is pending where
// the group was formed after this one had it as a dead letter.
func (g *settling) holdFollowing(row deliveryRow) error {
	next, err := g.following(row.dest)
	if err != nil {
		return err
	}
	for _, dest := range next {
		if _, err := g.exec(`UPDATE deliveries SET ready = 0 WHERE seq = ? AND dest = ? AND state < 2 AND ready = 1`, row.seq, dest); err != nil {
			return err
		}
	}
	return nil
}

// forgetLetter removes what was kept of a dead letter beside its row.
func (g *settling) forgetLetter(row deliveryRow) error {
	g.dead[row.dest]--
	_, err := g.exec(`DELETE FROM dead WHERE seq = ? AND dest = ?`, row.seq, row.dest)
	return err
}

// eachSkipped visits the rows of the same event that were skipped right after this one in its group.
func (g *settling) eachSkipped(row deliveryRow, do func(below deliveryRow) error) error {
	next, err := g.following(row.dest)
	if err != nil {
		return err
	}
	for _, dest := range next {
		below, found, err := g.row(row.seq, dest)
		if err != nil {
			return err
		}
		if found && below.state == rowSkipped {
			if err := do(below); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop removes a dead letter, what was skipped because of it, and what was kept only to follow its replay.
func (g *settling) drop(letter deliveryRow) (int, error) {
	if err := g.forgetLetter(letter); err != nil {
		return 0, err
	}
	return 1, g.discard(letter)
}

func (g *settling) discard(row deliveryRow) error {
	if err := g.remove(row); err != nil {
		return err
	}
	if err := g.release(row.dest, row.lane); err != nil {
		return err
	}
	return g.eachSkipped(row, g.discard)
}

// release removes a run's delivered rows that no dead letter or skipped row stands before any more.
func (g *settling) release(dest, lane int64) error {
	var oldest int64 = math.MaxInt64
	if _, err := g.get(`SELECT seq FROM deliveries WHERE dest = ? AND lane = ? AND state >= 2 AND state <> 3
		ORDER BY seq LIMIT 1`, []any{dest, lane}, &oldest); err != nil {
		return err
	}
	var kept []deliveryRow
	err := g.each(func(rows *sql.Rows) error {
		r := deliveryRow{dest: dest, lane: lane}
		err := rows.Scan(&r.seq, &r.attempts)
		kept = append(kept, r)
		return err
	}, `SELECT seq, attempts FROM deliveries WHERE dest = ? AND lane = ? AND state >= 2 AND state = 3 AND seq < ?`,
		dest, lane, oldest)
	if err != nil {
		return err
	}
	for _, row := range kept {
		if err := g.remove(row); err != nil {
			return err
		}
	}
	return nil
}
