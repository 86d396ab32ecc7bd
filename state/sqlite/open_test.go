package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

func TestFilesAreThisUsersAlone(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new", "folder")
	s := openDaemon(t, storeIn(folder), sqlite.Options{})
	commit(t, s, portion(1))
	defer s.Close()
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, entry := range entries {
		info, err := entry.Info()
		must(t, err)
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o", entry.Name(), got)
		}
	}
	if len(entries) != 5 { // database, log, its index, marker, lock
		t.Errorf("the folder holds %d files: %v", len(entries), entries)
	}
	info, err := os.Stat(folder)
	must(t, err)
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("the folder has mode %o", got)
	}
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space.db", "percent%41.db", "quest?ion.db", "ha#sh.db", "ünï.db", "a&_pragma=synchronous(0).db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(memoryDir(t), name)
			s := openDaemon(t, path, sqlite.Options{})
			commit(t, s, portion(1))
			must(t, s.Close())
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCommandsFindNoStore(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "none")
	if _, err := sqlite.Open(t.Context(), storeIn(folder), sqlite.Options{}); !errors.Is(err, state.ErrNone) {
		t.Errorf("opening: %v", err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

// raw changes a store behind its back.
func raw(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), statement)
	must(t, errors.Join(err, db.Close()))
}

// lockedByAnother takes a store's write lock and returns what gives it back.
func lockedByAnother(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	conn, err := db.Conn(t.Context())
	must(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	must(t, err)
	return func() {
		t.Helper()
		_, err := conn.ExecContext(t.Context(), "ROLLBACK")
		must(t, errors.Join(err, conn.Close(), db.Close()))
	}
}

func TestNewerStore(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	must(t, openDaemon(t, path, sqlite.Options{}).Close())
	raw(t, path, "PRAGMA user_version = 99")
	before := contents(t, path)
	for _, daemon := range []bool{true, false} {
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{Daemon: daemon})
		if !errors.Is(err, state.ErrNewer) || !strings.Contains(err.Error(), path) {
			t.Errorf("daemon %v: %v", daemon, err)
		}
	}
	if !bytes.Equal(before, contents(t, path)) {
		t.Error("the file was changed")
	}
}

func TestOlderStoreForACommand(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	must(t, openDaemon(t, path, sqlite.Options{}).Close())
	raw(t, path, "PRAGMA user_version = 0")
	must(t, os.Remove(path+".instance.json"))
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
		t.Error("a command opened a store without a schema")
	}
}

func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	raw(t, path, "CREATE TABLE theirs (x)")
	before := contents(t, path)
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{Daemon: true})
	if err == nil || errors.Is(err, state.ErrDamaged) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("opening: %v", err)
	}
	if !bytes.Equal(before, contents(t, path)) {
		t.Error("the file was changed")
	}
}

// TestLostMarker takes the marker away: the store is whole, and gets a new one.
func TestLostMarker(t *testing.T) {
	t.Parallel()
	path := filled(t)
	must(t, os.Remove(path+".instance.json"))
	s := openDaemon(t, path, sqlite.Options{})
	defer s.Close()
	if at, err := position(t.Context(), s); err != nil || at != 61 {
		t.Errorf("the cursor is at %d, %v", at, err)
	}
	if _, err := os.Stat(path + ".instance.json"); err != nil {
		t.Error(err)
	}
}

func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	path := storeIn(t.TempDir())
	first := startChild(t, "hold", path)
	first.await(t, saidReady)
	began := time.Now()
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{Daemon: true})
	if took := time.Since(began); took > time.Second {
		t.Errorf("refused after %s", took)
	}
	if want := fmt.Sprint("pid ", first.cmd.Process.Pid); !errors.Is(err, state.ErrLocked) || !strings.Contains(err.Error(), want) {
		t.Errorf("second daemon: %v", err)
	}
	must(t, first.cmd.Process.Kill())
	_, _ = first.listen(t)
	must(t, openDaemon(t, path, sqlite.Options{}).Close()) // the lock of the dead holds nobody

	second := startChild(t, "hold", path)
	second.await(t, saidReady)
	must(t, second.stop.Close())
	if h, err := second.listen(t); err != nil || h.err != "" {
		t.Errorf("a daemon that was undisturbed ended with %v, %s", err, h.err)
	}
}

// TestCommandsBesideADaemon runs commands' reads and writes while another process works at full speed.
func TestCommandsBesideADaemon(t *testing.T) {
	t.Parallel()
	path := storeIn(t.TempDir())
	daemon := startChild(t, "work", path)
	daemon.await(t, saidCommitted)
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	must(t, err)
	for range 20 {
		must(t, s.Park(t.Context(), "one"))
		_, err := s.Resume(t.Context(), "one")
		must(t, err)
		_, err = s.RequestBackfill(t.Context(), []byte(`{}`))
		must(t, err)
		all, err := s.Status(t.Context())
		must(t, err)
		if len(all) != 1 {
			t.Fatalf("status: %+v", all)
		}
	}
	must(t, s.Close())
	must(t, daemon.cmd.Process.Kill())
	h, _ := daemon.listen(t)
	if h.err != "" {
		t.Errorf("the daemon was disturbed: %s", h.err)
	}
	p := promisedNothing()
	p.add(h)
	reopened := openDaemon(t, path, sqlite.Options{})
	defer reopened.Close()
	if at, err := position(t.Context(), reopened); err != nil || at < h.committed || at > h.committed+1 {
		t.Errorf("the cursor is at %d, %v; %d were promised", at, err, h.committed)
	}
}
