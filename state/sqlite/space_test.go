package sqlite_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// fill commits until the store has no space left and returns the number of the portion that did not fit.
func fill(t *testing.T, s *sqlite.Store, from int) int {
	t.Helper()
	for i := from; i < from+10_000; i++ {
		batch := portion(i)
		batch.Events[0].Body = noise(10_000)
		_, err := s.Commit(t.Context(), batch)
		if err == nil {
			continue
		}
		if !errors.Is(err, state.ErrFull) {
			t.Fatalf("a full store: %v", err)
		}
		return i
	}
	t.Fatal("the store never gets full")
	return 0
}

func TestPageLimit(t *testing.T) {
	t.Parallel()
	s := openDaemon(t, storeIn(memoryDir(t)), sqlite.Options{MaxPages: 300})
	defer s.Close()
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	failed := fill(t, s, 1)
	at, err := position(t.Context(), s)
	must(t, err)
	if at != failed-1 {
		t.Errorf("the cursor is at %d, commit %d failed", at, failed)
	}
	drain(t, s, "one") // what is settled makes room
	commit(t, s, portion(failed))
	fill(t, s, failed+1)
}

// TestFullDisk fills a disk of its own, beside the store and by the store.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	mount := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk)
	if out, err := mount.CombinedOutput(); err != nil {
		skipUnlessCI(t, fmt.Sprintf("no disk to fill: %v, %s", err, out)) // it takes root
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("unmounting: %v, %s", err, out)
		}
	})
	s := openDaemon(t, storeIn(disk), sqlite.Options{})
	defer s.Close()
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	commit(t, s, portion(1))

	filler := filepath.Join(disk, "filler")
	file, err := os.Create(filler)
	must(t, err)
	if _, err := io.Copy(file, endless{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling: %v", err)
	}
	must(t, file.Close())
	failed := fill(t, s, 2)
	if err := s.MarkChecked(t.Context(), told(portion(1)), time.Now()); !errors.Is(err, state.ErrFull) {
		t.Errorf("another write: %v", err)
	}
	if _, err := s.Told(t.Context(), told(portion(1))); err != nil {
		t.Errorf("reading: %v", err)
	}
	must(t, os.Remove(filler))
	commit(t, s, portion(failed)) // by itself, on the same connection
	failed = fill(t, s, failed+1)
	at, err := position(t.Context(), s)
	must(t, err)
	if at != failed-1 {
		t.Errorf("the cursor is at %d, commit %d failed", at, failed)
	}
	size, err := s.Size(t.Context())
	must(t, err)
	if size.DiskFree > 1<<20 || size.Database < 4<<20 {
		t.Errorf("a full disk measures %+v", size)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestUnwritableFolder opens as another user, who may not write there.
func TestUnwritableFolder(t *testing.T) {
	t.Parallel()
	folder := memoryDir(t)
	self, err := os.Executable()
	must(t, err)
	program := filepath.Join(folder, "program")
	must(t, copyFile(self, program))
	must(t, os.Chmod(program, 0o755))
	must(t, os.Chmod(folder, 0o555))
	defer os.Chmod(folder, 0o700)

	cmd := exec.CommandContext(t.Context(), program, "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"=open", pathEnv+"="+storeIn(folder))
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the child ended with %v", err)
	}
	if said := string(out); !strings.Contains(said, "permission denied") || !strings.Contains(said, folder) {
		t.Errorf("the child says %q", said)
	}
}

// TestLevelsOff has the same load come and go: the files stop growing, and shrink after a day that was out of the common.
func TestLevelsOff(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	path := storeIn(memoryDir(t))
	now := time.Now()
	s := openDaemon(t, path, sqlite.Options{Now: func() time.Time { return now }})
	defer s.Close()
	must(t, s.Register(t.Context(), []state.Destination{{Name: "one", Kind: "http"}}))
	day := func(first, portions int) state.Size {
		t.Helper()
		for i := first; i < first+portions; i++ {
			commit(t, s, portion(i))
		}
		drain(t, s, "one")
		now = now.Add(24 * time.Hour)
		for more := true; more; {
			done, err := s.Purge(t.Context(), now.Add(-time.Hour))
			must(t, err)
			more = done.More
		}
		size, err := s.Size(t.Context())
		must(t, err)
		return size
	}
	const portions = 200
	day(0, portions)
	first := day(500, portions)
	var last state.Size
	for n := range 5 {
		last = day(1000*(n+1), portions)
	}
	if last.Database > first.Database+first.Database/4+4<<20 { // the log comes and goes
		t.Errorf("the files grew from %d to %d bytes under the same load", first.Database, last.Database)
	}
	if before, after := first.Database-first.Free, last.Database-last.Free; after > before+before/10 {
		t.Errorf("what is used grew from %d to %d bytes under the same load", before, after)
	}
	large := manyBytes(t, s, 40<<20)
	if after := day(9000, portions); after.Database > large/2 {
		t.Errorf("after an outage the files take %d of %d bytes", after.Database, large)
	}
}

// manyBytes puts events of so many bytes into the outbox and returns the size of the files then.
func manyBytes(t *testing.T, s *sqlite.Store, bytes int) int64 {
	t.Helper()
	const each = 1 << 20
	for i := range bytes / each {
		batch := portion(100_000 + i)
		batch.Events = batch.Events[:1]
		batch.Events[0].Body = noise(each)
		commit(t, s, batch)
	}
	size, err := s.Size(t.Context())
	must(t, err)
	return size.Database
}

// noise is a body that can't be packed.
func noise(n int) []byte {
	body := make([]byte, n)
	_, _ = rand.Read(body)
	return body
}
