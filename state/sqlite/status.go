package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

const destinationStatus = `SELECT d.name, d.kind, coalesce(b.name, ''), d.gone, d.parked, d.pending, d.dead, d.delivered,
	d.trouble, d.trouble_reason, d.trouble_since,
	coalesce((SELECT seq FROM deliveries r WHERE r.dest = d.dest AND r.state < 2 ORDER BY r.seq LIMIT 1), 0) AS oldest
	FROM destinations d LEFT JOIN destinations b ON b.dest = d.after ORDER BY d.dest`

// Status says how each destination stands, those that left the settings included. It costs the same however much is
// pending.
func (s *Store) Status(ctx context.Context) ([]state.DestinationStatus, error) {
	var all []state.DestinationStatus
	err := s.read(ctx, func(q reader) error {
		err := q.each(func(rows *sql.Rows) error {
			var d state.DestinationStatus
			var parked, delivered, since sql.NullInt64
			err := rows.Scan(&d.Name, &d.Kind, &d.After, &d.Gone, &parked, &d.Pending, &d.Dead, &delivered,
				&d.Trouble.State, &d.Trouble.Reason, &since, &d.OldestSeq)
			if d.Trouble.State != "" {
				d.Trouble.Destination, d.Trouble.Since = d.Name, optionalMoment(since)
			}
			d.ParkedSince, d.LastDelivered = optionalMoment(parked), optionalMoment(delivered)
			d.Parked = d.Gone || parked.Valid
			all = append(all, d)
			return err
		}, destinationStatus)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].OldestPending, err = enqueuedAt(q, all[i].OldestSeq); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the destinations' status: %w", err)
	}
	return all, nil
}

func enqueuedAt(q reader, seq int64) (time.Time, error) {
	var enqueued int64
	found, err := q.get(`SELECT enqueued FROM events WHERE seq = ?`, []any{seq}, &enqueued)
	if err != nil || !found {
		return time.Time{}, err
	}
	return moment(enqueued), nil
}

// Size says how much room the store takes and what is left for it.
func (s *Store) Size(ctx context.Context) (state.Size, error) {
	var size state.Size
	var page, free int64
	err := s.read(ctx, func(q reader) error {
		if _, err := q.get(`SELECT events, bytes FROM totals`, nil, &size.Events, &size.OutboxBytes); err != nil {
			return err
		}
		if _, err := q.get(`PRAGMA page_size`, nil, &page); err != nil {
			return err
		}
		_, err := q.get(`PRAGMA freelist_count`, nil, &free)
		return err
	})
	if err == nil {
		size.Free = page * free
		for _, path := range []string{s.files.db, s.files.wal(), s.files.shm()} {
			n, _, statErr := sizeOf(path)
			if statErr != nil {
				err = statErr
				break
			}
			size.Database += n
			if path == s.files.wal() {
				size.Log = n // once written back, it is written again from its beginning
				size.Free += n
			}
		}
	}
	if err == nil {
		size.DiskFree, err = DiskFree(s.files.dir())
	}
	if err != nil {
		return state.Size{}, fmt.Errorf("measuring the store: %w", err)
	}
	return size, nil
}
