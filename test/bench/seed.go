package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the database of a Prefect server that was started without another

	"github.com/prefect-openlineage/listener/test/rig"
)

// seed fills a real server with finished work: copies of a flow run and of a task run that really ran, put into its
// database while it is down. By REST the same would take many minutes.
func (b *bench) seed(prefect *rig.Prefect, flowRuns int, from, until time.Time) {
	prefect.RunFlows("plain")
	pause(b.Context(), 3*time.Second) // task runs are written late
	prefect.Stop()
	if err := fill(b.Context(), filepath.Join(prefect.Home(), "prefect.db"), flowRuns, from, until); err != nil {
		b.Fatalf("filling the server's database: %v", err)
	}
	prefect.Start()
}

func fill(ctx context.Context, file string, flowRuns int, from, until time.Time) (err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the error that made it necessary is returned
		}
	}()
	s := &seeding{ctx: ctx, tx: tx}
	if err := s.plan(flowRuns, from, until); err != nil {
		return err
	}
	if err := s.copyAll(); err != nil {
		return err
	}
	return tx.Commit()
}

type seeding struct {
	ctx context.Context //nolint:containedctx // it lives as long as the one call
	tx  *sql.Tx
}

// plan notes what is to be made: ids and times.
func (s *seeding) plan(flowRuns int, from, until time.Time) error {
	if _, err := s.tx.ExecContext(s.ctx, `CREATE TEMP TABLE work (
		flow_run, task_run, n, flow_state, task_state, artifact, begun, ended, flow_ended, part)`); err != nil {
		return err
	}
	insert, err := s.tx.PrepareContext(s.ctx, `INSERT INTO temp.work VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	every := until.Sub(from) / time.Duration(flowRuns)
	part := min(every, time.Minute) / (tasksEach + 1)
	for i := range flowRuns {
		flowRun, flowState := uuid.NewString(), uuid.NewString()
		begun := from.Add(time.Duration(i) * every)
		for j := range tasksEach {
			taskBegun := begun.Add(time.Duration(j) * part)
			if _, err := insert.ExecContext(s.ctx, flowRun, uuid.NewString(), j, flowState, uuid.NewString(), uuid.NewString(),
				stamp(taskBegun), stamp(taskBegun.Add(part)), stamp(begun.Add(part*(tasksEach+1))), stampLength(part)); err != nil {
				return err
			}
		}
	}
	return nil
}

// stamp writes a time as Prefect's SQLite columns hold it, and a length of time as a moment since 1970.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }

func stampLength(d time.Duration) string { return stamp(time.Unix(0, 0).Add(d)) }

// copyAll makes the rows. The models are the flow run and the task run that wrote a table.
func (s *seeding) copyAll() error {
	var task, flow, taskState, flowState string
	err := s.tx.QueryRowContext(s.ctx, `SELECT t.id, f.id, t.state_id, f.state_id FROM artifact a
		JOIN task_run t ON t.id = a.task_run_id JOIN flow_run f ON f.id = t.flow_run_id
		WHERE t.name LIKE 'extract-%' AND t.state_type = 'COMPLETED' LIMIT 1`).Scan(&task, &flow, &taskState, &flowState)
	if err != nil {
		return fmt.Errorf("finding the models: %w", err)
	}
	const firstTask = `w.n = 0` // a flow run has several lines in the plan
	detail := func(run string) string { return `json_set(m.state_details, ` + run + `)` }
	for _, c := range []struct {
		table  string
		column string // that names the model
		model  string
		lines  string
		values map[string]string
	}{
		{"flow_run_state", "id", flowState, firstTask, map[string]string{
			"id": "w.flow_state", "flow_run_id": "w.flow_run", "timestamp": "w.flow_ended", "created": "w.flow_ended",
			"updated": "w.flow_ended", "state_details": detail(`'$.flow_run_id', w.flow_run`),
		}},
		{"flow_run", "id", flow, firstTask, map[string]string{
			"id": "w.flow_run", "state_id": "w.flow_state", "state_timestamp": "w.flow_ended", "created": "w.begun",
			"updated": "w.flow_ended", "expected_start_time": "w.begun", "start_time": "w.begun", "end_time": "w.flow_ended",
		}},
		{"task_run_state", "id", taskState, `true`, map[string]string{
			"id": "w.task_state", "task_run_id": "w.task_run", "timestamp": "w.ended", "created": "w.ended", "updated": "w.ended",
			"state_details": detail(`'$.flow_run_id', w.flow_run, '$.task_run_id', w.task_run`),
		}},
		{"task_run", "id", task, `true`, map[string]string{
			"id": "w.task_run", "flow_run_id": "w.flow_run", "state_id": "w.task_state", "state_timestamp": "w.ended",
			"dynamic_key": "w.task_run", "name": `'extract-' || substr(w.task_run, 1, 3)`, "created": "w.begun",
			"updated": "w.ended", "expected_start_time": "w.begun", "start_time": "w.begun", "end_time": "w.ended",
			"total_run_time": "w.part",
		}},
		{"artifact", "task_run_id", task, `true`, map[string]string{
			"id": "w.artifact", "task_run_id": "w.task_run", "flow_run_id": "w.flow_run", "created": "w.ended", "updated": "w.ended",
		}},
	} {
		if err := s.copies(c.table, c.column, c.model, c.lines, c.values); err != nil {
			return fmt.Errorf("%s: %w", c.table, err)
		}
	}
	return s.dropModels()
}

// dropModels leaves the copies alone in the database, so that there is nothing to read but them.
func (s *seeding) dropModels() error {
	for _, table := range []string{"artifact", "task_run", "flow_run"} {
		run := "flow_run_id"
		if table == "flow_run" {
			run = "id"
		}
		if _, err := s.tx.ExecContext(s.ctx, //nolint:gosec // the names are those above
			`DELETE FROM `+table+` WHERE `+run+` NOT IN (SELECT flow_run FROM temp.work)`); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return nil
}

// copies puts in a copy of a model row for each line of the plan, with some columns' values replaced.
func (s *seeding) copies(table, column, model, lines string, values map[string]string) error {
	columns, err := s.columns(table)
	if err != nil {
		return err
	}
	var names, sources []string
	for _, column := range columns {
		source, replaced := values[column]
		if !replaced {
			source = `m."` + column + `"`
		}
		names, sources = append(names, `"`+column+`"`), append(sources, source)
	}
	done, err := s.tx.ExecContext(s.ctx, fmt.Sprintf( //nolint:gosec // all parts are from here or are the table's columns
		`INSERT INTO %s (%s) SELECT %s FROM %s m JOIN temp.work w WHERE m.%s = ? AND %s`,
		table, strings.Join(names, ", "), strings.Join(sources, ", "), table, column, lines), model)
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = errors.New("no row to copy")
	}
	return err
}

func (s *seeding) columns(table string) ([]string, error) {
	rows, err := s.tx.QueryContext(s.ctx, `SELECT name FROM pragma_table_info(?)`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
