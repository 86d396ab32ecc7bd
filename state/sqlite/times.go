package sqlite

import (
	"database/sql"
	"math"
	"time"

	"github.com/google/uuid"
)

// The store counts time in nanoseconds since 1970, which ends in 1678 and 2262. Times beyond are cut to these ends:
// nobody runs a flow there, and odd data must not stop a transaction.
var (
	earliest = time.Unix(0, math.MinInt64).UTC()
	latest   = time.Unix(0, math.MaxInt64).UTC()
)

func nanos(t time.Time) int64 {
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// stamp is a time as a column's value; the zero time is NULL.
func stamp(t time.Time) sql.NullInt64 {
	if t.IsZero() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: nanos(t), Valid: true}
}

func moment(n int64) time.Time {
	if n == math.MinInt64 { // the zero time lies before the range
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func optionalMoment(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return moment(n.Int64)
}

// blob is an id as a column's value; the zero id is NULL.
func blob(id uuid.UUID) any {
	if id == uuid.Nil {
		return nil
	}
	return id[:]
}

// asID reads an id; NULL is the zero id.
func asID(b []byte) (id uuid.UUID) {
	copy(id[:], b)
	return id
}
