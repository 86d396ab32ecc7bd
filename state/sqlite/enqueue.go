package sqlite

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// enqueue puts the batch's events into the outbox, with a row for each destination that is to get them.
func (t *tx) enqueue(batch state.Batch) (state.Committed, error) {
	var committed state.Committed
	if len(batch.Events) == 0 {
		return committed, nil
	}
	all, err := t.destinations()
	if err != nil {
		return committed, err
	}
	targets, err := pick(all, batch.Destinations)
	if err != nil {
		return committed, err
	}
	if err := t.weighOutbox(); err != nil {
		return committed, err
	}
	f, err := newFilling(t)
	if err != nil {
		return committed, err
	}
	added := map[int64]int64{}
	var events, bytes int64
	for _, event := range batch.Events {
		place, err := f.place(event, targets, batch)
		if err != nil {
			return committed, fmt.Errorf("%s of run %s: %w", event.Type, event.Run, err)
		}
		if !place.fresh {
			committed.Repeated++
			continue
		}
		committed.Enqueued++
		if len(place.dests) == 0 {
			continue
		}
		size, err := f.event(event, place)
		if err != nil {
			return committed, fmt.Errorf("%s of run %s: %w", event.Type, event.Run, err)
		}
		events, bytes, committed.LastSeq = events+1, bytes+size, f.last
		for _, d := range place.dests {
			added[d.number]++
		}
	}
	if err := f.flush(); err != nil {
		return committed, err
	}
	for number, n := range added {
		if _, err := t.exec(`UPDATE destinations SET pending = pending + ? WHERE dest = ?`, n, number); err != nil {
			return committed, err
		}
	}
	return committed, t.count(events, bytes)
}

// packFrom is the size of the outbox in bytes from which on bodies are packed. What is delivered a moment later is not
// worth the work; what waits is.
const packFrom = 32 << 20

// weighOutbox settles whether this transaction's bodies are packed.
func (t *tx) weighOutbox() error {
	var bytes int64
	_, err := t.get(`SELECT bytes FROM totals WHERE one = 1`, nil, &bytes)
	t.packs = bytes >= packFrom
	return err
}

// count moves the outbox's totals.
func (t *tx) count(events, bytes int64) error {
	if events == 0 && bytes == 0 {
		return nil
	}
	_, err := t.exec(`UPDATE totals SET events = events + ?, bytes = bytes + ? WHERE one = 1`, events, bytes)
	return err
}

// pick returns the destinations with these names, or all that take new events where names is nil.
func pick(all []destination, names []string) ([]destination, error) {
	var picked []destination
	if names == nil {
		for _, d := range all {
			if d.open() {
				picked = append(picked, d)
			}
		}
		return picked, nil
	}
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	for _, d := range all {
		if wanted[d.name] {
			picked = append(picked, d)
			delete(wanted, d.name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("destination %q: %w", name, state.ErrUnknown)
	}
	return picked, nil
}

// placing says where an event goes.
type placing struct {
	lane     int64
	ancestor *int64 // nil: none
	fresh    bool
	dests    []destination
}

// goesTo says whether the event goes to the destination of that number as well.
func (p placing) goesTo(number sql.NullInt64) bool {
	return number.Valid && slices.ContainsFunc(p.dests, func(d destination) bool { return d.number == number.Int64 })
}

// place finds out which of the targets have not been given the event yet, and notes that they are.
func (f *filling) place(event adapter.Event, targets []destination, batch state.Batch) (placing, error) {
	lane, err := f.lane(event.Run)
	if err != nil {
		return placing{}, err
	}
	p := placing{lane: lane}
	if event.Ancestor != uuid.Nil && event.Ancestor != event.Run {
		above, err := f.lane(event.Ancestor)
		if err != nil {
			return placing{}, err
		}
		p.ancestor, f.cache.ancestors[above] = &above, true
	}
	key := eventKey{lane, event.Type, nanos(event.Time)}
	unknown, err := f.note(key, numbers(nil, targets))
	if err != nil {
		return placing{}, err
	}
	if unknown {
		p.fresh, p.dests = true, targets
		return p, nil
	}
	if err := f.flush(); err != nil {
		return placing{}, err
	}
	where := []any{key.lane, string(key.kind), key.time}
	var given bits
	if _, err := f.get(`SELECT given FROM keys WHERE lane = ? AND type = ? AND time = ?`, where, (*[]byte)(&given)); err != nil {
		return placing{}, err
	}
	p.dests, err = f.wanting(event, lane, given, targets, batch)
	if err != nil || len(p.dests) == 0 {
		return p, err
	}
	p.fresh = true
	_, err = f.exec(`UPDATE keys SET given = ?4 WHERE lane = ?1 AND type = ?2 AND time = ?3`,
		append(where, notNil(numbers(given, p.dests)))...)
	return p, err
}

// numbers adds the destinations' numbers to a set.
func numbers(to bits, of []destination) bits {
	for _, d := range of {
		to = to.with(d.number)
	}
	return to
}

// wanting picks the targets that are to get an event that is known: it is a repeat. Only where destinations are named
// does it go to those that were never given it, and only with Resend to those that were; but not beside a row of it
// that is still pending there.
func (t *tx) wanting(event adapter.Event, lane int64, given bits, targets []destination, batch state.Batch) ([]destination, error) {
	if batch.Destinations == nil && !batch.Resend {
		return nil, nil
	}
	var wanting []destination
	for _, d := range targets {
		if given.has(d.number) {
			if !batch.Resend {
				continue
			}
			var one int
			pending, err := t.get(`SELECT 1 FROM events e JOIN deliveries d ON d.seq = e.seq AND d.dest = ?
				WHERE e.lane = ? AND e.type = ? AND e.time = ? AND d.state < 2 LIMIT 1`,
				[]any{d.number, lane, string(event.Type), nanos(event.Time)}, &one)
			if err != nil {
				return nil, err
			}
			if pending {
				continue
			}
		}
		wanting = append(wanting, d)
	}
	return wanting, nil
}
