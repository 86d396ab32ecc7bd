package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"maps"
	"slices"

	driver "modernc.org/sqlite"
)

// Queries returns the text of every query that the store has used so far.
func (s *Store) Queries() []string {
	queries := maps.Clone(s.writer.stmts)
	maps.Copy(queries, s.readers.stmts)
	return slices.Sorted(maps.Keys(queries))
}

// Plan returns how SQLite would run a query, step by step.
func (s *Store) Plan(ctx context.Context, query string) ([]string, error) {
	rows, err := s.writer.conn.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, make([]any, 2*toldBatch)...) // more than any has
	if err != nil {
		return nil, err
	}
	var steps []string
	err = eachRow(rows, func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	})
	return steps, err
}

// PagesInMemory returns how many bytes of pages SQLite keeps for writing.
func (s *Store) PagesInMemory(ctx context.Context) (int, error) {
	if err := s.writer.take(ctx); err != nil {
		return 0, err
	}
	defer s.writer.give()
	var bytes int
	err := s.writer.conn.Raw(func(conn any) (err error) {
		bytes, _, err = conn.(driver.DBStatus).Status(driver.DBStatusCacheUsed, false)
		return err
	})
	return bytes, err
}

// Migrate brings the database behind a handle from one version of a folder of migrations to its last.
func Migrate(ctx context.Context, db *sql.DB, source fs.FS, from int) error {
	steps, err := migrations(source)
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return migrate(ctx, conn, from, steps)
}

// Classify is what the store makes of an error of its file or disk.
func Classify(path string, err error) error { return files{db: path}.classify(err) }

// PackTwice packs two bodies one after the other and returns them unpacked, with something damaged between them.
func PackTwice(a, b []byte) (first, second []byte, err error) {
	var p packer
	var u unpacker
	for _, body := range []struct {
		in  []byte
		out *[]byte
	}{{a, &first}, {b, &second}} {
		codec, stored, err := p.pack(body.in)
		if err != nil {
			return nil, nil, err
		}
		if *body.out, err = u.unpack(codec, slices.Clone(stored)); err != nil {
			return nil, nil, err
		}
		if _, err := u.unpack(deflate, []byte("damaged")); err == nil {
			return nil, nil, errors.New("a damaged body was unpacked")
		}
	}
	return first, second, nil
}

// Unpack is what reads stored bodies.
func Unpack(codec int, stored []byte) ([]byte, error) { return unpack(codec, stored) }

// Bits is the set of destinations that an event was given to.
type Bits = bits

// Has and With are its operations.
func (b bits) Has(n int64) bool  { return b.has(n) }
func (b bits) With(n int64) bits { return b.with(n) }
