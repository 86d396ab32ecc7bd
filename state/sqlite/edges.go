package sqlite

import (
	"database/sql"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var putEdges = newBulk(`INSERT INTO edges (job, dataset, output, run, seen)`, 5,
	` ON CONFLICT (job, dataset, output) DO UPDATE SET run = excluded.run, seen = excluded.seen`)

// edgeKey is an edge without its run.
type edgeKey struct {
	job, dataset int64
	output       bool
}

// putEdges keeps which datasets each job read and wrote at last. The run's job comes from the batch or the ledger.
func (t *tx) putEdges(batch state.Batch) error {
	if len(batch.Edges) == 0 {
		return nil
	}
	told := make(map[uuid.UUID]*adapter.Told, len(batch.Told))
	for i := range batch.Told {
		told[batch.Told[i].ID] = &batch.Told[i]
	}
	var values []any
	placed := map[edgeKey]int{} // in values
	for run, edges := range batch.Edges {
		if len(edges) == 0 {
			continue
		}
		number, job, err := t.jobOf(run)
		if err != nil {
			return err
		}
		if number == 0 {
			continue
		}
		for _, edge := range edges {
			dataset, err := t.dataset(edge.Namespace, edge.Name)
			if err != nil {
				return err
			}
			key := edgeKey{number, dataset, edge.Output}
			at, twice := placed[key]
			if !twice {
				at = len(values)
				placed[key] = at
				values = append(values, number, dataset, edge.Output, nil, t.now)
			}
			values[at+3] = run[:]
		}
		if entry := told[run]; entry != nil && entry.EndType == adapter.Complete {
			job.completed(entry, edges)
		}
	}
	return t.insertAll(putEdges, values)
}

// jobOf returns the job that a run's ledger entry names: its number, 0 for none, and its row if the entry was written
// in this transaction.
func (t *tx) jobOf(run uuid.UUID) (number int64, job *jobRow, err error) {
	if job, ok := t.cache.jobOf[run]; ok {
		if job == nil {
			return 0, nil, nil
		}
		return job.number, job, nil
	}
	_, err = t.get(`SELECT coalesce(t.job, 0) FROM told t JOIN lanes l ON l.lane = t.lane WHERE l.run = ?`,
		[]any{run[:]}, &number)
	return number, nil, err
}

// completed makes a completed run's datasets those of the job's last good run, unless a run that ended later is known:
// history is told in any order.
func (j *jobRow) completed(run *adapter.Told, edges []adapter.Edge) {
	end := nanos(run.End)
	if j.goodTime.Valid && j.goodTime.Int64 > end {
		return
	}
	j.goodTime, j.good = sql.NullInt64{Int64: end, Valid: true}, &goodRun{run: run.ID, edges: edges}
}

// putGood replaces the datasets of a job's last good run.
func (t *tx) putGood(job *jobRow) error {
	if _, err := t.exec(`UPDATE jobs SET good_run = ?2, good_time = ?3, good_seen = ?4 WHERE job = ?1`,
		job.number, job.good.run[:], job.goodTime, t.now); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM good WHERE job = ?`, job.number); err != nil {
		return err
	}
	if len(job.good.edges) > state.MaxGoodEdges {
		return nil
	}
	for _, edge := range job.good.edges {
		dataset, err := t.dataset(edge.Namespace, edge.Name)
		if err != nil {
			return err
		}
		facets, err := t.facetsOf([]byte(edge.Facets))
		if err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO good (job, dataset, output, facets) VALUES (?, ?, ?, ?)
			ON CONFLICT (job, dataset, output) DO NOTHING`, job.number, dataset, edge.Output, facets); err != nil {
			return err
		}
	}
	return nil
}
