package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
	"github.com/prefect-openlineage/listener/state/statetest"
)

// filled makes a store with some transactions in it, of which the last are in the log alone, and returns its path in a
// folder without a process on it. All was delivered but the last event.
func filled(t *testing.T) string {
	t.Helper()
	path, after := storeIn(memoryDir(t)), storeIn(memoryDir(t))
	clock := statetest.NewClock()
	s := openDaemon(t, path, sqlite.Options{Now: clock.Now})
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	must(t, s.SetOwner(t.Context(), state.Owner{API: "http://prefect/api", Since: clock.Now()}))
	for i := range 59 {
		commit(t, s, portion(i+1))
	}
	drain(t, s, "one")
	clock.Move(2 * time.Minute)
	commit(t, s, portion(60)) // here the marker notes where the cursor stands
	drain(t, s, "one")
	clock.Move(2 * time.Minute)
	commit(t, s, portion(61)) // and here that all up to there was delivered
	crashCopy(t, path, after)
	must(t, s.Close())
	return after
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, s *sqlite.Store, batch state.Batch) {
	t.Helper()
	_, err := s.Commit(t.Context(), batch)
	must(t, err)
}

func drain(t testing.TB, s *sqlite.Store, destination string) {
	t.Helper()
	for {
		due, err := s.Claim(t.Context(), destination, time.Now(), 1000, nil)
		must(t, err)
		if len(due) == 0 {
			return
		}
		var settlements []state.Settlement
		for _, d := range due {
			settlements = append(settlements, state.Settlement{Seq: d.Seq})
		}
		must(t, s.Settle(t.Context(), destination, settlements))
	}
}

func told(batch state.Batch) []uuid.UUID { return []uuid.UUID{batch.Told[0].ID} }

// overwrite puts bytes into a file.
func overwrite(t *testing.T, path string, at int64, with []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteAt(with, at)
	must(t, errors.Join(err, file.Close()))
}

// checkpointed writes the log back, for damage to what would else stand in the log.
func checkpointed(t *testing.T, path string) {
	t.Helper()
	must(t, openDaemon(t, path, sqlite.Options{}).Close())
}

var damages = map[string]func(t *testing.T, path string){
	"header": func(t *testing.T, path string) {
		checkpointed(t, path)
		overwrite(t, path, 0, bytes.Repeat([]byte{0xee}, 100))
	},
	"two pages": func(t *testing.T, path string) {
		checkpointed(t, path)
		overwrite(t, path, 5*4096, bytes.Repeat([]byte{0xee}, 2*4096))
	},
	"truncated": func(t *testing.T, path string) {
		checkpointed(t, path)
		must(t, os.Truncate(path, 6*4096+100))
	},
	"zero length": func(t *testing.T, path string) {
		checkpointed(t, path)
		must(t, os.Truncate(path, 0))
	},
	"zero length, the log left": func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
	"file deleted":              func(t *testing.T, path string) { must(t, os.Remove(path)) },
	"all but the marker deleted": func(t *testing.T, path string) {
		must(t, errors.Join(os.Remove(path), os.Remove(path+"-wal")))
	},
	"marker garbled": func(t *testing.T, path string) { overwrite(t, path+".instance.json", 0, []byte("garbage")) },
	"another store's file": func(t *testing.T, path string) {
		other := filled(t)
		for _, suffix := range []string{"", "-wal"} {
			must(t, copyFile(other+suffix, path+suffix))
		}
	},
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			damage(t, path)
			before := contents(t, path)
			_, err := sqlite.Open(t.Context(), path, sqlite.Options{Daemon: true})
			if !errors.Is(err, state.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Fatalf("opening: %v", err)
			}
			if after := contents(t, path); !bytes.Equal(before, after) {
				t.Error("opening changed the damaged file")
			}
			switch s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); {
			case errors.Is(err, state.ErrDamaged):
			case err == nil && (name == "two pages" || name == "truncated"): // a command does not look into every page
				must(t, s.Close())
			default:
				t.Errorf("opening for a command: %v", err)
			}
			recovers(t, path, name == "marker garbled")
		})
	}
}

// TestLogDeleted takes away a log that holds all that was ever stored: what is left is a sound store without a cursor.
func TestLogDeleted(t *testing.T) {
	t.Parallel()
	path, after := storeIn(memoryDir(t)), storeIn(memoryDir(t))
	s := openDaemon(t, path, sqlite.Options{})
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	commit(t, s, portion(1))
	crashCopy(t, path, after)
	must(t, s.Close())
	must(t, os.Remove(after+"-wal"))
	for _, daemon := range []bool{true, false} {
		if _, err := sqlite.Open(t.Context(), after, sqlite.Options{Daemon: daemon}); !errors.Is(err, state.ErrDamaged) {
			t.Errorf("opening: %v", err)
		}
	}
	done, err := sqlite.Recover(t.Context(), after, sqlite.Options{})
	must(t, err)
	if done.Positions || done.Since.IsZero() || len(done.Moved) == 0 {
		t.Errorf("recovered %+v", done)
	}
	must(t, openDaemon(t, after, sqlite.Options{}).Close())
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return text
}

// recovers checks that the bad files are kept and the new store goes on from before what was not delivered.
func recovers(t *testing.T, path string, blank bool) {
	t.Helper()
	done, err := sqlite.Recover(t.Context(), path, sqlite.Options{})
	must(t, err)
	for _, moved := range done.Moved {
		if _, err := os.Stat(moved); err != nil || !strings.HasPrefix(moved, path) || !strings.Contains(moved, ".corrupt-") {
			t.Errorf("kept %s: %v", moved, err)
		}
	}
	s := openDaemon(t, path, sqlite.Options{})
	defer s.Close()
	at, err := position(t.Context(), s)
	must(t, err)
	owner, err := s.Owner(t.Context())
	must(t, err)
	wantAt, wantAPI := 60, "http://prefect/api"
	if blank {
		wantAt, wantAPI = 0, ""
	}
	if at != wantAt || done.Positions == blank || owner.API != wantAPI {
		t.Errorf("the new store starts from %d and belongs to %q, want %d and %q (%+v)", at, owner.API, wantAt, wantAPI, done)
	}
	commit(t, s, portion(62))
}

