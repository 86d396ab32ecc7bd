package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

// marker is the small file beside the database that says what the database must not have forgotten: that the store was
// filled, by which Prefect, and a reading position from which nothing undelivered is missed.
type marker struct {
	Instance string    `json:"instance"`
	Schema   int       `json:"schema"`
	Created  time.Time `json:"created"`
	// Filled: a cursor has been stored, so a database without any has lost what it held.
	Filled bool `json:"filled"`
	// Cursors are reading positions of which all that was said before them has been settled everywhere. So they stood at
	// Saved.
	Cursors map[string]json.RawMessage `json:"cursors,omitempty"`
	Saved   time.Time                  `json:"saved"`
	Owner   *state.Owner               `json:"owner,omitempty"`
}

// markerEvery is how often the marker follows the cursors.
const markerEvery = time.Minute

// readMarker returns nil where there is no marker. One that can't be read still says that the store was filled.
func (f files) readMarker() (*marker, error) {
	text, err := os.ReadFile(f.marker())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the store's marker: %w", err)
	}
	var m marker
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%w: %s can't be read (%w); remove it if the store beside it is whole", state.ErrDamaged, f.marker(), err)
	}
	return &m, nil
}

// writeMarker replaces the marker as a whole: after a crash there is the old one or the new one.
func (f files) writeMarker(m marker) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the store's marker: %w", err)
	}
	temp := f.marker() + ".tmp"
	if err := writeSynced(temp, append(text, '\n')); err != nil {
		return fmt.Errorf("writing the store's marker: %w", err)
	}
	if err := os.Rename(temp, f.marker()); err != nil {
		return fmt.Errorf("writing the store's marker: %w", err)
	}
	return syncDir(f.dir())
}

func writeSynced(path string, text []byte) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(text); err != nil {
		return err
	}
	return file.Sync()
}

// markerKeeper holds what the daemon knows of its marker. It belongs to whoever has the writer's turn.
type markerKeeper struct {
	current marker
	// next are cursors that the marker may take on once all events up to seq are settled.
	next  map[string]json.RawMessage
	seq   int64
	noted time.Time // when the cursors stood so
	tried time.Time // when the marker was last looked after
}

// startMarker writes the marker at the daemon's start if it is missing or says too little.
func (s *Store) startMarker(ctx context.Context, found *marker, instance string) error {
	m := &s.marker
	if found != nil {
		m.current = *found
	}
	steps, err := migrations(embedded)
	if err != nil {
		return err
	}
	if found == nil || found.Schema != len(steps) {
		if found == nil {
			m.current.Created, m.current.Saved = s.now().UTC(), s.now().UTC()
		}
		m.current.Instance, m.current.Schema = instance, len(steps)
		if err := s.files.writeMarker(m.current); err != nil {
			return err
		}
	}
	return s.read(ctx, func(q reader) error {
		m.next, m.seq, _, err = positions(q)
		m.noted = s.now()
		return err
	})
}

// saveMarker moves the marker's cursors on, now and then and at the end. The marker lags on purpose: a store that is
// lost takes its outbox along, so the position to start again from is the last one before which everything had been
// delivered. A failure is not told: the marker that stands stays true, and the next try is a minute away.
func (s *Store) saveMarker(ctx context.Context, last bool) {
	if s.lock == nil || s.writer.take(ctx) != nil {
		return
	}
	defer s.writer.give()
	m, now := &s.marker, s.now()
	if !last && now.Sub(m.tried).Abs() < markerEvery {
		return
	}
	var cursors map[string]json.RawMessage
	var newest, oldest int64
	err := s.read(context.WithoutCancel(ctx), func(q reader) (err error) {
		cursors, newest, oldest, err = positions(q)
		return err
	})
	if err != nil {
		return
	}
	m.tried = now
	next := m.current
	next.Filled = len(cursors) > 0
	switch {
	case oldest > newest: // all is settled
		next.Cursors, next.Saved = cursors, now.UTC()
	case oldest > m.seq:
		next.Cursors, next.Saved = m.next, m.noted.UTC()
	case next.Filled == m.current.Filled:
		return
	}
	if s.files.writeMarker(next) == nil {
		m.current = next
	}
	m.next, m.seq, m.noted = cursors, newest, now
}

// positions returns the cursors, the newest place in the outbox and the oldest that is pending at a destination which
// is not parked; that is beyond the newest where nothing is.
func positions(q reader) (cursors map[string]json.RawMessage, newest, oldest int64, err error) {
	cursors = map[string]json.RawMessage{}
	err = q.each(func(rows *sql.Rows) error {
		var name string
		var value []byte
		err := rows.Scan(&name, &value)
		if json.Valid(value) {
			cursors[name] = value
		}
		return err
	}, `SELECT name, value FROM cursors`)
	if err != nil {
		return nil, 0, 0, err
	}
	if _, err = q.get(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`, nil, &newest); err != nil {
		return nil, 0, 0, err
	}
	_, err = q.get(`SELECT coalesce(min((SELECT seq FROM deliveries r WHERE r.dest = d.dest AND r.state < 2
		ORDER BY r.seq LIMIT 1)), ?1 + 1) FROM destinations d WHERE NOT d.gone AND d.parked IS NULL`,
		[]any{newest}, &oldest)
	return cursors, newest, oldest, err
}
