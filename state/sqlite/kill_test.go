package sqlite_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// promised is all that a store's children were told.
type promised struct {
	committed int
	settled   map[int64]bool
	// unheard are events whose settlement was stored, and the child killed before it could say so.
	unheard int64
}

func promisedNothing() *promised { return &promised{settled: map[int64]bool{}} }

func (p *promised) add(h heard) {
	p.committed = max(p.committed, h.committed)
	maps.Copy(p.settled, h.settled)
}

// keeps opens the store after a kill and checks what it kept: all that was promised and at most one transaction more,
// rows and cursor of the same moment, and a sound file.
func keeps(t *testing.T, path string, p *promised) {
	t.Helper()
	began := time.Now()
	s := openDaemon(t, path, sqlite.Options{})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("ready after %s", took)
	}
	at, err := position(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if at < p.committed || at > p.committed+1 {
		t.Fatalf("the cursor is at %d, %d were promised", at, p.committed)
	}
	var ids []uuid.UUID
	for i := range at + 2 {
		ids = append(ids, portion(i).Told[0].ID)
	}
	told, err := s.Told(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != at {
		t.Errorf("the ledger has %d entries, the cursor is at %d", len(told), at)
	}
	if at == 0 {
		return
	}
	if again, err := s.Commit(t.Context(), state.Batch{Events: portion(at).Events, Destinations: []string{"one"}}); err != nil || again.Repeated != perCommit {
		t.Errorf("of the last transaction's events %d are known: %v", again.Repeated, err)
	}
	size, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	most := int64(perCommit*at-len(p.settled)) - p.unheard
	if size.Events > most || size.Events < most-2 {
		t.Errorf("the outbox holds %d events, want %d", size.Events, most)
	}
	p.committed, p.unheard = at, p.unheard+most-size.Events
	due, err := s.Claim(t.Context(), "one", time.Now(), 10*perCommit*at, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range due {
		if p.settled[d.Seq] {
			t.Errorf("event %d was settled and is due again", d.Seq)
		}
	}
}

func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	path := storeIn(t.TempDir())
	p := promisedNothing()
	random := rand.New(rand.NewPCG(1, 2))
	kills := scaled(12, 5)
	for kill := range kills {
		c := startChild(t, "work", path)
		c.await(t, saidCommitted)
		time.Sleep(time.Duration(random.IntN(30_000)) * time.Microsecond)
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		h, _ := c.listen(t)
		if h.err != "" {
			t.Fatalf("child %d: %s", kill, h.err)
		}
		p.add(h)
		keeps(t, path, p)
	}
	if p.committed < kills {
		t.Errorf("only %d transactions under %d kills", p.committed, kills)
	}
}

// strace returns a command line that does something to the n-th of these system calls.
func strace(t *testing.T, calls, what string, n int) []string {
	t.Helper()
	tracer, err := exec.LookPath("strace")
	if err != nil {
		skipUnlessCI(t, "there is no strace here")
	}
	return []string{tracer, "-f", "-qq", "-o", filepath.Join(t.TempDir(), "strace"), "-e", "trace=" + calls,
		"-e", fmt.Sprintf("inject=%s:%s:when=%d", calls, what, n)}
}

// fullEnv asks for every point of a sweep in place of a sample of them.
const fullEnv = "LISTENER_TEST_FULL"

func TestKilledAtSystemCall(t *testing.T) {
	t.Parallel()
	sweep := map[string][]int{
		"fsync,fdatasync": {1, 2, 3, 4, 5, 6, 8, 11, 17, 40},
		"pwrite64":        {1, 7, 40, 63, 77, 120, 180},
		"rename,renameat": {1, 2},
	}
	if raceEnabled { // starting a process takes long then
		sweep["fsync,fdatasync"], sweep["pwrite64"] = []int{2, 5, 17}, []int{7, 120}
	}
	if os.Getenv(fullEnv) != "" {
		sweep["fsync,fdatasync"], sweep["pwrite64"] = every(1, 60), every(7, 400)
	}
	for calls, whens := range sweep {
		for _, when := range whens {
			t.Run(fmt.Sprint(calls, when), func(t *testing.T) {
				t.Parallel()
				path := storeIn(t.TempDir())
				h, err := startChild(t, "work", path, strace(t, calls, "signal=KILL", when)...).listen(t)
				if err == nil || h.err != "" {
					t.Fatalf("the child was not killed: %v, %s", err, h.err)
				}
				p := promisedNothing()
				p.add(h)
				keeps(t, path, p)
			})
		}
	}
}

func every(step, until int) []int {
	var all []int
	for n := 1; n <= until; n += step {
		all = append(all, n)
	}
	return all
}

func TestDiskFails(t *testing.T) {
	t.Parallel()
	path := storeIn(t.TempDir())
	h, err := startChild(t, "work", path, strace(t, "fsync,fdatasync", "error=EIO", 30)...).listen(t)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("the child ended with %v", err)
	}
	if !strings.Contains(h.err, state.ErrFatalIO.Error()) || !strings.Contains(h.err, path) {
		t.Errorf("the child says %q", h.err)
	}
	p := promisedNothing()
	p.add(h)
	keeps(t, path, p)
}
