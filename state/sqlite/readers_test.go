package sqlite_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// More reads at once than there are connections, each the first of its kind, as right after a start: none may wait for
// a connection that another one holds which waits for it.
func TestFirstReadsAtOnce(t *testing.T) {
	t.Parallel()
	for range scaled(20, 4) {
		store := openDaemon(t, storeIn(t.TempDir()), sqlite.Options{})
		if err := store.Register(t.Context(), []state.Destination{{Name: "a", Kind: "http"}}); err != nil {
			t.Fatal(err)
		}
		reads := []func(context.Context) error{
			func(ctx context.Context) error { _, err := store.Status(ctx); return err },
			func(ctx context.Context) error { _, err := store.Size(ctx); return err },
			func(ctx context.Context) error { _, err := store.Owner(ctx); return err },
			func(ctx context.Context) error { _, _, err := store.NextBackfill(ctx); return err },
			func(ctx context.Context) error { _, err := store.Cursor(ctx, "poll"); return err },
			func(ctx context.Context) error { _, err := store.OpenRuns(ctx, time.Now(), 10, nil); return err },
			func(ctx context.Context) error { _, err := store.Claim(ctx, "a", time.Now(), 10, nil); return err },
			func(ctx context.Context) error { _, err := store.Told(ctx, []uuid.UUID{uuid.New()}); return err },
		}
		var all sync.WaitGroup
		begin, failed := make(chan struct{}), make(chan error, len(reads))
		for i, read := range reads {
			all.Go(func() {
				<-begin
				if err := read(t.Context()); err != nil {
					failed <- fmt.Errorf("read %d: %w", i, err)
				}
			})
		}
		close(begin)
		done := make(chan struct{})
		go func() {
			defer close(done)
			all.Wait()
		}()
		select {
		case <-done:
		case err := <-failed:
			t.Fatal(err)
		case <-time.After(20 * time.Second):
			t.Fatal("the reads wait for each other")
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
