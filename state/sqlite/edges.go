package sqlite

import (
	"database/sql"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// putEdges keeps which datasets each job read and wrote at last. The run's job comes from the batch or the ledger.
func (t *tx) putEdges(batch state.Batch) error {
	if len(batch.Edges) == 0 {
		return nil
	}
	told := make(map[uuid.UUID]adapter.Told, len(batch.Told))
	for _, entry := range batch.Told {
		told[entry.ID] = entry
	}
	for run, edges := range batch.Edges {
		if len(edges) == 0 {
			continue
		}
		job, err := t.jobOf(run)
		if err != nil {
			return err
		}
		if job == 0 {
			continue
		}
		for _, edge := range edges {
			if err := t.putEdge(job, run, edge); err != nil {
				return err
			}
		}
		if entry := told[run]; entry.EndType == adapter.Complete {
			if err := t.putGood(job, entry, edges); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) putEdge(job int64, run uuid.UUID, edge adapter.Edge) error {
	dataset, err := t.dataset(edge.Namespace, edge.Name)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO edges (job, dataset, output, run, seen) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (job, dataset, output) DO UPDATE SET run = excluded.run, seen = excluded.seen`,
		job, dataset, edge.Output, run[:], t.now)
	return err
}

// putGood makes a completed run's datasets those of the job's last good run, unless a run that ended later is known:
// history is told in any order.
func (t *tx) putGood(job int64, run adapter.Told, edges []adapter.Edge) error {
	end := nanos(run.End)
	var newest sql.NullInt64
	if _, err := t.get(`SELECT good_time FROM jobs WHERE job = ?`, []any{job}, &newest); err != nil {
		return err
	}
	if newest.Valid && newest.Int64 > end {
		return nil
	}
	if _, err := t.exec(`UPDATE jobs SET good_run = ?2, good_time = ?3, good_seen = ?4 WHERE job = ?1`,
		job, run.ID[:], end, t.now); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM good WHERE job = ?`, job); err != nil {
		return err
	}
	if len(edges) > state.MaxGoodEdges {
		return nil
	}
	for _, edge := range edges {
		dataset, err := t.dataset(edge.Namespace, edge.Name)
		if err != nil {
			return err
		}
		facets, err := t.facetsOf([]byte(edge.Facets))
		if err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO good (job, dataset, output, facets) VALUES (?, ?, ?, ?)
			ON CONFLICT (job, dataset, output) DO NOTHING`, job, dataset, edge.Output, facets); err != nil {
			return err
		}
	}
	return nil
}
