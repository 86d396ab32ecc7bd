package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

// destination is one row of the destinations as delivery and enqueueing need it.
type destination struct {
	number int64
	name   string
	after  sql.NullInt64
	gone   bool
	parked sql.NullInt64
}

// open says whether new events go there.
func (d destination) open() bool { return !d.gone && !d.parked.Valid }

const listDestinations = `SELECT dest, name, after, gone, parked FROM destinations ORDER BY dest`

func (t *tx) destinations() ([]destination, error) {
	var all []destination
	err := t.each(func(rows *sql.Rows) error {
		var d destination
		err := rows.Scan(&d.number, &d.name, &d.after, &d.gone, &d.parked)
		all = append(all, d)
		return err
	}, listDestinations)
	return all, err
}

func (t *tx) destination(name string) (destination, error)    { return findDestination(t, name) }
func (q reader) destination(name string) (destination, error) { return findDestination(q, name) }

func findDestination(from getter, name string) (destination, error) {
	d := destination{name: name}
	found, err := from.get(`SELECT dest, after, gone, parked FROM destinations WHERE name = ?`, []any{name},
		&d.number, &d.after, &d.gone, &d.parked)
	if err == nil && !found {
		err = fmt.Errorf("destination %q: %w", name, state.ErrUnknown)
	}
	return d, err
}

// getter reads one row, in a transaction or beside it.
type getter interface {
	get(query string, args []any, dest ...any) (bool, error)
}

// Register tells the store which destinations the settings name, in order. New ones start now: they get what is said
// from here on. Those that are not named any more are parked and keep their rows; named again, they go on. Parked
// fields of the arguments are not looked at.
func (s *Store) Register(ctx context.Context, destinations []state.Destination) error {
	if err := checkGroups(destinations); err != nil {
		return err
	}
	return s.write(ctx, "registering the destinations", func(t *tx) error {
		if _, err := t.exec(`UPDATE destinations SET gone = 1`); err != nil {
			return err
		}
		numbers := map[string]int64{}
		for _, d := range destinations {
			var number int64
			if _, err := t.get(`INSERT INTO destinations (name, kind, registered) VALUES (?, ?, ?)
				ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, gone = 0 RETURNING dest`,
				[]any{d.Name, d.Kind, t.now}, &number); err != nil {
				return err
			}
			numbers[d.Name] = number
		}
		for _, d := range destinations {
			if err := t.putAfter(numbers[d.Name], numbers[d.After]); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkGroups refuses names that are empty or used twice, and an After that does not stand earlier in the list, which
// also rules out circles.
func checkGroups(destinations []state.Destination) error {
	var before []string
	for _, d := range destinations {
		if d.Name == "" || slices.Contains(before, d.Name) {
			return fmt.Errorf("registering the destinations: the name %q is empty or used twice", d.Name)
		}
		if d.After != "" && !slices.Contains(before, d.After) {
			return fmt.Errorf("registering the destinations: %q comes after %q, which does not stand before it", d.Name, d.After)
		}
		before = append(before, d.Name)
	}
	return nil
}

// putAfter sets which destination goes before this one; 0: none. Where that changes, the rows that are pending here
// are judged anew.
func (t *tx) putAfter(dest, after int64) error {
	value := sql.NullInt64{Int64: after, Valid: after != 0}
	changed, err := t.exec(`UPDATE destinations SET after = ?2 WHERE dest = ?1 AND after IS NOT ?2`, dest, value)
	if err != nil || changed == 0 {
		return err
	}
	if _, err := t.exec(`UPDATE deliveries SET ready = 0 WHERE dest = ? AND state < 2 AND ready = 1`, dest); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE deliveries AS d SET ready = 1 WHERE d.dest = ?1 AND d.state < 2 AND `+unblocked, dest)
	return err
}

// Park takes a destination out until Resume: its rows wait and it gets no new ones.
func (s *Store) Park(ctx context.Context, name string) error {
	return s.write(ctx, "parking a destination", func(t *tx) error {
		d, err := t.destination(name)
		if err != nil {
			return err
		}
		_, err = t.exec(`UPDATE destinations SET parked = coalesce(parked, ?) WHERE dest = ?`, t.now, d.number)
		return err
	})
}

// Resume lets a parked destination go on. It returns when it was parked: what was said since then is not in its outbox
// and can be had by a backfill. The zero time: it was not parked.
func (s *Store) Resume(ctx context.Context, name string) (time.Time, error) {
	var since time.Time
	err := s.write(ctx, "resuming a destination", func(t *tx) error {
		d, err := t.destination(name)
		if err != nil {
			return err
		}
		since = optionalMoment(d.parked)
		_, err = t.exec(`UPDATE destinations SET parked = NULL WHERE dest = ?`, d.number)
		return err
	})
	return since, err
}
