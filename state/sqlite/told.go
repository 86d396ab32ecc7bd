package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
)

var putTold = newBulk(`INSERT INTO told (lane, kind, run_id, job, parent_run, parent_job, root_run, root_job, ancestor, facets,
	flow_run, flow, deployment, phase, started, end_type, ended, inferred, missed, named, said, touched, ruling)`, 23,
	` ON CONFLICT (lane) DO UPDATE SET kind = excluded.kind, run_id = excluded.run_id, job = excluded.job,
	parent_run = excluded.parent_run, parent_job = excluded.parent_job, root_run = excluded.root_run,
	root_job = excluded.root_job, ancestor = excluded.ancestor, facets = excluded.facets,
	flow_run = excluded.flow_run, flow = excluded.flow, deployment = excluded.deployment,
	phase = excluded.phase, started = excluded.started, end_type = excluded.end_type, ended = excluded.ended,
	inferred = excluded.inferred, missed = excluded.missed, named = excluded.named, ruling = excluded.ruling,
	said = coalesce(said, excluded.said),
	touched = CASE WHEN phase IS excluded.phase AND end_type IS excluded.end_type AND ended IS excluded.ended
		THEN touched ELSE excluded.touched END`)

// putTold writes entries of the ledger and notes what they say of their jobs' last runs.
func (t *tx) putTold(entries []adapter.Told) error {
	var values []any
	for i := range entries {
		entry := &entries[i]
		job, err := t.job(entry.Run)
		if err == nil {
			values, err = t.appendTold(values, entry, job)
		}
		if err != nil {
			return fmt.Errorf("ledger entry of run %s: %w", entry.ID, err)
		}
		t.cache.jobOf[entry.ID] = job
		job.told(entry)
		if len(values) == putTold.width*bulkRows || i == len(entries)-1 {
			if err := t.insertAll(putTold, values); err != nil {
				return fmt.Errorf("ledger entries up to that of run %s: %w", entry.ID, err)
			}
			values = values[:0]
		}
	}
	return nil
}

// appendTold appends an entry's columns.
func (t *tx) appendTold(values []any, told *adapter.Told, job *jobRow) ([]any, error) {
	lane, err := t.lane(told.ID)
	if err != nil {
		return nil, err
	}
	parent, err := t.reference(told.Parent)
	if err != nil {
		return nil, err
	}
	root, err := t.reference(told.Root)
	if err != nil {
		return nil, err
	}
	facets, err := t.facetsOf(told.JobFacets)
	if err != nil {
		return nil, err
	}
	var runID, endType, said any
	if told.Run.RunID != told.ID {
		runID = told.Run.RunID[:]
	}
	end := stamp(told.End)
	if told.EndType != "" {
		endType, end = string(told.EndType), sql.NullInt64{Int64: nanos(told.End), Valid: true}
	}
	if told.Phase != adapter.Unsaid {
		said = t.now
	}
	return append(values, lane, int(told.Kind), runID, job.sqlNumber(), parent.run, parent.job, root.run, root.job,
		blob(told.Ancestor), facets, blob(told.FlowRunID), blob(told.FlowID), blob(told.DeploymentID), int(told.Phase),
		stamp(told.Start), endType, end, told.Inferred, stamp(told.Missed), fingerprint(told.Named), said, t.now,
		int(told.Ruling)), nil
}

// fingerprint keeps the bits of a fingerprint; zero is NULL.
func fingerprint(named uint64) sql.NullInt64 {
	return sql.NullInt64{Int64: int64(named), Valid: named != 0}
}

type reference struct{ run, job any }

// reference is a run that an entry names beside its own. Its job has a row even where its name is empty, so that the
// pair comes back as it was.
func (t *tx) reference(ref *adapter.RunRef) (reference, error) {
	if ref == nil {
		return reference{}, nil
	}
	job, err := t.namedJob(*ref)
	return reference{run: ref.RunID[:], job: job.sqlNumber()}, err
}

// told notes the job's latest run that was told about and its latest event, by the events' own times.
func (j *jobRow) told(entry *adapter.Told) {
	if j == nil || entry.Phase == adapter.Unsaid || entry.Ruling.Silent() {
		return
	}
	kind, when := adapter.Start, nanos(entry.Start)
	if entry.Phase == adapter.Ended {
		kind, when = entry.EndType, nanos(entry.End)
	}
	if j.lastTime.Valid && j.lastTime.Int64 > when && !bytes.Equal(j.last.run, entry.ID[:]) {
		return
	}
	j.lastTime, j.changed = sql.NullInt64{Int64: when, Valid: true}, true
	j.last = lastRun{run: entry.ID[:], kind: int(entry.Kind), eventType: string(kind)}
}

