// Package statetest is the contract of a store: what every implementation must do, as tests that each of them runs.
package statetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// Store is the whole behaviour of a store.
type Store interface {
	Told(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]adapter.Told, error)
	Commit(ctx context.Context, batch state.Batch) (state.Committed, error)
	Cursor(ctx context.Context, name string) ([]byte, error)
	OpenRuns(ctx context.Context, now time.Time, limit int, active func(run uuid.UUID) bool) ([]state.OpenRun, error)
	MarkChecked(ctx context.Context, ids []uuid.UUID, at time.Time) error
	Acquaintances(ctx context.Context, after time.Time, limit int) ([]state.Acquaintance, error)
	OpenTasksOfEndedFlows(ctx context.Context, flowEndedBefore time.Time, limit int) ([]state.OrphanTask, error)

	Register(ctx context.Context, destinations []state.Destination) error
	Park(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) (time.Time, error)
	Claim(ctx context.Context, destination string, now time.Time, limit int,
		busy func(run uuid.UUID) bool) ([]state.Delivery, error)
	Settle(ctx context.Context, destination string, settlements []state.Settlement) error
	Status(ctx context.Context) ([]state.DestinationStatus, error)
	Overview(ctx context.Context) (state.Overview, error)
	SetTroubles(ctx context.Context, troubles []state.Trouble) error
	Size(ctx context.Context) (state.Size, error)

	DeadLetters(ctx context.Context, filter state.DeadFilter) ([]state.DeadLetter, error)
	DeadLetter(ctx context.Context, id int64) (state.DeadLetter, error)
	Replay(ctx context.Context, ids []int64) (int, error)
	Drop(ctx context.Context, ids []int64) (int, error)

	Jobs(ctx context.Context, after adapter.RunRef, limit int) ([]state.Job, error)
	LastGoodEdges(ctx context.Context, job adapter.RunRef) ([]adapter.Edge, error)
	Quarantined(ctx context.Context, limit int) ([]state.BadRow, error)
	Release(ctx context.Context, resource, id string) error
	Purge(ctx context.Context, before time.Time) (state.Purged, error)
	Owner(ctx context.Context) (state.Owner, error)
	SetOwner(ctx context.Context, owner state.Owner) error

	RequestBackfill(ctx context.Context, request []byte) (int64, error)
	NextBackfill(ctx context.Context) (state.Backfill, bool, error)
	ProgressBackfill(ctx context.Context, id int64, progress state.Progress) error
	FinishBackfill(ctx context.Context, id int64, failure string) error
	Backfill(ctx context.Context, id int64) (state.Backfill, error)
	Backfills(ctx context.Context, limit int) ([]state.Backfill, error)

	Close() error
}

// Rig opens the stores under test.
type Rig struct {
	// Place returns a new place for a store: a folder or whatever else names one.
	Place func(t testing.TB) string
	// Open opens the store of that place as the daemon does; a new place holds none yet.
	Open func(t testing.TB, place string, now func() time.Time) Store
	// Crash ends the store as a kill of its process would, and returns the place where what was durable can be opened.
	Crash func(t testing.TB, store Store, place string) string
}

// Clock is the clock of a store under test. It stands still unless moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a fixed moment of 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move turns the clock.
func (c *Clock) Move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}
