package deliver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
)

// Outbox is what delivery needs of the store.
type Outbox interface {
	// Claim returns up to limit events that are due at the destination, in outbox order: of each run only the oldest
	// that is unsettled there, and none whose ancestor's first event is. Runs for which busy is true are left out. It
	// changes nothing.
	Claim(ctx context.Context, destination string, now time.Time, limit int,
		busy func(run uuid.UUID) bool) ([]state.Delivery, error)
	// Settle records what became of attempts, in one transaction.
	Settle(ctx context.Context, destination string, settlements []state.Settlement) error
	// DeadLetters lists dead letters by rising ID, a page at a time.
	DeadLetters(ctx context.Context, filter state.DeadFilter) ([]state.DeadLetter, error)
	// Replay makes dead letters pending again, in their old places and without their history. Those that are none any
	// more are passed over.
	Replay(ctx context.Context, ids []int64) (int, error)
	// Status says how each destination stands.
	Status(ctx context.Context) ([]state.DestinationStatus, error)
}
