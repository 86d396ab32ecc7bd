package sqlite_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/state/sqlite"
	"github.com/prefect-openlineage/listener/state/statetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	// What the model test does by default; the flags of the command line replace it.
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(scaled(40, 4)), "rapid.steps": strconv.Itoa(scaled(60, 40))} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}

var _ statetest.Store = (*sqlite.Store)(nil)

func TestContract(t *testing.T) {
	t.Parallel()
	statetest.Run(t, statetest.Rig{
		Place: memoryDir,
		Open: func(t testing.TB, place string, now func() time.Time) statetest.Store {
			t.Helper()
			return openDaemon(t, storeIn(place), sqlite.Options{Now: now})
		},
		Crash: func(t testing.TB, store statetest.Store, place string) string {
			t.Helper()
			after := memoryDir(t)
			crashCopy(t, storeIn(place), storeIn(after))
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			return after
		},
	})
}

// memoryDir is a folder for tests that do not look at what an fsync does: in memory, where there is such a place.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "listener-state-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func storeIn(folder string) string { return filepath.Join(folder, "listener.db") }

// openDaemon opens a store that the test closes.
func openDaemon(t testing.TB, path string, options sqlite.Options) *sqlite.Store {
	t.Helper()
	options.Daemon = true
	s, err := sqlite.Open(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crashCopy copies what a kill of the process would leave: the database without what its log holds, the log, and the
// marker. The shared-memory index does not outlive the last process.
func crashCopy(t testing.TB, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", ".instance.json"} {
		if err := copyFile(from+suffix, to+suffix); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		target.Close()
		return err
	}
	return target.Close()
}
