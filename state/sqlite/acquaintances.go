package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// Two queries, each down one index: the runs that ended last, and the open ones that began last. No run is touched
// before something is said of it.
const (
	endedLast = `SELECT l.run, t.kind, t.flow, t.said FROM told t JOIN lanes l ON l.lane = t.lane
		WHERE t.phase <> 1 AND t.touched > ?1 AND t.said > ?1 ORDER BY t.touched DESC LIMIT ?2`
	openLast = `SELECT l.run, t.kind, t.flow, t.said FROM told t JOIN lanes l ON l.lane = t.lane
		WHERE t.phase = 1 AND t.said > ?1 ORDER BY t.said DESC LIMIT ?2`
)

// Acquaintances returns up to limit of the runs that were told about last, after a moment of the listener's clock, the
// newest first.
func (s *Store) Acquaintances(ctx context.Context, after time.Time, limit int) ([]state.Acquaintance, error) {
	var all []state.Acquaintance
	for _, query := range []string{endedLast, openLast} {
		err := s.each(ctx, func(rows *sql.Rows) error {
			var run, flow []byte
			var kind int
			var said int64
			if err := rows.Scan(&run, &kind, &flow, &said); err != nil {
				return err
			}
			all = append(all, state.Acquaintance{ID: asID(run), Kind: adapter.Kind(kind), FlowID: asID(flow), Said: moment(said)})
			return nil
		}, query, nanos(after), limit)
		if err != nil {
			return nil, fmt.Errorf("reading the runs that were told about last: %w", err)
		}
	}
	slices.SortStableFunc(all, func(a, b state.Acquaintance) int { return b.Said.Compare(a.Said) })
	return all[:min(limit, len(all))], nil
}
