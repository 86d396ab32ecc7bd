package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// MaxDue is the farthest that a delivery may lie ahead: no wait for a next try is longer. A due time beyond it means that
// the clock went back, and counts as reached.
const MaxDue = 15 * time.Minute

// maxClaimBytes bounds the bodies that one claim holds in memory. One event is always given, however large.
const maxClaimBytes = 16 << 20

// Claim returns up to limit events that are due at a destination, in the outbox's order: of each run the oldest that is
// not settled there, and only once the first event of its ancestor is, and the destination before it in its group has
// the event. Runs for which busy is true are passed over; that is how the caller keeps a second event of a run from
// going out beside the first. A nil busy passes none. A parked destination has nothing due. Claiming writes nothing.
func (s *Store) Claim(ctx context.Context, destination string, now time.Time, limit int,
	busy func(run uuid.UUID) bool) ([]state.Delivery, error) {
	if busy == nil {
		busy = func(uuid.UUID) bool { return false }
	}
	var due []state.Delivery
	err := s.read(ctx, func(q reader) error {
		d, err := q.destination(destination)
		if err != nil || !d.open() {
			return err
		}
		seqs, err := dueRows(q, d.number, now, limit, busy)
		if err != nil {
			return err
		}
		due, err = load(q, d.number, seqs)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claiming for %s: %w", destination, err)
	}
	return due, nil
}

// Three queries, each straight down one index: never tried, tried and due again, and due impossibly late.
const (
	dueFresh = `SELECT d.seq, l.run FROM deliveries d JOIN lanes l ON l.lane = d.lane
		WHERE d.dest = ? AND d.ready = 1 AND d.due = 0 ORDER BY d.seq`
	dueAgain = `SELECT d.seq, l.run FROM deliveries d JOIN lanes l ON l.lane = d.lane
		WHERE d.dest = ? AND d.ready = 1 AND d.due > 0 AND d.due <= ? ORDER BY d.due, d.seq`
	dueNever = `SELECT d.seq, l.run FROM deliveries d JOIN lanes l ON l.lane = d.lane
		WHERE d.dest = ? AND d.ready = 1 AND d.due > 0 AND d.due > ? ORDER BY d.due DESC, d.seq`
)

// dueRows returns the places of the first due rows. Each query gives at most limit, and the lowest of all are taken.
func dueRows(q reader, dest int64, now time.Time, limit int, busy func(uuid.UUID) bool) ([]int64, error) {
	var seqs []int64
	for _, ask := range []struct {
		query string
		args  []any
	}{
		{dueFresh, []any{dest}},
		{dueAgain, []any{dest, nanos(now)}},
		{dueNever, []any{dest, nanos(now.Add(MaxDue))}},
	} {
		some, err := firstFree(q, limit, busy, ask.query, ask.args...)
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, some...)
	}
	slices.Sort(seqs)
	return seqs[:min(limit, len(seqs))], nil
}

func firstFree(q reader, limit int, busy func(uuid.UUID) bool, query string, args ...any) ([]int64, error) {
	if limit <= 0 {
		return nil, nil
	}
	var seqs []int64
	var seq int64
	var run sql.RawBytes
	err := q.each(func(rows *sql.Rows) error {
		if err := rows.Scan(&seq, &run); err != nil {
			return err
		}
		if busy(asID(run)) {
			return nil
		}
		if seqs = append(seqs, seq); len(seqs) == limit {
			return errEnough
		}
		return nil
	}, query, args...)
	return seqs, err
}

const deliveriesBySeq = `SELECT d.seq, d.attempts, CASE WHEN d.attempts > 0 THEN coalesce((SELECT reason FROM tries y
		WHERE y.seq = d.seq AND y.dest = d.dest ORDER BY n DESC LIMIT 1), '') ELSE '' END, e.enqueued, ` + eventColumns + `
	FROM json_each(?) j CROSS JOIN deliveries d ON d.seq = j.value AND d.dest = ? JOIN events e ON e.seq = d.seq
	JOIN lanes l ON l.lane = e.lane LEFT JOIN lanes a ON a.lane = e.ancestor`

// load returns deliveries in the order of their places, which is that of the list that SQLite goes through.
func load(q reader, dest int64, seqs []int64) ([]state.Delivery, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	due := make([]state.Delivery, 0, len(seqs))
	var bodies unpacker
	size := 0
	err := q.each(func(rows *sql.Rows) error {
		var d state.Delivery
		var enqueued int64
		var e eventRow
		err := rows.Scan(append([]any{&d.Seq, &d.Attempts, &d.LastReason, &enqueued}, e.targets()...)...)
		if err != nil {
			return err
		}
		if d.Event, err = e.event(&bodies); err != nil {
			return err
		}
		d.Enqueued = moment(enqueued)
		if size += len(d.Event.Body); size > maxClaimBytes && len(due) > 0 {
			return errEnough
		}
		due = append(due, d)
		return nil
	}, deliveriesBySeq, list(seqs), dest)
	slices.SortFunc(due, func(a, b state.Delivery) int { return cmp.Compare(a.Seq, b.Seq) })
	return due, err
}

const (
	eventFacts   = `l.run, a.run, e.first, e.type, e.time, e.run_id, e.namespace, e.name`
	eventColumns = eventFacts + `, e.codec, e.body`
)

// eventRow takes the columns of one event.
type eventRow struct {
	run, ancestor, runID []byte
	first                bool
	kind                 string
	time                 int64
	namespace, name      string
	codec                int
	body                 []byte
}

func (e *eventRow) targets() []any {
	return []any{&e.run, &e.ancestor, &e.first, &e.kind, &e.time, &e.runID, &e.namespace, &e.name, &e.codec, &e.body}
}

func (e *eventRow) event(bodies *unpacker) (adapter.Event, error) {
	body, err := bodies.unpack(e.codec, e.body)
	return adapter.Event{
		Run: asID(e.run), Ancestor: asID(e.ancestor), First: e.first, Type: adapter.EventType(e.kind), Time: moment(e.time),
		Job:  adapter.RunRef{RunID: asID(e.runID), Namespace: e.namespace, Name: e.name},
		Body: body,
	}, err
}
