package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/prefect-openlineage/listener/state"
)

// Owner returns the Prefect that the store's contents were read from; the zero Owner: none was set yet.
func (s *Store) Owner(ctx context.Context) (state.Owner, error) {
	var text []byte
	var owner state.Owner
	found, err := s.get(ctx, `SELECT value FROM meta WHERE name = 'owner'`, nil, &text)
	if err == nil && found {
		err = json.Unmarshal(text, &owner)
	}
	return owner, wrap("reading the store's owner", err)
}

// SetOwner notes the Prefect that the store belongs to from now on. Its URL must not hold credentials.
func (s *Store) SetOwner(ctx context.Context, owner state.Owner) error {
	owner.Since = owner.Since.UTC()
	return s.write(ctx, "noting the store's owner", func(t *tx) error {
		if err := t.putOwner(owner); err != nil {
			return err
		}
		if s.lock == nil {
			return nil
		}
		// The marker repeats it, so that a store which was lost is not filled from another Prefect unseen.
		next := s.marker.current
		next.Owner = &owner
		if err := s.files.writeMarker(next); err != nil {
			return err
		}
		s.marker.current = next
		return nil
	})
}

func (t *tx) putOwner(owner state.Owner) error {
	text, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("encoding the store's owner: %w", err)
	}
	return t.putMeta("owner", string(text))
}

func (t *tx) putMeta(name, value string) error {
	_, err := t.exec(`INSERT INTO meta (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}