// putJobs writes what the transaction has learned of jobs.
func (t *tx) putJobs() error {
	for _, job := range t.cache.jobs {
		if job.changed {
			if _, err := t.exec(`UPDATE jobs SET kind = ?2, last_run = ?3, last_type = ?4, last_time = ?5 WHERE job = ?1`,
				job.number, job.last.kind, job.last.run, job.last.eventType, job.lastTime); err != nil {
				return fmt.Errorf("last run of job %d: %w", job.number, err)
			}
		}
		if job.good != nil {
			if err := t.putGood(job); err != nil {
				return fmt.Errorf("datasets of job %d: %w", job.number, err)
			}
		}
	}
	return nil
}

const toldColumns = `l.run, t.kind, t.run_id, j.namespace, j.name, t.parent_run, p.namespace, p.name,
	t.root_run, r.namespace, r.name, t.ancestor, f.body, t.flow_run, t.flow, t.deployment, t.phase, t.started,
	t.end_type, t.ended, t.inferred, t.missed, t.named, t.ruling`

const toldJoins = ` LEFT JOIN jobs j ON j.job = t.job LEFT JOIN jobs p ON p.job = t.parent_job
	LEFT JOIN jobs r ON r.job = t.root_job LEFT JOIN facets f ON f.facets = t.facets`

// toldBatch is how many ids one query asks for.
const toldBatch = 200

var toldByRuns = `SELECT ` + toldColumns + ` FROM lanes l JOIN told t ON t.lane = l.lane` + toldJoins +
	` WHERE l.run IN (?` + strings.Repeat(", ?", toldBatch-1) + `)`

// Told returns the ledger's entries of these runs, by Prefect's id. A run without an entry is not in the map.
func (s *Store) Told(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]adapter.Told, error) {
	entries := make(map[uuid.UUID]adapter.Told, len(ids))
	args := make([]any, toldBatch)
	for some := range slices.Chunk(ids, toldBatch) {
		for i := range args {
			args[i] = some[min(i, len(some)-1)][:] // the last one fills the places that are left
		}
		err := s.each(ctx, func(rows *sql.Rows) error {
			told, err := scanTold(rows)
			entries[told.ID] = told
			return err
		}, toldByRuns, args...)
		if err != nil {
			return nil, fmt.Errorf("reading %d ledger entries: %w", len(ids), err)
		}
	}
	return entries, nil
}

// toldRow takes the columns of one entry.
type toldRow struct {
	run, runID, parentRun, rootRun, ancestor, facets, flowRun, flow, deployment []byte
	namespace, name, parentNamespace, parentName, rootNamespace, rootName       sql.NullString
	endType                                                                     sql.NullString
	kind, phase, ruling                                                         int
	inferred                                                                    bool
	start, end, missed, named                                                   sql.NullInt64
}

func (r *toldRow) targets() []any {
	return []any{
		&r.run, &r.kind, &r.runID, &r.namespace, &r.name, &r.parentRun, &r.parentNamespace, &r.parentName,
		&r.rootRun, &r.rootNamespace, &r.rootName, &r.ancestor, &r.facets, &r.flowRun, &r.flow, &r.deployment, &r.phase,
		&r.start, &r.endType, &r.end, &r.inferred, &r.missed, &r.named, &r.ruling,
	}
}

func (r *toldRow) told() adapter.Told {
	told := adapter.Told{
		ID: asID(r.run), Kind: adapter.Kind(r.kind),
		Run:      adapter.RunRef{RunID: asID(r.runID), Namespace: r.namespace.String, Name: r.name.String},
		Ancestor: asID(r.ancestor), JobFacets: r.facets,
		FlowRunID: asID(r.flowRun), FlowID: asID(r.flow), DeploymentID: asID(r.deployment),
		Phase: adapter.Phase(r.phase), Start: optionalMoment(r.start),
		EndType: adapter.EventType(r.endType.String), End: optionalMoment(r.end),
		Inferred: r.inferred, Missed: optionalMoment(r.missed), Named: uint64(r.named.Int64),
		Ruling: adapter.Ruling(r.ruling),
	}
	if r.runID == nil {
		told.Run.RunID = told.ID
	}
	if r.parentRun != nil {
		told.Parent = &adapter.RunRef{RunID: asID(r.parentRun), Namespace: r.parentNamespace.String, Name: r.parentName.String}
	}
	if r.rootRun != nil {
		told.Root = &adapter.RunRef{RunID: asID(r.rootRun), Namespace: r.rootNamespace.String, Name: r.rootName.String}
	}
	return told
}

func scanTold(rows *sql.Rows) (adapter.Told, error) {
	var r toldRow
	if err := rows.Scan(r.targets()...); err != nil {
		return adapter.Told{}, err
	}
	return r.told(), nil
}
