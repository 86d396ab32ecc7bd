package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/prefect-openlineage/listener/state"
)

// The states of a delivery row; see the schema.
const (
	rowPending = 2 // below it
	rowDead    = 2
	rowKept    = 3
	rowSkipped = 4
)

// Settle writes what became of attempts at a destination, all in one transaction. A settlement of a row that is not
// pending (any more) is passed over. An event that was delivered while a replay put an older one of its run back before
// it goes out again after that one, so that the consumer's last word on the run stays the run's last word.
func (s *Store) Settle(ctx context.Context, destination string, settlements []state.Settlement) error {
	if len(settlements) == 0 {
		return nil
	}
	return s.write(ctx, "settling deliveries of "+destination, func(t *tx) error {
		d, err := t.destination(destination)
		if err != nil {
			return err
		}
		g := newSettling(t)
		rest, err := g.deliverPlain(d.number, settlements)
		if err != nil {
			return err
		}
		for _, settlement := range rest {
			if err := g.settle(d.number, settlement); err != nil {
				return fmt.Errorf("event %d: %w", settlement.Seq, err)
			}
		}
		return g.finish()
	})
}

// settling gathers what one transaction changes in the counters.
type settling struct {
	*tx
	pending, dead map[int64]int64 // by destination
	delivered     map[int64]bool
	after         map[int64][]int64 // the destinations that come after each
	settledSeqs   map[int64]bool    // events of which a row went away
}

func newSettling(t *tx) *settling {
	return &settling{tx: t, pending: map[int64]int64{}, dead: map[int64]int64{}, delivered: map[int64]bool{},
		settledSeqs: map[int64]bool{}}
}

// deliveryRow is a row of deliveries and how it stands to others at its destination.
type deliveryRow struct {
	seq, dest, lane int64
	first           bool
	state, attempts int

	overtaken bool // an older row of its run is pending
	wanted    bool // an older row of its run is settled and may come back
	followed  bool // a newer row of its run waits
	awaited   bool // it is a run's first, and rows of runs below it wait
}

// One question for each row that is settled: most rows have nothing about them that needs another.
const settledFacts = `d.lane, d.first, d.state, d.attempts,
	EXISTS (SELECT 1 FROM deliveries o WHERE o.dest = d.dest AND o.lane = d.lane AND o.seq < d.seq AND o.state < 2),
	EXISTS (SELECT 1 FROM deliveries o
		WHERE o.dest = d.dest AND o.lane = d.lane AND o.seq < d.seq AND o.state >= 2 AND o.state <> 3),
	EXISTS (SELECT 1 FROM deliveries n
		WHERE n.dest = d.dest AND n.lane = d.lane AND n.seq > d.seq AND n.state < 2 AND n.ready = 0),
	d.first AND EXISTS (SELECT 1 FROM deliveries c
		WHERE c.dest = d.dest AND c.ancestor = d.lane AND c.ancestor IS NOT NULL AND c.state < 2 AND c.ready = 0)`

const settledRow = `SELECT ` + settledFacts + ` FROM deliveries d WHERE d.seq = ? AND d.dest = ?`

// targets takes the columns of settledFacts.
func (r *deliveryRow) targets() []any {
	return []any{&r.lane, &r.first, &r.state, &r.attempts, &r.overtaken, &r.wanted, &r.followed, &r.awaited}
}

func (g *settling) row(seq, dest int64) (deliveryRow, bool, error) {
	r := deliveryRow{seq: seq, dest: dest}
	found, err := g.get(settledRow, []any{seq, dest}, r.targets()...)
	return r, found, err
}

func (g *settling) settle(dest int64, what state.Settlement) error {
	row, found, err := g.row(what.Seq, dest)
	if err != nil || !found || row.state >= rowPending {
		return err
	}
	switch what.Verdict {
	case state.Delivered:
		return g.deliver(row)
	case state.Again:
		return g.again(row, what)
	case state.Dead:
		return g.bury(row, what)
	case state.Skipped:
		return g.skip(row, false)
	default:
		return fmt.Errorf("verdict %d is unknown", what.Verdict)
	}
}

func (g *settling) deliver(row deliveryRow) error {
	g.delivered[row.dest] = true
	if row.overtaken {
		return nil
	}
	var err error
	if row.wanted {
		err = g.setState(row, rowKept)
	} else {
		err = g.remove(row)
	}
	if err != nil {
		return err
	}
	if err := g.settled(row); err != nil {
		return err
	}
	next, err := g.following(row.dest)
	if err != nil {
		return err
	}
	for _, dest := range next {
		if err := g.freeRow(row.seq, dest); err != nil {
			return err
		}
	}
	return nil
}

func (g *settling) again(row deliveryRow, what state.Settlement) error {
	if err := g.noteTry(row, what); err != nil {
		return err
	}
	_, err := g.exec(`UPDATE deliveries SET due = ?, attempts = attempts + 1 WHERE seq = ? AND dest = ?`,
		max(1, nanos(what.Due)), row.seq, row.dest)
	return err
}

