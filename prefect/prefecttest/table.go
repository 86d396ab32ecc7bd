package prefecttest

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The kinds of rows, named as in the API's paths.
const (
	flows       = "flows"
	deployments = "deployments"
	flowRuns    = "flow_runs"
	taskRuns    = "task_runs"
	artifacts   = "artifacts"
)

var kinds = []string{flows, deployments, flowRuns, taskRuns, artifacts}

// row is one row: what filters and sort orders look at, and its JSON.
type row struct {
	kind   string
	number int // the order in which rows were added
	id     uuid.UUID
	name   string

	flow, deployment, flowRun, taskRun uuid.UUID // zero: none
	kindOfArtifact                     string
	state                              string
	start, end, expected               time.Time // zero: none

	record any    // what the row was made of; nil for a raw row
	wire   []byte // its JSON; nil: not written yet, or changed since
}

// startOrExpected is what servers sort and filter flow runs by when they are asked for start times.
func (r *row) startOrExpected() time.Time {
	if r.start.IsZero() {
		return r.expected
	}
	return r.start
}

// table holds the rows of a kind with the indexes that keep big histories fast.
type table struct {
	rows      []*row
	byID      map[uuid.UUID]*row
	byFlow    map[uuid.UUID][]*row
	byFlowRun map[uuid.UUID][]*row
	byTaskRun map[uuid.UUID][]*row
	sorted    map[string][]*row // rows by sort order, until something changes
}

func newTable() *table {
	t := &table{byID: make(map[uuid.UUID]*row)}
	t.byFlow, t.byFlowRun, t.byTaskRun = make(map[uuid.UUID][]*row), make(map[uuid.UUID][]*row), make(map[uuid.UUID][]*row)
	t.changed()
	return t
}

func (t *table) changed() { t.sorted = make(map[string][]*row) }

// indexes pairs each index with the id that a row stands under there.
func (t *table) indexes(r *row) []indexed {
	return []indexed{{t.byFlow, r.flow}, {t.byFlowRun, r.flowRun}, {t.byTaskRun, r.taskRun}}
}

type indexed struct {
	index map[uuid.UUID][]*row
	id    uuid.UUID
}

func (t *table) add(r *row) {
	r.number = len(t.rows)
	if n := len(t.rows); n > 0 {
		r.number = t.rows[n-1].number + 1
	}
	t.rows = append(t.rows, r)
	t.byID[r.id] = r
	for _, at := range t.indexes(r) {
		if at.id != uuid.Nil {
			at.index[at.id] = append(at.index[at.id], r)
		}
	}
	t.changed()
}

func (t *table) remove(r *row) {
	same := func(other *row) bool { return other == r }
	t.rows = slices.DeleteFunc(t.rows, same)
	delete(t.byID, r.id)
	for _, at := range t.indexes(r) {
		at.index[at.id] = slices.DeleteFunc(at.index[at.id], same)
	}
	t.changed()
}

// order is how two rows compare in a sort order; rows that it calls equal stay as they were added.
type order func(a, b *row) int

// inOrder returns all rows in a sort order.
func (t *table) inOrder(name string, by order) []*row {
	if t.sorted[name] == nil {
		t.sorted[name] = slices.Clone(t.rows)
		slices.SortStableFunc(t.sorted[name], by)
	}
	return t.sorted[name]
}

// orders are the sort orders that a server of this version knows for a kind. The first is the default.
func (s *Server) orders(kind string) ([]string, map[string]order) {
	byTime := func(descending bool, of func(*row) time.Time) order {
		return func(a, b *row) int { return s.compareTimes(of(a), of(b), descending) }
	}
	known := map[string]order{
		"ID_DESC":                  func(a, b *row) int { return bytes.Compare(b.id[:], a.id[:]) },
		"NAME_ASC":                 func(a, b *row) int { return cmp.Compare(a.name, b.name) },
		"NAME_DESC":                func(a, b *row) int { return cmp.Compare(b.name, a.name) },
		"START_TIME_ASC":           byTime(false, (*row).startOrExpected),
		"START_TIME_DESC":          byTime(true, (*row).startOrExpected),
		"EXPECTED_START_TIME_ASC":  byTime(false, func(r *row) time.Time { return r.expected }),
		"EXPECTED_START_TIME_DESC": byTime(true, func(r *row) time.Time { return r.expected }),
		"END_TIME_DESC":            byTime(true, func(r *row) time.Time { return r.end }),
	}
	switch kind {
	case flowRuns:
		return []string{"ID_DESC", "START_TIME_ASC", "START_TIME_DESC", "EXPECTED_START_TIME_ASC",
			"EXPECTED_START_TIME_DESC", "NAME_ASC", "NAME_DESC", "END_TIME_DESC"}, known
	case taskRuns:
		return []string{"ID_DESC", "EXPECTED_START_TIME_ASC", "EXPECTED_START_TIME_DESC", "NAME_ASC", "NAME_DESC",
			"END_TIME_DESC"}, known
	case artifacts:
		return []string{"ID_DESC"}, known
	default:
		return []string{"NAME_ASC", "NAME_DESC"}, known
	}
}

// compareTimes orders times with the missing ones where the server's database puts them.
func (s *Server) compareTimes(a, b time.Time, descending bool) int {
	if a.IsZero() != b.IsZero() {
		missingFirst := s.postgres == descending // SQLite takes a missing time for the least, PostgreSQL for the greatest
		if a.IsZero() == missingFirst {
			return -1
		}
		return 1
	}
	if descending {
		return b.Compare(a)
	}
	return a.Compare(b)
}
