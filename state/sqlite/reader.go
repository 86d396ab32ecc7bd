package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// errEnough ends a read early. It never leaves the package.
var errEnough = errors.New("enough")

// readers are connections that see the store as it was when their read began and can't write. They never wait for the
// writer, nor it for them.
type readers struct {
	db    *sql.DB
	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

// known returns the prepared form of a query; nil: there is none yet.
func (r *readers) known(query string) *sql.Stmt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stmts[query]
}

// prepare keeps a query prepared. It takes a connection from the pool, so it must not be called while one is held: the
// last ones could be held by such as wait for one more. A query that can't be prepared now will be another time.
func (r *readers) prepare(ctx context.Context, query string) {
	stmt, err := r.db.PrepareContext(ctx, query)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, twice := r.stmts[query]; twice {
		_ = stmt.Close()
		return
	}
	r.stmts[query] = stmt
}

func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := make([]error, 0, len(r.stmts)+1)
	for _, stmt := range r.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, r.db.Close())...)
}

// reader is one consistent view of the store.
type reader struct {
	ctx  context.Context // lives as long as the read
	pool *readers
	tx   *sql.Tx
	// own are queries that nobody had asked before, prepared for this read alone.
	own map[string]*sql.Stmt
}

// read runs do on one consistent view. Waiting for a connection ends with ctx; a read once begun is short, and watching
// over ctx would cost each of its queries more than the query.
func (s *Store) read(ctx context.Context, do func(q reader) error) error {
	own := map[string]*sql.Stmt{}
	if err := s.view(ctx, own, do); err != nil {
		return s.judge(err)
	}
	for query := range own {
		s.readers.prepare(ctx, query)
	}
	return nil
}

func (s *Store) view(ctx context.Context, own map[string]*sql.Stmt, do func(q reader) error) error {
	conn, err := s.readers.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = context.WithoutCancel(ctx)
	sqlTx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	err = do(reader{ctx: ctx, pool: s.readers, tx: sqlTx, own: own})
	// A view that was only read has nothing to lose by rolling back.
	_ = sqlTx.Rollback()
	return err
}

func (q reader) stmt(query string) (*sql.Stmt, error) {
	if stmt := q.pool.known(query); stmt != nil {
		return q.tx.StmtContext(q.ctx, stmt), nil
	}
	if stmt, ok := q.own[query]; ok {
		return stmt, nil
	}
	stmt, err := q.tx.PrepareContext(q.ctx, query)
	if err != nil {
		return nil, err
	}
	q.own[query] = stmt
	return stmt, nil
}

// get reads at most one row into dest and says whether there was one.
func (q reader) get(query string, args []any, dest ...any) (bool, error) {
	stmt, err := q.stmt(query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(q.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls scan for every row, until it returns errEnough.
func (q reader) each(scan func(rows *sql.Rows) error, query string, args ...any) error {
	stmt, err := q.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(q.ctx, args...)
	if err != nil {
		return err
	}
	if err := eachRow(rows, scan); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

func (s *Store) get(ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	err = s.read(ctx, func(q reader) error {
		found, err = q.get(query, args, dest...)
		return err
	})
	return found, err
}

func (s *Store) each(ctx context.Context, scan func(rows *sql.Rows) error, query string, args ...any) error {
	return s.read(ctx, func(q reader) error { return q.each(scan, query, args...) })
}
