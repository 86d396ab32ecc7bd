// Package sqlite keeps the listener's state in one SQLite file, written through its log with an fsync for every
// commit. One connection writes; reads go beside it on connections of their own.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"
)

// Options say how a store is opened.
type Options struct {
	// Daemon takes the store's lock, creates it where there is none, checks it and brings its schema up to date. Without
	// it an existing store is opened beside the daemon, for a command.
	Daemon bool
	// Now is the listener's clock; nil: time.Now.
	Now func() time.Time
	// MaxPages limits the database to so many pages of 4 KiB; 0: no limit. Tests fill a store with it.
	MaxPages int
}

// Store is an open store. Its methods may be called from several goroutines at once.
type Store struct {
	files   files
	options Options
	lock    *lock // nil without Options.Daemon
	writer  *writer
	readers *readers
	marker  markerKeeper
	log     logKeeper
	swept   atomic.Int64 // the lane up to which a purge has looked
	// recovering is set while a damaged store is being replaced.
	recovering *Recovered
}

func (s *Store) now() time.Time {
	if s.options.Now != nil {
		return s.options.Now()
	}
	return time.Now()
}

// Close writes the log back into the database and releases everything. No other call may be under way.
func (s *Store) Close() error {
	var errs []error
	if s.lock != nil && s.writer != nil && !s.writer.broken.Load() {
		s.saveMarker(context.Background(), true)
		// The log can be cut once nobody reads it.
		errs = append(errs, s.readers.close())
		s.readers = nil
		errs = append(errs, s.writer.truncateLog(context.Background()))
	}
	return errors.Join(append(errs, s.abandon())...)
}

// abandon releases what is held without tidying up. After the disk failed even that would write to it, as SQLite writes
// its log back when the last connection ends; so what is held then goes with the process, which must not go on anyway.
func (s *Store) abandon() error {
	if s.writer != nil && s.writer.broken.Load() {
		return nil
	}
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.close())
		s.readers = nil
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
		s.writer = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
		s.lock = nil
	}
	return errors.Join(errs...)
}

// The connections of the writer, and of the readers, which can't write even by mistake.
func (f files) openWriter(ctx context.Context, fresh bool) (*sql.DB, error) {
	pragmas := []string{"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "wal_autocheckpoint(1000)",
		"journal_size_limit(33554432)", "cache_size(-8192)", "temp_store(MEMORY)"}
	if fresh {
		// Only before anything is written can a new database learn to give room back to the disk, so that comes first.
		// Said again to one that knows, it is a write, and then no command could look into a store on a full disk.
		pragmas = append([]string{"auto_vacuum(INCREMENTAL)"}, pragmas...)
	}
	return f.open(ctx, 1, f.dsn("rw", pragmas...))
}

func (f files) openReaders(ctx context.Context) (*sql.DB, error) {
	return f.open(ctx, 4, f.dsn("ro", "query_only(1)", "cache_size(-1024)", "temp_store(MEMORY)"))
}

func (f files) open(ctx context.Context, connections int, dsn string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
