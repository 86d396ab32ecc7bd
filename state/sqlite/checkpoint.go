package sqlite

import (
	"context"
	"time"
)

// The log is written back by SQLite itself every thousand pages. A reader can hold that up; once the log has grown
// beyond this it is written back and cut with the readers waited for, at most so often.
const (
	maxLog        = 32 << 20
	truncateEvery = 10 * time.Second
)

// logKeeper remembers the last cut. It belongs to whoever has the writer's turn.
type logKeeper struct{ truncated time.Time }

func (s *Store) keepLogShort(ctx context.Context) {
	if s.lock == nil { // a command leaves it to the daemon
		return
	}
	size, _, err := sizeOf(s.files.wal())
	if err != nil || size < maxLog || time.Since(s.log.truncated) < truncateEvery {
		return
	}
	s.log.truncated = time.Now()
	// A cut that fails or is held up by a reader is tried again; the commit before it stands.
	_ = s.writer.truncateLog(ctx)
}

// cutLog writes the log back now.
func (s *Store) cutLog(ctx context.Context) error { return s.tidy(ctx, s.writer.truncateLog) }

// truncateLog writes the log back into the database and empties it, as far as readers let it.
func (w *writer) truncateLog(ctx context.Context) error {
	_, err := w.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}
