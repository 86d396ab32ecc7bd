package sqlite

import (
	"context"

	"github.com/prefect-openlineage/listener/state"
)

// SetTroubles notes which destinations fail; of all others it is noted that they do not. Names that the store does not
// know are passed over.
func (s *Store) SetTroubles(ctx context.Context, troubles []state.Trouble) error {
	return s.write(ctx, "noting the destinations' troubles", func(t *tx) error {
		if _, err := t.exec(`UPDATE destinations SET trouble = '', trouble_reason = '', trouble_since = NULL
			WHERE trouble <> ''`); err != nil {
			return err
		}
		for _, trouble := range troubles {
			if _, err := t.exec(`UPDATE destinations SET trouble = ?, trouble_reason = ?, trouble_since = ? WHERE name = ?`,
				trouble.State, trouble.Reason, stamp(trouble.Since), trouble.Destination); err != nil {
				return err
			}
		}
		return nil
	})
}
