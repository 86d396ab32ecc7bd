package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/prefect-openlineage/listener/state"
)

// backfillsKept is how many finished backfills are remembered.
const backfillsKept = 100

// RequestBackfill hands a job to the daemon and returns its number.
func (s *Store) RequestBackfill(ctx context.Context, request []byte) (int64, error) {
	var id int64
	err := s.write(ctx, "requesting a backfill", func(t *tx) (err error) {
		id, err = t.insert(`INSERT INTO backfills (request, stage, created) VALUES (?, 0, ?)`, notNil(request), t.now)
		if err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM backfills WHERE stage >= 2 AND id <= ?`, id-backfillsKept)
		return err
	})
	return id, err
}

// NextBackfill returns the oldest backfill that is not finished, and marks it as being worked on; false: none. The
// daemon works on one at a time, so after a restart it gets the one that it had begun.
func (s *Store) NextBackfill(ctx context.Context) (state.Backfill, bool, error) {
	const oldest = `SELECT id FROM backfills WHERE stage < 2 ORDER BY id LIMIT 1`
	var id int64
	// Looking first keeps an idle daemon from writing.
	found, err := s.get(ctx, oldest, nil, &id)
	if err != nil || !found {
		return state.Backfill{}, false, wrap("looking for a backfill", err)
	}
	err = s.write(ctx, "taking up a backfill", func(t *tx) (err error) {
		if found, err = t.get(oldest, nil, &id); err != nil || !found {
			return err
		}
		_, err = t.exec(`UPDATE backfills SET stage = 1, started = coalesce(started, ?) WHERE id = ?`, t.now, id)
		return err
	})
	if err != nil || !found {
		return state.Backfill{}, false, err
	}
	b, err := s.Backfill(ctx, id)
	return b, err == nil, err
}

// ProgressBackfill replaces a backfill's counts.
func (s *Store) ProgressBackfill(ctx context.Context, id int64, progress state.Progress) error {
	text, err := json.Marshal(progress)
	if err != nil {
		return fmt.Errorf("encoding a backfill's progress: %w", err)
	}
	return s.changeBackfill(ctx, id, `UPDATE backfills SET progress = ?2 WHERE id = ?1 AND stage < 2`, string(text))
}

// FinishBackfill ends a backfill; failure says why it failed, empty: it is done. One that was finished stays as it is.
func (s *Store) FinishBackfill(ctx context.Context, id int64, failure string) error {
	return s.changeBackfill(ctx, id, `UPDATE backfills SET stage = CASE WHEN ?2 = '' THEN 2 ELSE 3 END, err = ?2,
		finished = ?3, started = coalesce(started, ?3) WHERE id = ?1 AND stage < 2`, failure, nanos(s.now()))
}

func (s *Store) changeBackfill(ctx context.Context, id int64, query string, args ...any) error {
	return s.write(ctx, fmt.Sprintf("backfill %d", id), func(t *tx) error {
		n, err := t.exec(query, append([]any{id}, args...)...)
		if err != nil || n > 0 {
			return err
		}
		var one int
		found, err := t.get(`SELECT 1 FROM backfills WHERE id = ?`, []any{id}, &one)
		if err == nil && !found {
			err = state.ErrUnknown
		}
		return err
	})
}

const backfillColumns = `SELECT id, request, stage, created, started, finished, progress, err FROM backfills `

// Backfill returns a backfill as it stands; state.ErrUnknown where there is none of that number.
func (s *Store) Backfill(ctx context.Context, id int64) (state.Backfill, error) {
	found, err := s.backfills(ctx, backfillColumns+`WHERE id = ?`, id)
	if err == nil && len(found) == 0 {
		err = state.ErrUnknown
	}
	if err != nil {
		return state.Backfill{}, fmt.Errorf("reading backfill %d: %w", id, err)
	}
	return found[0], nil
}

// Backfills returns the last backfills, the newest first.
func (s *Store) Backfills(ctx context.Context, limit int) ([]state.Backfill, error) {
	found, err := s.backfills(ctx, backfillColumns+`ORDER BY id DESC LIMIT ?`, limit)
	return found, wrap("reading the backfills", err)
}

func (s *Store) backfills(ctx context.Context, query string, args ...any) ([]state.Backfill, error) {
	var found []state.Backfill
	err := s.each(ctx, func(rows *sql.Rows) error {
		var b state.Backfill
		var created int64
		var started, finished sql.NullInt64
		var progress []byte
		err := rows.Scan(&b.ID, &b.Request, &b.Stage, &created, &started, &finished, &progress, &b.Err)
		if err != nil {
			return err
		}
		b.Created, b.Started, b.Finished = moment(created), optionalMoment(started), optionalMoment(finished)
		found = append(found, b)
		return json.Unmarshal(progress, &found[len(found)-1].Progress)
	}, query, args...)
	return found, err
}

func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
