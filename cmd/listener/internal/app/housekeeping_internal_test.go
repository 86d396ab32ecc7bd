package app

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// A clock that is put ahead by a year must not have the ledger forget what Prefect may show again.
func TestForgetGoesByPrefectsTime(t *testing.T) {
	t.Parallel()
	ended := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "listener.db"),
		sqlite.Options{Daemon: true, Now: func() time.Time { return ended }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	run := uuid.New()
	told := adapter.Told{
		ID: run, Kind: adapter.FlowRun, Run: adapter.RunRef{RunID: run, Namespace: "default", Name: "etl"},
		Phase: adapter.Ended, EndType: adapter.Complete, End: ended,
	}
	if _, err := store.Commit(t.Context(), state.Batch{Told: []adapter.Told{told}}); err != nil {
		t.Fatal(err)
	}
	const retention = 30 * 24 * time.Hour
	for _, step := range []struct {
		what      string
		read, now time.Time // zero read: nothing was read yet
		known     bool
	}{
		{"nothing was read", time.Time{}, ended.Add(365 * 24 * time.Hour), true},
		{"the listener's clock is ahead", ended.Add(time.Hour), ended.Add(365 * 24 * time.Hour), true},
		{"Prefect's clock is ahead", ended.Add(365 * 24 * time.Hour), ended.Add(time.Hour), true},
		{"the retention is over", ended.Add(retention + time.Hour), ended.Add(retention + time.Hour), false},
	} {
		if !step.read.IsZero() {
			cursor := []byte(`{"ended":"` + step.read.Format(time.RFC3339) + `"}`)
			if _, err := store.Commit(t.Context(), state.Batch{Cursors: map[string][]byte{ingest.CursorName: cursor}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := forget(t.Context(), store, retention, step.now); err != nil {
			t.Fatal(err)
		}
		entries, err := store.Told(t.Context(), []uuid.UUID{run})
		if err != nil {
			t.Fatal(err)
		}
		if _, known := entries[run]; known != step.known {
			t.Errorf("%s: the run is known: %t", step.what, known)
		}
	}
}
