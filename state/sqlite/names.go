package sqlite

import (
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
)

// txCache remembers the numbers that one transaction has looked up.
type txCache struct {
	lanes    map[uuid.UUID]int64
	jobs     map[[2]string]int64
	datasets map[[2]string]int64
	facets   map[[sha256.Size]byte]int64

	// fresh are the lanes that the transaction made, ancestors those that one of its events stands below.
	fresh, ancestors map[int64]bool
}

// childless says whether no event can stand below a lane's.
func (c txCache) childless(lane int64) bool { return c.fresh[lane] && !c.ancestors[lane] }

func newTxCache() txCache {
	return txCache{
		lanes: map[uuid.UUID]int64{}, jobs: map[[2]string]int64{},
		datasets: map[[2]string]int64{}, facets: map[[sha256.Size]byte]int64{},
		fresh: map[int64]bool{}, ancestors: map[int64]bool{},
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

// job returns the number of a job and marks it as seen; nil for no job.
func (t *tx) job(ref adapter.RunRef) (any, error) {
	if ref.Namespace == "" && ref.Name == "" {
		return nil, nil
	}
	return t.namedJob(ref)
}

func (t *tx) namedJob(ref adapter.RunRef) (int64, error) {
	return numbered(t, t.cache.jobs, [2]string{ref.Namespace, ref.Name},
		`INSERT INTO jobs (namespace, name, seen) VALUES (?, ?, ?)
		 ON CONFLICT (namespace, name) DO UPDATE SET seen = max(seen, excluded.seen) RETURNING job`)
}

func (t *tx) dataset(namespace, name string) (int64, error) {
	return numbered(t, t.cache.datasets, [2]string{namespace, name},
		`INSERT INTO datasets (namespace, name, seen) VALUES (?, ?, ?)
		 ON CONFLICT (namespace, name) DO UPDATE SET seen = max(seen, excluded.seen) RETURNING dataset`)
}

func numbered(t *tx, cache map[[2]string]int64, key [2]string, query string) (int64, error) {
	if n, ok := cache[key]; ok {
		return n, nil
	}
	var n int64
	if _, err := t.get(query, []any{key[0], key[1], t.now}, &n); err != nil {
		return 0, err
	}
	cache[key] = n
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
