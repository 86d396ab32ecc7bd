package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"

	"github.com/prefect-openlineage/listener/state"
)

// Quarantine is a safe place, not an archive: it keeps the newest rows, and of a huge one its beginning.
const (
	maxQuarantineRows = 10_000
	maxQuarantineRaw  = 1 << 20
)

// quarantine keeps a row that could not be read. Seen again, it replaces what was kept of it.
func (t *tx) quarantine(row state.BadRow) error {
	id := row.ID
	if id == "" { // rows without an id are told apart by what they hold
		sum := sha256.Sum256(row.Raw)
		id = "sha256:" + hex.EncodeToString(sum[:8])
	}
	codec, raw, err := t.w.pack.pack(row.Raw[:min(len(row.Raw), maxQuarantineRaw)])
	if err != nil {
		return err
	}
	if _, err := t.exec(`INSERT INTO quarantine (resource, id, reason, codec, raw, seen) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (resource, id) DO UPDATE SET reason = excluded.reason, codec = excluded.codec, raw = excluded.raw,
		seen = excluded.seen`, row.Resource, id, row.Reason, codec, raw, nanos(row.Seen)); err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM quarantine WHERE row <= (SELECT row FROM quarantine ORDER BY row DESC LIMIT 1 OFFSET ?)`,
		maxQuarantineRows)
	return err
}

// Quarantined returns up to limit rows that could not be read, the newest first.
func (s *Store) Quarantined(ctx context.Context, limit int) ([]state.BadRow, error) {
	var bad []state.BadRow
	err := s.each(ctx, func(rows *sql.Rows) error {
		var row state.BadRow
		var codec int
		var seen int64
		if err := rows.Scan(&row.Resource, &row.ID, &row.Reason, &codec, &row.Raw, &seen); err != nil {
			return err
		}
		var err error
		row.Raw, err = unpack(codec, row.Raw)
		row.Seen = moment(seen)
		bad = append(bad, row)
		return err
	}, `SELECT resource, id, reason, codec, raw, seen FROM quarantine ORDER BY row DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the quarantine: %w", err)
	}
	return bad, nil
}

// Release takes a row out of quarantine, because it could be read after all.
func (s *Store) Release(ctx context.Context, resource, id string) error {
	return s.write(ctx, "releasing a quarantined row", func(t *tx) error {
		_, err := t.exec(`DELETE FROM quarantine WHERE resource = ? AND id = ?`, resource, id)
		return err
	})
}