func (g *settling) noteTry(row deliveryRow, what state.Settlement) error {
	n := row.attempts + 1
	if _, err := g.exec(`INSERT OR REPLACE INTO tries (seq, dest, n, at, reason, status) VALUES (?, ?, ?, ?, ?, ?)`,
		row.seq, row.dest, n, g.now, what.Reason, what.Status); err != nil {
		return err
	}
	if n <= state.MaxAttemptsKept {
		return nil
	}
	_, err := g.exec(`DELETE FROM tries WHERE seq = ? AND dest = ? AND n <= ?`, row.seq, row.dest, n-state.MaxAttemptsKept)
	return err
}

// bury makes a dead letter of the row. The run's later events go on.
func (g *settling) bury(row deliveryRow, what state.Settlement) error {
	if err := g.noteTry(row, what); err != nil {
		return err
	}
	if _, err := g.exec(`UPDATE deliveries SET state = 2, ready = 0, due = 0, attempts = attempts + 1 WHERE seq = ? AND dest = ?`,
		row.seq, row.dest); err != nil {
		return err
	}
	answer := notNil(what.Answer[:min(len(what.Answer), state.MaxAnswer)])
	if _, err := g.exec(`INSERT INTO dead (seq, dest, died, reason, status, answer) VALUES (?, ?, ?, ?, ?, ?)`,
		row.seq, row.dest, g.now, what.Reason, what.Status, answer); err != nil {
		return err
	}
	g.dead[row.dest]++
	if err := g.settled(row); err != nil {
		return err
	}
	return g.skipFollowing(row, true)
}

// skip settles a row without sending it. With keep it can come back when the dead letter it stands behind is replayed.
func (g *settling) skip(row deliveryRow, keep bool) (err error) {
	if keep {
		err = g.setState(row, rowSkipped)
	} else {
		err = g.remove(row)
	}
	if err != nil {
		return err
	}
	if err := g.settled(row); err != nil {
		return err
	}
	return g.skipFollowing(row, keep)
}

func (g *settling) skipFollowing(row deliveryRow, keep bool) error {
	next, err := g.following(row.dest)
	if err != nil {
		return err
	}
	for _, dest := range next {
		below, found, err := g.row(row.seq, dest)
		if err != nil {
			return err
		}
		if !found || below.state >= rowPending {
			continue
		}
		if err := g.skip(below, keep); err != nil {
			return err
		}
	}
	return nil
}

// settled follows up on a row that is not pending any more: what waited for it may go.
func (g *settling) settled(row deliveryRow) error {
	g.pending[row.dest]--
	if row.followed {
		if err := g.freeLane(row.dest, row.lane); err != nil {
			return err
		}
	}
	if !row.awaited {
		return nil
	}
	return g.freeChildren(row.dest, row.lane)
}

func (g *settling) setState(row deliveryRow, to int) error {
	_, err := g.exec(`UPDATE deliveries SET state = ?, ready = 0, due = 0 WHERE seq = ? AND dest = ?`, to, row.seq, row.dest)
	return err
}

// remove deletes a row; its event follows at the end if this was its last.
func (g *settling) remove(row deliveryRow) error {
	if err := g.forgetTries(row); err != nil {
		return err
	}
	g.settledSeqs[row.seq] = true
	_, err := g.exec(`DELETE FROM deliveries WHERE seq = ? AND dest = ?`, row.seq, row.dest)
	return err
}

func (g *settling) forgetTries(row deliveryRow) error {
	if row.attempts == 0 {
		return nil
	}
	_, err := g.exec(`DELETE FROM tries WHERE seq = ? AND dest = ?`, row.seq, row.dest)
	return err
}

// following returns the destinations that come right after one in their group.
func (g *settling) following(dest int64) ([]int64, error) {
	if g.after == nil {
		g.after = map[int64][]int64{}
		err := g.each(func(rows *sql.Rows) error {
			var number, after int64
			err := rows.Scan(&number, &after)
			g.after[after] = append(g.after[after], number)
			return err
		}, `SELECT dest, after FROM destinations WHERE after IS NOT NULL ORDER BY dest`)
		if err != nil {
			return nil, err
		}
	}
	return g.after[dest], nil
}

// finish deletes the bodies that nothing needs any more and writes the counters.
func (g *settling) finish() error {
	var events, bytes int64
	if len(g.settledSeqs) > 0 {
		err := g.each(func(rows *sql.Rows) error {
			var size int64
			err := rows.Scan(&size)
			events, bytes = events-1, bytes-size
			return err
		}, `DELETE FROM events WHERE seq IN (SELECT value FROM json_each(?))
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = events.seq) RETURNING length(body)`,
			list(slices.Sorted(maps.Keys(g.settledSeqs))))
		if err != nil {
			return err
		}
	}
	if err := g.count(events, bytes); err != nil {
		return err
	}
	for dest, n := range g.pending {
		if _, err := g.exec(`UPDATE destinations SET pending = pending + ? WHERE dest = ?`, n, dest); err != nil {
			return err
		}
	}
	for dest, n := range g.dead {
		if _, err := g.exec(`UPDATE destinations SET dead = dead + ? WHERE dest = ?`, n, dest); err != nil {
			return err
		}
	}
	for dest := range g.delivered {
		if _, err := g.exec(`UPDATE destinations SET delivered = ? WHERE dest = ?`, g.now, dest); err != nil {
			return err
		}
	}
	return nil
}
