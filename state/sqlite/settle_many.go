package sqlite

import (
	"database/sql"
	"strconv"

	"github.com/prefect-openlineage/listener/state"
)

// plainRows is settledRow for many rows at once.
const plainRows = `SELECT d.seq, ` + settledFacts + ` FROM json_each(?) j CROSS JOIN deliveries d ON d.seq = j.value AND d.dest = ?`

// deliverPlain settles those of the settlements that are as nearly all are: a delivered event of a run that stands with
// no other row here, in a destination that none comes after. They take a few statements for all, where each would take
// a few of its own. It returns the settlements that are left.
func (g *settling) deliverPlain(dest int64, all []state.Settlement) ([]state.Settlement, error) {
	var seqs []int64
	for _, settlement := range all {
		if settlement.Verdict == state.Delivered {
			seqs = append(seqs, settlement.Seq)
		}
	}
	if len(seqs) < 2 {
		return all, nil
	}
	next, err := g.following(dest)
	if err != nil || len(next) > 0 {
		return all, err
	}
	rows := make(map[int64]deliveryRow, len(all))
	lanes := make(map[int64]int, len(all))
	err = g.each(func(found *sql.Rows) error {
		r := deliveryRow{dest: dest}
		err := found.Scan(append([]any{&r.seq}, r.targets()...)...)
		rows[r.seq] = r
		lanes[r.lane]++
		return err
	}, plainRows, list(seqs), dest)
	if err != nil {
		return nil, err
	}
	var left []state.Settlement
	var gone, followed, awaited []int64
	for _, settlement := range all {
		r, found := rows[settlement.Seq]
		plain := found && settlement.Verdict == state.Delivered && r.state < rowPending && r.attempts == 0 &&
			!r.overtaken && !r.wanted && lanes[r.lane] == 1
		if !plain {
			left = append(left, settlement)
			continue
		}
		delete(rows, settlement.Seq) // named twice, it is settled once
		gone = append(gone, r.seq)
		if r.followed {
			followed = append(followed, r.lane)
		}
		if r.awaited {
			awaited = append(awaited, r.lane)
		}
	}
	return left, g.removePlain(dest, gone, followed, awaited)
}

func (g *settling) removePlain(dest int64, gone, followed, awaited []int64) error {
	if len(gone) == 0 {
		return nil
	}
	if _, err := g.exec(`DELETE FROM deliveries WHERE dest = ? AND seq IN (SELECT value FROM json_each(?))`,
		dest, list(gone)); err != nil {
		return err
	}
	g.delivered[dest] = true
	g.pending[dest] -= int64(len(gone))
	for _, seq := range gone {
		g.settledSeqs[seq] = true
	}
	if len(followed) > 0 {
		if err := g.freeLanes(dest, followed); err != nil {
			return err
		}
	}
	for _, lane := range awaited {
		if err := g.freeChildren(dest, lane); err != nil {
			return err
		}
	}
	return nil
}

// list writes numbers as a JSON list, for json_each.
func list(numbers []int64) string {
	text := make([]byte, 0, 8*len(numbers)+2)
	text = append(text, '[')
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return string(append(text, ']'))
}
