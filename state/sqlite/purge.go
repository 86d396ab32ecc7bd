package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

// purgeRows bounds what one transaction of a purge touches, so that it never holds up the daemon's own writes for
// long.
const purgeRows = 500

// Purge forgets what is no longer needed, in a few short transactions: ledger entries whose run ended before that moment
// and that were written before it too, or of which nothing was ever said, the keys of their events, names that nothing
// refers to, and room in the file. A run's end has Prefect's time and the writing the listener's, so that neither clock
// alone can have something forgotten that Prefect may show again. Open runs, the outbox and dead letters stay. It returns how many ledger entries went
// and whether there is more to do at once.
func (s *Store) Purge(ctx context.Context, before time.Time) (state.Purged, error) {
	var done state.Purged
	err := s.write(ctx, "purging the ledger", func(t *tx) (err error) {
		done.Runs, err = t.purgeTold(nanos(before))
		return err
	})
	if err != nil {
		return done, err
	}
	done.More = done.Runs == purgeRows
	more, err := s.sweep(ctx, nanos(before))
	if done.More = done.More || more; err != nil || done.More {
		return done, err
	}
	if err := s.write(ctx, "keeping names", func(t *tx) error { return t.keepNames(nanos(before)) }); err != nil {
		return done, err
	}
	if err := s.write(ctx, "purging names", func(t *tx) error { return t.purgeNames(nanos(before)) }); err != nil {
		return done, err
	}
	done.More, err = s.giveBack(ctx)
	return done, err
}

func (t *tx) purgeTold(before int64) (int, error) {
	lanes, err := t.numbers(`DELETE FROM told WHERE lane IN (
		SELECT lane FROM told WHERE phase <> 1 AND touched < ?1 AND coalesce(ended, touched) < ?1
		ORDER BY touched LIMIT ?2) RETURNING lane`, before, purgeRows)
	if err != nil {
		return 0, err
	}
	return len(lanes), t.dropLanes(lanes, before)
}

// sweepLanes is how many lanes one purge looks through.
const sweepLanes = 20_000

// sweep looks through the next lanes for such as no ledger entry stands for any more: what was still in the outbox when
// its entry went. It goes round and round, a piece at each call, and returns whether it broke off within a piece.
func (s *Store) sweep(ctx context.Context, before int64) (more bool, err error) {
	from := s.swept.Load()
	to := from + sweepLanes
	var orphans []int64
	var last int64
	err = s.read(ctx, func(q reader) error {
		if _, err := q.get(`SELECT coalesce(max(lane), 0) FROM lanes`, nil, &last); err != nil {
			return err
		}
		return q.each(func(rows *sql.Rows) error {
			var lane int64
			err := rows.Scan(&lane)
			orphans = append(orphans, lane)
			return err
		}, `SELECT l.lane FROM lanes l WHERE l.lane > ? AND l.lane <= ?
			AND NOT EXISTS (SELECT 1 FROM told t WHERE t.lane = l.lane) ORDER BY l.lane LIMIT ?`, from, to, purgeRows)
	})
	if err != nil {
		return false, fmt.Errorf("looking for lanes without an entry: %w", err)
	}
	if len(orphans) > 0 {
		err := s.write(ctx, "purging keys", func(t *tx) error { return t.dropLanes(orphans, before) })
		if err != nil {
			return false, err
		}
	}
	switch {
	case len(orphans) == purgeRows:
		to, more = orphans[len(orphans)-1], true
	case to >= last:
		to = 0
	}
	s.swept.Store(to)
	return more, nil
}

