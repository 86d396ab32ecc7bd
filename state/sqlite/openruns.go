package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// How often an open run is looked at depends on how long ago its first event was stored: always in its first hour,
// every minute in its first day, then every ten minutes. Runs that end are mostly young.
const dueOpenRuns = `SELECT l.run, t.kind, t.said, t.checked, t.missed FROM told t JOIN lanes l ON l.lane = t.lane
	WHERE t.phase = 1 AND t.said > ?1
	UNION ALL
	SELECT l.run, t.kind, t.said, t.checked, t.missed FROM told t JOIN lanes l ON l.lane = t.lane
	WHERE t.phase = 1 AND t.said > ?2 AND t.said <= ?1 AND coalesce(t.checked, 0) NOT BETWEEN ?3 AND ?5
	UNION ALL
	SELECT l.run, t.kind, t.said, t.checked, t.missed FROM told t JOIN lanes l ON l.lane = t.lane
	WHERE t.phase = 1 AND t.said <= ?2 AND coalesce(t.checked, 0) NOT BETWEEN ?4 AND ?5`

// OpenRuns returns up to limit runs of which something was said and no end, and which are due to be looked at. Runs
// for which active is true are passed over: the caller sees them in the list of active runs. A nil active passes none.
func (s *Store) OpenRuns(ctx context.Context, now time.Time, limit int, active func(run uuid.UUID) bool) ([]state.OpenRun, error) {
	var open []state.OpenRun
	scan := func(rows *sql.Rows) error {
		if len(open) >= limit {
			return errEnough
		}
		var run []byte
		var kind int
		var said int64
		var checked, missed sql.NullInt64
		if err := rows.Scan(&run, &kind, &said, &checked, &missed); err != nil {
			return err
		}
		if id := asID(run); active == nil || !active(id) {
			open = append(open, state.OpenRun{
				ID: id, Kind: adapter.Kind(kind),
				FirstSaid: moment(said), Checked: optionalMoment(checked), Missed: optionalMoment(missed),
			})
		}
		return nil
	}
	// A check that lies in the future was made before the clock went back, and counts as none.
	err := s.each(ctx, scan, dueOpenRuns, nanos(now.Add(-time.Hour)), nanos(now.Add(-24*time.Hour)),
		nanos(now.Add(-time.Minute))+1, nanos(now.Add(-10*time.Minute))+1, nanos(now))
	if err != nil {
		return nil, fmt.Errorf("reading the open runs: %w", err)
	}
	return open, nil
}

// MarkChecked notes that these open runs were read by id, whatever was found.
func (s *Store) MarkChecked(ctx context.Context, ids []uuid.UUID, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	return s.write(ctx, "marking open runs as checked", func(t *tx) error {
		for _, id := range ids {
			if _, err := t.exec(`UPDATE told SET checked = ? WHERE lane = (SELECT lane FROM lanes WHERE run = ?)`,
				nanos(at), id[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

const orphanTasks = `SELECT ` + toldColumns + `, fl.run FROM told t JOIN lanes l ON l.lane = t.lane` + toldJoins + `
	JOIN lanes fl ON fl.run = t.flow_run JOIN told ft ON ft.lane = fl.lane
	WHERE t.phase = 1 AND t.kind = 2 AND ft.phase = 2 AND ft.ended <= ? ORDER BY t.said, t.lane LIMIT ?`

// OpenTasksOfEndedFlows returns up to limit open task runs whose flow run's end, in the server's time, is no later than
// that moment, each with its flow run.
func (s *Store) OpenTasksOfEndedFlows(ctx context.Context, flowEndedBefore time.Time, limit int) ([]state.OrphanTask, error) {
	var tasks []adapter.Told
	var flowIDs []uuid.UUID
	err := s.each(ctx, func(rows *sql.Rows) error {
		var r toldRow
		var flow []byte
		if err := rows.Scan(append(r.targets(), &flow)...); err != nil {
			return err
		}
		tasks, flowIDs = append(tasks, r.told()), append(flowIDs, asID(flow))
		return nil
	}, orphanTasks, nanos(flowEndedBefore), limit)
	if err != nil {
		return nil, fmt.Errorf("reading open tasks of ended flows: %w", err)
	}
	flows, err := s.Told(ctx, flowIDs)
	if err != nil {
		return nil, err
	}
	orphans := make([]state.OrphanTask, 0, len(tasks))
	for i, task := range tasks {
		orphans = append(orphans, state.OrphanTask{Task: task, Flow: flows[flowIDs[i]]})
	}
	return orphans, nil
}
