package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// Jobs lists the jobs of which something was said, by namespace and name, with their last runs and the datasets they
// read and wrote at last. The page begins after that job; limit is its size.
func (s *Store) Jobs(ctx context.Context, after adapter.RunRef, limit int) ([]state.Job, error) {
	var jobs []state.Job
	err := s.read(ctx, func(q reader) error {
		var numbers []int64
		err := q.each(func(rows *sql.Rows) error {
			var j state.Job
			var number, when int64
			var run []byte
			err := rows.Scan(&number, &j.Namespace, &j.Name, &j.Kind, &run, &j.LastType, &when)
			j.LastRun, j.LastTime = asID(run), moment(when)
			jobs, numbers = append(jobs, j), append(numbers, number)
			return err
		}, `SELECT job, namespace, name, kind, last_run, last_type, last_time FROM jobs
			WHERE last_run IS NOT NULL AND (namespace, name) > (?, ?) ORDER BY namespace, name LIMIT ?`,
			after.Namespace, after.Name, limit)
		for i := 0; err == nil && i < len(jobs); i++ {
			jobs[i].Datasets, err = edgesOf(q, `e.job = ?`, numbers[i])
		}
		return err
	})
	return jobs, wrap("listing jobs", err)
}

// LastGoodEdges returns the datasets that the last completed run of a job named, if it named any, with their facets.
func (s *Store) LastGoodEdges(ctx context.Context, job adapter.RunRef) ([]adapter.Edge, error) {
	var edges []adapter.Edge
	err := s.each(ctx, func(rows *sql.Rows) error {
		var e adapter.Edge
		var facets []byte
		err := rows.Scan(&e.Namespace, &e.Name, &e.Output, &facets)
		e.Facets = string(facets)
		edges = append(edges, e)
		return err
	}, `SELECT d.namespace, d.name, g.output, f.body FROM jobs j JOIN good g ON g.job = j.job
		JOIN datasets d ON d.dataset = g.dataset LEFT JOIN facets f ON f.facets = g.facets
		WHERE j.namespace = ? AND j.name = ? ORDER BY g.output, d.namespace, d.name`, job.Namespace, job.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the datasets of job %s: %w", job.Name, err)
	}
	return edges, nil
}

func edgesOf(q reader, where string, args ...any) ([]adapter.Edge, error) {
	var edges []adapter.Edge
	err := q.each(func(rows *sql.Rows) error {
		var e adapter.Edge
		err := rows.Scan(&e.Namespace, &e.Name, &e.Output)
		edges = append(edges, e)
		return err
	}, `SELECT d.namespace, d.name, e.output FROM edges e JOIN datasets d ON d.dataset = e.dataset
		WHERE `+where+` ORDER BY e.output, d.namespace, d.name`, args...)
	return edges, err
}
