package sqlite_test

import (
	"bytes"
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

// A command that only looks must not write, not even where it opens the store: the disk may be full, which is when
// people look.
func TestLookingWritesNothing(t *testing.T) {
	t.Parallel()
	path := storeIn(t.TempDir())
	daemon := openDaemon(t, path, sqlite.Options{})
	defer daemon.Close()
	if err := daemon.Register(t.Context(), []state.Destination{{Name: "a", Kind: "http"}}); err != nil {
		t.Fatal(err)
	}
	log := func() []byte {
		text, err := os.ReadFile(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := log()
	command, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if err := command.Close(); err != nil {
		t.Error(err)
	}
	if after := log(); !bytes.Equal(before, after) {
		t.Errorf("the log had %d bytes and has %d others", len(before), len(after))
	}
}
