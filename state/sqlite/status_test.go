package sqlite_test

import (
	"os"
	"testing"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// The log keeps its length on the disk and is written over and over: what it holds is no loss of room.
func TestSizeCountsTheLogAsReusable(t *testing.T) {
	t.Parallel()
	path := storeIn(t.TempDir())
	store := openDaemon(t, path, sqlite.Options{})
	defer store.Close()
	if err := store.Register(t.Context(), []state.Destination{{Name: "a", Kind: "http"}}); err != nil {
		t.Fatal(err)
	}
	log, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	size, err := store.Size(t.Context())
	if err != nil || log.Size() == 0 || size.Free < log.Size() {
		t.Errorf("%+v, %v; the log holds %d bytes", size, err, log.Size())
	}
}
