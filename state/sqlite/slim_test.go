package sqlite_test

import (
	"testing"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// What SQLite keeps for writing is given back, and writing goes on.
func TestSlim(t *testing.T) {
	t.Parallel()
	s := openDaemon(t, storeIn(t.TempDir()), sqlite.Options{})
	defer s.Close()
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	for i := range 100 {
		batch := portion(i)
		batch.Events[0].Body = noise(20_000)
		commit(t, s, batch)
	}
	full, err := s.PagesInMemory(t.Context())
	must(t, err)
	if full < 1<<20 {
		t.Fatalf("%d bytes are kept of 2 MB of events: nothing to give back", full)
	}
	must(t, s.Slim(t.Context()))
	left, err := s.PagesInMemory(t.Context())
	must(t, err)
	if left > full/4 {
		t.Errorf("%d of %d bytes are left", left, full)
	}
	commit(t, s, portion(100))
}