// dropLanes removes, of those of these lanes that have no ledger entry, the keys said before that moment, and the lane
// itself once nothing is left of it. An event in the outbox keeps all of its lane's keys.
func (t *tx) dropLanes(lanes []int64, before int64) error {
	for _, lane := range lanes {
		if _, err := t.exec(`DELETE FROM keys WHERE lane = ?1 AND said < ?2
			AND NOT EXISTS (SELECT 1 FROM told WHERE lane = ?1)
			AND NOT EXISTS (SELECT 1 FROM events WHERE lane = ?1)`, lane, before); err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM lanes WHERE lane = ?1
			AND NOT EXISTS (SELECT 1 FROM told WHERE lane = ?1)
			AND NOT EXISTS (SELECT 1 FROM keys WHERE lane = ?1)
			AND NOT EXISTS (SELECT 1 FROM events WHERE lane = ?1)
			AND NOT EXISTS (SELECT 1 FROM events WHERE ancestor = ?1)`, lane); err != nil {
			return err
		}
	}
	return nil
}

// keepNames marks the names that are used by entries which were written before that moment and still stand, because
// their runs ended after it by Prefect's clock. There are such only where the listener's clock was wrong.
func (t *tx) keepNames(before int64) error {
	const left = ` FROM told WHERE phase <> 1 AND touched < ?1`
	for _, query := range []string{
		`UPDATE jobs SET seen = ?1 WHERE seen < ?1 AND job IN (SELECT job` + left + ` UNION SELECT parent_job` + left + ` UNION SELECT root_job` + left + `)`,
		`UPDATE facets SET seen = ?1 WHERE seen < ?1 AND facets IN (SELECT facets` + left + `)`,
	} {
		if _, err := t.exec(query, before); err != nil {
			return err
		}
	}
	return nil
}

// purgeNames runs once no purgeable ledger entry is left. Whatever entry still stands was written after that moment, and
// so were the names it uses marked as seen, but for those of open runs, which are asked for by name.
func (t *tx) purgeNames(before int64) error {
	for _, query := range []string{
		`DELETE FROM edges WHERE seen < ?`,
		`DELETE FROM good WHERE job IN (SELECT job FROM jobs WHERE good_seen < ?)`,
		`UPDATE jobs SET good_run = NULL, good_time = NULL, good_seen = NULL WHERE good_seen < ?`,
		`DELETE FROM datasets WHERE seen < ? AND NOT EXISTS (SELECT 1 FROM edges WHERE edges.dataset = datasets.dataset)
			AND NOT EXISTS (SELECT 1 FROM good WHERE good.dataset = datasets.dataset)`,
		`DELETE FROM jobs WHERE seen < ? AND NOT EXISTS (SELECT 1 FROM edges WHERE edges.job = jobs.job)
			AND good_run IS NULL AND job NOT IN (SELECT job FROM told WHERE phase = 1 AND job IS NOT NULL
				UNION SELECT parent_job FROM told WHERE phase = 1 AND parent_job IS NOT NULL
				UNION SELECT root_job FROM told WHERE phase = 1 AND root_job IS NOT NULL)`,
		`DELETE FROM facets WHERE seen < ?
			AND facets NOT IN (SELECT facets FROM told WHERE phase = 1 AND facets IS NOT NULL)
			AND NOT EXISTS (SELECT 1 FROM good WHERE good.facets = facets.facets)`,
	} {
		if _, err := t.exec(query, before); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) numbers(query string, args ...any) ([]int64, error) {
	var all []int64
	err := t.each(func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		all = append(all, n)
		return err
	}, query, args...)
	return all, err
}

// Free pages are used again before the file grows, so it levels out by itself. After an outage that filled it, room is
// given back to the disk, a little at a time and not below what the next such day needs.
const (
	freePagesKept = 4096 // of 4 KiB
	freePagesStep = 1024
)

func (s *Store) giveBack(ctx context.Context) (more bool, err error) {
	var free, pages int64
	err = s.read(ctx, func(q reader) error {
		if _, err := q.get(`PRAGMA freelist_count`, nil, &free); err != nil {
			return err
		}
		_, err := q.get(`PRAGMA page_count`, nil, &pages)
		return err
	})
	if err != nil || free < freePagesKept+freePagesStep || free < pages/4 {
		return false, wrap("measuring the free pages", err)
	}
	left := free
	err = s.write(ctx, "giving room back", func(t *tx) error {
		if _, err := t.exec(`PRAGMA incremental_vacuum(1024)`); err != nil {
			return err
		}
		_, err := t.get(`PRAGMA freelist_count`, nil, &left)
		return err
	})
	if err != nil || left >= free { // a file that was made without this ability keeps its size
		return false, err
	}
	// The file is cut when the log is written back.
	return true, s.cutLog(ctx)
}