func TestRecoverLeavesWholeStoresAlone(t *testing.T) {
	t.Parallel()
	path := filled(t)
	done, err := sqlite.Recover(t.Context(), path, sqlite.Options{})
	must(t, err)
	if diff := cmp.Diff(sqlite.Recovered{}, done); diff != "" {
		t.Errorf("a whole store was recovered: %s", diff)
	}
	s := openDaemon(t, path, sqlite.Options{})
	defer s.Close()
	if at, err := position(t.Context(), s); err != nil || at != 61 {
		t.Errorf("the cursor is at %d, %v", at, err)
	}
	if _, err := sqlite.Recover(t.Context(), path, sqlite.Options{}); !errors.Is(err, state.ErrLocked) {
		t.Errorf("recovering beside a daemon: %v", err)
	}
}

// TestRecoverCutOff kills a recovery at every of its fsyncs: until it is through, the store goes on counting as damaged.
func TestRecoverCutOff(t *testing.T) {
	t.Parallel()
	whole, killed := filled(t), 0
	for when := 1; ; when += scaled(1, 3) {
		path := storeIn(memoryDir(t))
		crashCopy(t, whole, path)
		must(t, os.Truncate(path, 0))
		_, err := startChild(t, "recover", path, strace(t, "fsync,fdatasync", "signal=KILL", when)...).listen(t)
		if err == nil {
			break
		}
		killed++
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Daemon: true})
		if errors.Is(err, state.ErrDamaged) {
			recovers(t, path, false)
			continue
		}
		must(t, err)
		at, err := position(t.Context(), s)
		if err := errors.Join(err, s.Close()); err != nil || at != 60 {
			t.Errorf("cut off at fsync %d: the cursor is at %d, %v", when, at, err)
		}
	}
	if killed < scaled(12, 4) {
		t.Errorf("only %d kills", killed)
	}
}

// TestTornLog damages the tail of the log: what opens is an older moment, whole in itself.
func TestTornLog(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, wal string, size int64){
		"cut":      func(t *testing.T, wal string, size int64) { must(t, os.Truncate(wal, size-1000)) },
		"flipped":  func(t *testing.T, wal string, size int64) { overwrite(t, wal, size/2, []byte{0xff, 0x00, 0xff}) },
		"zeroed":   func(t *testing.T, wal string, size int64) { overwrite(t, wal, size-5000, make([]byte, 5000)) },
		"enlarged": func(t *testing.T, wal string, size int64) { overwrite(t, wal, size, bytes.Repeat([]byte{7}, 9000)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, torn := storeIn(memoryDir(t)), storeIn(memoryDir(t))
			s := openDaemon(t, path, sqlite.Options{})
			for i := range 50 {
				commit(t, s, portion(i+1))
			}
			crashCopy(t, path, torn)
			must(t, s.Close())
			size, err := os.Stat(torn + "-wal")
			must(t, err)
			damage(t, torn+"-wal", size.Size())

			s = openDaemon(t, torn, sqlite.Options{})
			defer s.Close()
			at, err := position(t.Context(), s)
			must(t, err)
			if whole := name == "enlarged"; at == 0 || at > 50 || (at == 50) != whole {
				t.Errorf("the cursor is at %d", at)
			}
			for i := at; i <= at+1; i++ {
				told, err := s.Told(t.Context(), told(portion(i)))
				must(t, err)
				if (len(told) == 1) != (i == at) {
					t.Errorf("the cursor is at %d; of transaction %d the ledger has %d entries", at, i, len(told))
				}
			}
		})
	}
}

// TestMarkerLags checks the one thing that recovery stands on: the marker's cursor never passes an undelivered event.
func TestMarkerLags(t *testing.T) {
	t.Parallel()
	path := storeIn(memoryDir(t))
	clock := statetest.NewClock()
	s := openDaemon(t, path, sqlite.Options{Now: clock.Now})
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}, {Name: "parked", Kind: "http"}}))
	marker := func(want string) {
		t.Helper()
		text := string(contents(t, path+".instance.json"))
		if want == "" && strings.Contains(text, "cursors") || want != "" && !strings.Contains(text, `"poll": `+want) {
			t.Errorf("want cursor %q in marker %s", want, text)
		}
	}
	step := func(i int, want string) {
		t.Helper()
		clock.Move(2 * time.Minute)
		commit(t, s, portion(i))
		marker(want)
	}
	step(1, "")
	step(2, "")
	must(t, s.Park(t.Context(), "parked")) // what it lacks, a backfill brings
	drain(t, s, "one")
	step(3, "1") // noted at the first, and delivered by now
	step(4, "1") // the third was noted and is not delivered
	drain(t, s, "one")
	commit(t, s, portion(5))
	marker("1") // not each time
	clock.Move(2 * time.Minute)
	commit(t, s, state.Batch{Cursors: map[string][]byte{"poll": []byte("6")}})
	marker("3")
	drain(t, s, "one")
	must(t, s.Close())
	marker("6")
	if _, err := os.Stat(filepath.Dir(path) + "/listener.db-wal"); !os.IsNotExist(err) {
		t.Errorf("the log stayed: %v", err)
	}
}
