package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

// writer owns the one connection that writes. Transactions take turns on it, so SQLite never sees two of this process.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	turn  chan struct{} // holds a token while nobody writes
	stmts map[string]*sql.Stmt
	pack  packer
	// broken is set once the disk has failed: what is on it cannot be trusted to this process any more.
	broken atomic.Bool
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, conn: conn, turn: make(chan struct{}, 1), stmts: map[string]*sql.Stmt{}}
	w.turn <- struct{}{}
	return w, nil
}

// take waits for the turn; give ends it.
func (w *writer) take(ctx context.Context) error {
	if ctx.Err() != nil { // even if it is the writer's turn
		return context.Cause(ctx)
	}
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *writer) give() { w.turn <- struct{}{} }

// Slim gives back the memory that SQLite keeps for writing: up to 8 MiB of pages and what they lie in, all of it once much
// was written. What is needed of it is soon read again.
func (s *Store) Slim(ctx context.Context) error {
	return s.tidy(ctx, func(ctx context.Context) error {
		_, err := s.writer.conn.ExecContext(ctx, "PRAGMA shrink_memory")
		return err
	})
}

// tidy runs in the writer's turn what is no transaction. Once begun it ends without regard to ctx.
func (s *Store) tidy(ctx context.Context, do func(context.Context) error) error {
	if err := s.writer.take(ctx); err != nil {
		return err
	}
	defer s.writer.give()
	if s.writer.broken.Load() {
		return state.ErrFatalIO
	}
	return s.judge(do(context.WithoutCancel(ctx)))
}

func (w *writer) close() error {
	errs := make([]error, 0, len(w.stmts)+2)
	for _, stmt := range w.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}

// tx is one write transaction. Its first error makes every later call return that error, and the transaction void.
type tx struct {
	w     *writer
	ctx   context.Context // lives as long as the transaction
	now   int64
	err   error
	cache txCache
	packs bool // bodies are packed
}

// write runs one transaction. It begins with the write lock, since a read that turns into a write can fail at once
// when another process wrote in between. Once begun it ends without regard to ctx: an interrupted COMMIT would leave
// its outcome unknown.
func (s *Store) write(ctx context.Context, what string, do func(t *tx) error) error {
	if err := s.writer.take(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.writer.give()
	if s.writer.broken.Load() {
		return fmt.Errorf("%s: %w", what, state.ErrFatalIO)
	}
	err := s.writer.run(context.WithoutCancel(ctx), s.now(), do)
	if err != nil {
		return fmt.Errorf("%s: %w", what, s.judge(err))
	}
	s.keepLogShort(context.WithoutCancel(ctx))
	return nil
}

// judge says what an error means for callers, and ends all writing once the disk has failed.
func (s *Store) judge(err error) error {
	err = s.files.classify(err)
	if errors.Is(err, state.ErrFatalIO) {
		s.writer.broken.Store(true)
	}
	return err
}

func (w *writer) run(ctx context.Context, now time.Time, do func(t *tx) error) error {
	t := &tx{w: w, ctx: ctx, now: nanos(now), cache: newTxCache()}
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do(t)
	if err == nil {
		err = t.err
	}
	if err == nil {
		_, err = t.exec("COMMIT")
	}
	if err != nil {
		// SQLite has ended the transaction itself after some errors; then there is nothing left to roll back.
		_, _ = w.conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}

// stmt returns the prepared form of a query. Queries are constants, so there are few.
func (w *writer) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := w.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = stmt
	return stmt, nil
}

// exec runs a statement and returns the number of rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	result, err := t.result(query, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return n, t.fail(err)
}

// insert runs an INSERT and returns the new row's number.
func (t *tx) insert(query string, args ...any) (int64, error) {
	result, err := t.result(query, args...)
	if err != nil {
		return 0, err
	}
	id, err := result.LastInsertId()
	return id, t.fail(err)
}

func (t *tx) result(query string, args ...any) (sql.Result, error) {
	if t.err != nil {
		return nil, t.err
	}
	stmt, err := t.w.stmt(t.ctx, query)
	if err != nil {
		return nil, t.fail(err)
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	return result, t.fail(err)
}

// get reads at most one row into dest and says whether there was one.
func (t *tx) get(query string, args []any, dest ...any) (bool, error) {
	if t.err != nil {
		return false, t.err
	}
	stmt, err := t.w.stmt(t.ctx, query)
	if err != nil {
		return false, t.fail(err)
	}
	err = stmt.QueryRowContext(t.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, t.fail(err)
}

// each calls scan for every row. The rows are closed before it returns, so scan may not run other statements that
// change what it reads.
func (t *tx) each(scan func(rows *sql.Rows) error, query string, args ...any) error {
	if t.err != nil {
		return t.err
	}
	stmt, err := t.w.stmt(t.ctx, query)
	if err != nil {
		return t.fail(err)
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return t.fail(err)
	}
	return t.fail(eachRow(rows, scan))
}

func (t *tx) fail(err error) error {
	if err != nil && t.err == nil {
		t.err = err
	}
	return err
}

func eachRow(rows *sql.Rows, scan func(rows *sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
