package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// txCache remembers the numbers that one transaction has looked up.
type txCache struct {
	lanes    map[uuid.UUID]int64
	jobs     map[[2]string]*jobRow
	datasets map[[2]string]int64
	facets   map[[sha256.Size]byte]int64

	// fresh are the lanes that the transaction made, ancestors those that one of its events stands below.
	fresh, ancestors map[int64]bool
	// jobOf are the jobs of the ledger entries that it wrote; nil: the entry names none.
	jobOf map[uuid.UUID]*jobRow
}

// childless says whether no event can stand below a lane's.
func (c txCache) childless(lane int64) bool { return c.fresh[lane] && !c.ancestors[lane] }

func newTxCache() txCache {
	return txCache{
		lanes: map[uuid.UUID]int64{}, jobs: map[[2]string]*jobRow{},
		datasets: map[[2]string]int64{}, facets: map[[sha256.Size]byte]int64{},
		fresh: map[int64]bool{}, ancestors: map[int64]bool{}, jobOf: map[uuid.UUID]*jobRow{},
	}
}

// lane returns the run's number, a new one at its first use.
func (t *tx) lane(run uuid.UUID) (int64, error) {
	if lane, ok := t.cache.lanes[run]; ok {
		return lane, nil
	}
	var lane int64
	found, err := t.get(`SELECT lane FROM lanes WHERE run = ?`, []any{run[:]}, &lane)
	if err == nil && !found {
		lane, err = t.insert(`INSERT INTO lanes (run) VALUES (?)`, run[:])
		t.cache.fresh[lane] = true
	}
	if err != nil {
		return 0, err
	}
	t.cache.lanes[run] = lane
	return lane, nil
}

// fewLanes is how many runs are looked up one by one.
const fewLanes = 8

var (
	lanesByRuns = `SELECT lane, run FROM lanes WHERE run IN (?` + strings.Repeat(", ?", toldBatch-1) + `)`
	putLanes    = newBulk(`INSERT INTO lanes (lane, run)`, 2, ``)
)

// findLanes looks up the numbers of all runs that a batch writes of, and numbers those that are new, together.
func (t *tx) findLanes(batch state.Batch) error {
	var runs []uuid.UUID
	note := func(run uuid.UUID) {
		if _, known := t.cache.lanes[run]; !known {
			t.cache.lanes[run] = 0
			runs = append(runs, run)
		}
	}
	for i := range batch.Told {
		note(batch.Told[i].ID)
	}
	for i := range batch.Events {
		note(batch.Events[i].Run)
		if ancestor := batch.Events[i].Ancestor; ancestor != uuid.Nil {
			note(ancestor)
		}
	}
	if len(runs) <= fewLanes {
		clear(t.cache.lanes)
		return nil
	}
	args := make([]any, toldBatch)
	for some := range slices.Chunk(runs, toldBatch) {
		for i := range args {
			args[i] = some[min(i, len(some)-1)][:] // the last one fills the places that are left
		}
		err := t.each(func(rows *sql.Rows) error {
			var lane int64
			var run sql.RawBytes
			err := rows.Scan(&lane, &run)
			t.cache.lanes[asID(run)] = lane
			return err
		}, lanesByRuns, args...)
		if err != nil {
			return err
		}
	}
	return t.addLanes(runs)
}

// addLanes numbers those of the runs that have no lane yet.
func (t *tx) addLanes(runs []uuid.UUID) error {
	var last int64
	if _, err := t.get(`SELECT coalesce(max(lane), 0) FROM lanes`, nil, &last); err != nil {
		return err
	}
	var values []any
	for _, run := range runs {
		if t.cache.lanes[run] == 0 {
			last++
			t.cache.lanes[run], t.cache.fresh[last] = last, true
			values = append(values, last, run[:])
		}
	}
	return t.insertAll(putLanes, values)
}

// jobRow is a job's row as far as a transaction may change it. What becomes of it is written once, at the end.
type jobRow struct {
	number             int64
	lastTime, goodTime sql.NullInt64
	last               lastRun
	changed            bool // last is new
	good               *goodRun
}

// lastRun is the latest run of a job that was told about, and its latest event.
type lastRun struct {
	run       []byte
	kind      int
	eventType string
}

// goodRun is a completed run that named datasets.
type goodRun struct {
	run   uuid.UUID
	edges []adapter.Edge
}

// job returns a job's row and marks it as seen; nil for no job.
func (t *tx) job(ref adapter.RunRef) (*jobRow, error) {
	if ref.Namespace == "" && ref.Name == "" {
		return nil, nil //nolint:nilnil // that is what no job is
	}
	return t.namedJob(ref)
}

func (t *tx) namedJob(ref adapter.RunRef) (*jobRow, error) {
	key := [2]string{ref.Namespace, ref.Name}
	if job, ok := t.cache.jobs[key]; ok {
		return job, nil
	}
	var job jobRow
	if _, err := t.get(`INSERT INTO jobs (namespace, name, seen) VALUES (?, ?, ?)
		ON CONFLICT (namespace, name) DO UPDATE SET seen = max(seen, excluded.seen)
		RETURNING job, last_run, last_time, good_time`,
		[]any{ref.Namespace, ref.Name, t.now}, &job.number, &job.last.run, &job.lastTime, &job.goodTime); err != nil {
		return nil, err
	}
	t.cache.jobs[key] = &job
	return &job, nil
}

// sqlNumber is the job's number as a column's value.
func (j *jobRow) sqlNumber() any {
	if j == nil {
		return nil
	}
	return j.number
}

func (t *tx) dataset(namespace, name string) (int64, error) {
	key := [2]string{namespace, name}
	if n, ok := t.cache.datasets[key]; ok {
		return n, nil
	}
	var n int64
	if _, err := t.get(`INSERT INTO datasets (namespace, name, seen) VALUES (?, ?, ?)
		ON CONFLICT (namespace, name) DO UPDATE SET seen = max(seen, excluded.seen) RETURNING dataset`,
		[]any{namespace, name, t.now}, &n); err != nil {
		return 0, err
	}
	t.cache.datasets[key] = n
	return n, nil
}

// facetsOf returns the number of a text of job facets; nil for none.
func (t *tx) facetsOf(body []byte) (any, error) {
	if len(body) == 0 {
		return nil, nil
	}
	hash := sha256.Sum256(body)
	if n, ok := t.cache.facets[hash]; ok {
		return n, nil
	}
	var n int64
	_, err := t.get(`INSERT INTO facets (hash, body, seen) VALUES (?, ?, ?)
		ON CONFLICT (hash) DO UPDATE SET seen = max(seen, excluded.seen) RETURNING facets`,
		[]any{hash[:], body, t.now}, &n)
	if err != nil {
		return nil, err
	}
	t.cache.facets[hash] = n
	return n, nil
}
