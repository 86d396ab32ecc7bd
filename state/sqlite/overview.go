package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/prefect-openlineage/listener/state"
)

// The last failure of the delivery that waits longest, and the last dead letter. Events that wait behind a failing one have
// failures of their own only where another run is tried, so that the oldest has the newest or nearly so.
const (
	lastTry = `SELECT d.name, y.reason, y.status, y.at FROM destinations d JOIN tries y ON y.dest = d.dest AND y.seq =
		(SELECT seq FROM deliveries r WHERE r.dest = d.dest AND r.state < 2 ORDER BY r.seq LIMIT 1)
		ORDER BY y.n`
	lastDead = `SELECT d.name, x.reason, x.status, x.died FROM destinations d JOIN dead x ON x.dest = d.dest
		WHERE x.id = (SELECT max(id) FROM dead z WHERE z.dest = d.dest)`
)

// Overview counts the ledger and finds each destination's last failure. It goes through the ledger once, which takes
// a moment where there are millions of runs: it is for people.
func (s *Store) Overview(ctx context.Context) (state.Overview, error) {
	o := state.Overview{LastFailures: map[string]state.Failure{}}
	scan := func(rows *sql.Rows) error {
		var name string
		var f state.Failure
		var at int64
		if err := rows.Scan(&name, &f.Reason, &f.Status, &at); err != nil {
			return err
		}
		f.At = moment(at)
		if f.At.After(o.LastFailures[name].At) {
			o.LastFailures[name] = f
		}
		return nil
	}
	err := s.read(ctx, func(q reader) error {
		if _, err := q.get(`SELECT count(*) FILTER (WHERE kind = 1), count(*) FILTER (WHERE kind = 2) FROM told WHERE phase = 1`,
			nil, &o.OpenFlowRuns, &o.OpenTaskRuns); err != nil {
			return err
		}
		if _, err := q.get(`SELECT count(*) FROM told`, nil, &o.KnownRuns); err != nil {
			return err
		}
		if _, err := q.get(`SELECT count(*) FROM quarantine`, nil, &o.Quarantined); err != nil {
			return err
		}
		if err := q.each(scan, lastTry); err != nil {
			return err
		}
		return q.each(scan, lastDead)
	})
	if err != nil {
		return state.Overview{}, fmt.Errorf("reading the overview: %w", err)
	}
	return o, nil
}
