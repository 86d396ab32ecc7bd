package versions

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the database of a Prefect server that was started without another

	"github.com/prefect-openlineage/listener/test/rig"
)

// seed adds finished work to a server: copies of a flow run and of a task run of it that really ran, spread over the
// time before now. By REST it would take minutes, and rows would end now.
func seed(t *testing.T, p *rig.Prefect, runs int, in time.Duration) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.Home(), "prefect.db")+"?_pragma=busy_timeout(20000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &seeding{t: t, tx: tx}
	s.plan(runs, in)
	s.copies()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

type seeding struct {
	t  *testing.T
	tx *sql.Tx
}

func (s *seeding) exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.tx.ExecContext(context.Background(), statement, args...); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

// plan notes the copies' ids and times.
func (s *seeding) plan(runs int, in time.Duration) {
	s.exec(`CREATE TEMP TABLE work (flow_run, flow_state, task_run, task_state, begun, task_ended, ended)`)
	every := in / time.Duration(runs)
	begun := time.Now().Add(-in)
	for range runs {
		s.exec(`INSERT INTO temp.work VALUES (?, ?, ?, ?, ?, ?, ?)`, uuid.NewString(), uuid.NewString(), uuid.NewString(),
			uuid.NewString(), stamp(begun), stamp(begun.Add(10*time.Second)), stamp(begun.Add(20*time.Second)))
		begun = begun.Add(every)
	}
}

// stamp writes a time as Prefect's SQLite columns hold it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }

// copies makes the rows, of the flow run of the case plain and its first task.
func (s *seeding) copies() {
	s.t.Helper()
	var task, flow, taskState, flowState string
	err := s.tx.QueryRowContext(context.Background(), `SELECT t.id, f.id, t.state_id, f.state_id FROM task_run t
		JOIN flow_run f ON f.id = t.flow_run_id JOIN flow ON flow.id = f.flow_id
		WHERE flow.name = 'Orders' AND t.task_key LIKE 'extract%' AND t.state_type = 'COMPLETED'`).
		Scan(&task, &flow, &taskState, &flowState)
	if err != nil {
		s.t.Fatalf("finding what to copy: %v", err)
	}
	detail := func(paths string) string { return `json_set(m.state_details, ` + paths + `)` }
	s.copy("flow_run_state", flowState, map[string]string{
		"id": "w.flow_state", "flow_run_id": "w.flow_run", "timestamp": "w.ended", "created": "w.ended",
		"updated": "w.ended", "state_details": detail(`'$.flow_run_id', w.flow_run`),
	})
	s.copy("flow_run", flow, map[string]string{
		"id": "w.flow_run", "state_id": "w.flow_state", "state_timestamp": "w.ended", "created": "w.begun",
		"updated": "w.ended", "expected_start_time": "w.begun", "start_time": "w.begun", "end_time": "w.ended",
	})
	s.copy("task_run_state", taskState, map[string]string{
		"id": "w.task_state", "task_run_id": "w.task_run", "timestamp": "w.task_ended", "created": "w.task_ended",
		"updated": "w.task_ended", "state_details": detail(`'$.flow_run_id', w.flow_run, '$.task_run_id', w.task_run`),
	})
	s.copy("task_run", task, map[string]string{
		"id": "w.task_run", "flow_run_id": "w.flow_run", "state_id": "w.task_state", "state_timestamp": "w.task_ended",
		"created": "w.begun", "updated": "w.task_ended", "expected_start_time": "w.begun", "start_time": "w.begun",
		"end_time": "w.task_ended",
	})
}

// copy adds one copy of a row for each line of the plan, with some columns' values replaced.
func (s *seeding) copy(table, id string, values map[string]string) {
	s.t.Helper()
	rows, err := s.tx.QueryContext(context.Background(), `SELECT name FROM pragma_table_info(?)`, table)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	var columns, from []string
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			s.t.Fatal(err)
		}
		columns = append(columns, column)
		value, ok := values[column]
		if !ok {
			value = "m." + column
		}
		from = append(from, value)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	for column := range values {
		if !slices.Contains(columns, column) {
			s.t.Fatalf("%s has no column %s", table, column)
		}
	}
	s.exec(fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM %s m CROSS JOIN temp.work w WHERE m.id = ?`,
		table, strings.Join(columns, ", "), strings.Join(from, ", "), table), id)
}
