package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	lib "modernc.org/sqlite/lib"

	"github.com/prefect-openlineage/listener/state"
)

// Open opens the store in the file at path. Errors to branch on: state.ErrLocked (another daemon runs on it),
// state.ErrDamaged (broken, or emptied since it was filled; nothing was changed), state.ErrNewer (written by a newer
// version; nothing was changed), state.ErrFull, state.ErrFatalIO, and state.ErrNone where a command finds no store.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	f, err := locate(path)
	if err != nil {
		return nil, err
	}
	s := &Store{files: f, options: options}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store: %w", f.classify(err)), s.abandon())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if s.options.Daemon {
		if err := s.files.makeDir(); err != nil {
			return err
		}
		var err error
		if s.lock, err = s.files.takeLock(); err != nil {
			return err
		}
	}
	if s.recovering != nil {
		var err error
		if *s.recovering, err = s.files.putAside(s.now()); err != nil {
			return err
		}
	}
	steps, err := migrations(embedded)
	if err != nil {
		return err
	}
	found, err := s.files.inspect(ctx, s.options.Daemon, len(steps))
	if err != nil {
		return err
	}
	if err := s.allowed(found, len(steps)); err != nil {
		return err
	}
	if s.options.Daemon {
		return s.openDaemon(ctx, found, steps)
	}
	return s.connect(ctx, false)
}

// allowed refuses what this opener must not touch.
func (s *Store) allowed(found finding, schema int) error {
	switch {
	case found.schema > schema:
		return fmt.Errorf("%w: %s has schema %d, this version knows %d", state.ErrNewer, s.files.db, found.schema, schema)
	case s.recovering != nil:
		return nil
	case found.marker != nil && (found.schema == 0 || found.instance == "" || found.marker.Filled && !found.filled):
		return s.files.damaged("is empty or missing, though the store was filled before (" + s.files.marker() + " says so)")
	case found.marker != nil && found.marker.Instance != found.instance:
		return s.files.damaged("is another store than the one that was here before; if that is meant, remove " + s.files.marker())
	case s.options.Daemon:
		return nil
	case found.schema == 0:
		return fmt.Errorf("%w at %s: the listener makes it when it starts", state.ErrNone, s.files.db)
	case found.schema < schema:
		return fmt.Errorf("%s has schema %d, this version needs %d: the listener brings it up to date when it starts",
			s.files.db, found.schema, schema)
	default:
		return nil
	}
}

func (s *Store) openDaemon(ctx context.Context, found finding, steps []migration) error {
	if err := s.files.create(); err != nil {
		return err
	}
	if err := s.connect(ctx, found.schema == 0); err != nil {
		return err
	}
	if err := migrate(ctx, s.writer.conn, found.schema, steps); err != nil {
		return err
	}
	if found.schema < len(steps) {
		// The schema must stand in the database itself, so that one without its log is never taken for an empty one.
		if err := s.writer.truncateLog(ctx); err != nil {
			return err
		}
	}
	return s.settleIdentity(ctx, found)
}

// settleIdentity gives a new store its name, and writes the marker where there is none or it knows an older schema.
func (s *Store) settleIdentity(ctx context.Context, found finding) error {
	instance := found.instance
	if instance == "" {
		instance = uuid.NewString()
		if found.marker != nil {
			instance = found.marker.Instance
		}
		err := s.write(ctx, "naming the store", func(t *tx) error { return t.identify(instance, found.marker) })
		if err != nil {
			return err
		}
		if err := s.writer.truncateLog(ctx); err != nil {
			return err
		}
	}
	if s.recovering != nil && found.marker != nil {
		renewed := *found.marker
		renewed.Schema, renewed.Filled = 0, len(renewed.Cursors) > 0 // so that it is written
		found.marker = &renewed
	}
	return s.startMarker(ctx, found.marker, instance)
}

// connect opens the connections. A store is fresh until its first schema stands.
func (s *Store) connect(ctx context.Context, fresh bool) error {
	db, err := s.files.openWriter(ctx, fresh)
	if err != nil {
		return err
	}
	if s.writer, err = newWriter(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	if s.options.MaxPages > 0 {
		limit := fmt.Sprintf("PRAGMA max_page_count = %d", s.options.MaxPages)
		if _, err := s.writer.conn.ExecContext(ctx, limit); err != nil {
			return err
		}
	}
	db, err = s.files.openReaders(ctx)
	if err != nil {
		return err
	}
	s.readers = &readers{db: db, stmts: map[string]*sql.Stmt{}}
	return nil
}

// finding is what stands in a store's place before it is opened for writing.
type finding struct {
	marker   *marker
	schema   int    // 0: no tables
	instance string // "": none yet
	filled   bool   // a cursor is stored
}

// inspect looks at the store without changing it. With check it also has SQLite verify the file's structure.
func (f files) inspect(ctx context.Context, check bool, schema int) (finding, error) {
	var found finding
	var err error
	if found.marker, err = f.readMarker(); err != nil {
		return found, err
	}
	size, exists, err := sizeOf(f.db)
	if err != nil || !exists {
		return found, err
	}
	if check && found.marker == nil {
		if err := f.refuseForeign(); err != nil {
			return found, err
		}
	}
	if size == 0 {
		return found, nil
	}
	err = f.look(ctx, "ro", &found, check, schema)
	if isCode(err, lib.SQLITE_READONLY_ROLLBACK) {
		// Its creation was cut off before it had a log. Only a writer may undo that.
		err = f.look(ctx, "rw", &found, check, schema)
	}
	return found, err
}

// refuseForeign keeps the listener off a file that never was its store: a folder, or a file of something else that a
// slip in the settings names. Only a daemon asks, which is alone on the file (see sizeOf).
func (f files) refuseForeign() error {
	info, err := os.Stat(f.db)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", f.db)
	}
	if info.Size() == 0 {
		return nil
	}
	file, err := os.Open(f.db)
	if err != nil {
		return err
	}
	defer file.Close()
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(file, head); err != nil || string(head) != magic {
		return fmt.Errorf("%s holds something else than a store of the listener's", f.db)
	}
	return nil
}

func (f files) look(ctx context.Context, mode string, found *finding, check bool, schema int) error {
	db, err := f.open(ctx, 1, f.dsn(mode, "query_only(1)"))
	if err != nil {
		return err
	}
	defer db.Close()
	var id, tables int
	if err := db.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&found.schema, &id, &tables); err != nil {
		return err
	}
	if tables > 0 && id != applicationID {
		return fmt.Errorf("%s is a database of another program", f.db)
	}
	if found.schema == 0 || found.schema > schema {
		return nil
	}
	if check {
		if err := f.quickCheck(ctx, db); err != nil {
			return err
		}
	}
	return db.QueryRowContext(ctx, `SELECT coalesce((SELECT value FROM meta WHERE name = 'instance'), ''),
		EXISTS (SELECT 1 FROM cursors)`).Scan(&found.instance, &found.filled)
}

// checkFor is how long the check at the start may take. A file too large for that is not checked to its end: SQLite
// still notices damage when it comes upon it.
const checkFor = 3 * time.Second

func (f files) quickCheck(ctx context.Context, db *sql.DB) error {
	limited, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	var verdict string
	err := db.QueryRowContext(limited, `PRAGMA quick_check(1)`).Scan(&verdict)
	switch {
	case err != nil && limited.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case verdict != "ok":
		return f.damaged("fails SQLite's check (" + verdict + ")")
	default:
		return nil
	}
}
