package sqlite

import (
	"bytes"

	"github.com/prefect-openlineage/listener/adapter"
)

var (
	putKeys   = newBulk(`INSERT INTO keys (lane, type, time, given, said)`, 5, ``)
	putEvents = newBulk(`INSERT INTO events
		(seq, lane, ancestor, first, type, time, run_id, namespace, name, enqueued, codec, body)`, 12, ``)
	putDeliveries = newBulk(`INSERT INTO deliveries (seq, dest, lane, ancestor, first, state, ready)`, 7, ``)
)

// filling gathers the rows that a transaction adds to the outbox, so that they are written several at a time. What is
// gathered is not in the tables yet: flush goes before every question that it would change the answer to.
type filling struct {
	*tx
	last                     int64 // the highest place in the outbox that was given
	keys, events, deliveries []any
	noted                    map[eventKey]bool // keys of lanes that are new in this transaction
	pending, awaited         map[laneAt]bool   // what is known of lanes at destinations
}

// eventKey is what tells an event from all others.
type eventKey struct {
	lane int64
	kind adapter.EventType
	time int64
}

// laneAt is a run at a destination.
type laneAt struct{ dest, lane int64 }

func newFilling(t *tx) (*filling, error) {
	f := &filling{tx: t, noted: map[eventKey]bool{}, pending: map[laneAt]bool{}, awaited: map[laneAt]bool{}}
	_, err := t.get(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`, nil, &f.last)
	return f, err
}

// flush writes what is gathered.
func (f *filling) flush() error {
	for _, rows := range []struct {
		into   bulk
		values *[]any
	}{{putKeys, &f.keys}, {putEvents, &f.events}, {putDeliveries, &f.deliveries}} {
		if err := f.insertAll(rows.into, *rows.values); err != nil {
			return err
		}
		clear(*rows.values) // bodies are not held any longer
		*rows.values = (*rows.values)[:0]
	}
	return nil
}

// note notes that an event is given to the targets, and says whether it was unknown: nearly every one is.
func (f *filling) note(key eventKey, given bits) (bool, error) {
	row := []any{key.lane, string(key.kind), key.time, notNil(given), f.now}
	if f.cache.fresh[key.lane] {
		if f.noted[key] {
			return false, nil
		}
		f.noted[key] = true
		f.keys = append(f.keys, row...)
		return true, nil
	}
	added, err := f.exec(putKeys.one+` ON CONFLICT (lane, type, time) DO NOTHING`, row...)
	return added > 0, err
}

// event gathers an event and its deliveries. It returns how much room the event's body takes.
func (f *filling) event(event adapter.Event, p placing) (size int64, err error) {
	codec, body := plain, notNil(event.Body)
	if f.packs {
		if codec, body, err = f.w.pack.pack(event.Body); err != nil {
			return 0, err
		}
		if codec != plain {
			body = bytes.Clone(body) // the packer uses its own again
		}
	}
	f.last++
	f.events = append(f.events, f.last, p.lane, p.ancestor, event.First, string(event.Type), nanos(event.Time),
		event.Job.RunID[:], event.Job.Namespace, event.Job.Name, f.now, codec, body)
	for _, d := range p.dests {
		if err := f.delivery(d, event, p); err != nil {
			return 0, err
		}
	}
	if len(f.events) == putEvents.width*bulkRows {
		err = f.flush()
	}
	return int64(len(body)), err
}

// delivery gathers a row that is ready at once unless an older row of its run, the first event of its ancestor, or the
// destination before it in its group still has the event before it.
func (f *filling) delivery(d destination, event adapter.Event, p placing) error {
	here := laneAt{d.number, p.lane}
	held, err := f.isPending(here)
	if err == nil && !held && p.ancestor != nil {
		held, err = f.isAwaited(laneAt{d.number, *p.ancestor})
	}
	if err != nil {
		return err
	}
	ready := !held && !p.goesTo(d.after)
	f.deliveries = append(f.deliveries, f.last, d.number, p.lane, p.ancestor, event.First, 0, ready)
	f.pending[here] = true
	if !event.First {
		return nil
	}
	f.awaited[here] = true
	if f.cache.childless(p.lane) {
		return nil
	}
	if err := f.flush(); err != nil {
		return err
	}
	return f.holdChildren(d.number, p.lane)
}

// isPending says whether a row of a run is pending at a destination.
func (f *filling) isPending(at laneAt) (bool, error) {
	return f.known(f.pending, at, `SELECT EXISTS (SELECT 1 FROM deliveries WHERE dest = ? AND lane = ? AND state < 2)`)
}

// isAwaited says whether the first event of a run is pending at a destination.
func (f *filling) isAwaited(at laneAt) (bool, error) {
	return f.known(f.awaited, at,
		`SELECT EXISTS (SELECT 1 FROM deliveries WHERE dest = ? AND lane = ? AND first = 1 AND state < 2)`)
}

// known asks the table once. Of a lane that is new nothing can be there but what was gathered here, which is known.
func (f *filling) known(facts map[laneAt]bool, at laneAt, query string) (bool, error) {
	if fact, ok := facts[at]; ok || f.cache.fresh[at.lane] {
		return fact, nil
	}
	var fact bool
	_, err := f.get(query, []any{at.dest, at.lane}, &fact)
	facts[at] = fact
	return fact, err
}
