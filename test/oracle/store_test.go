package oracle_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Test 16. The disk fails to write back once: nothing that was written since can be trusted, so the listener ends, says
// why, and the next one goes on.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		rig.Skip(t, "no strace on this machine")
	}
	ended := 0
	for n := 2; n <= scale(26, 40); n += scale(6, 1) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			takes(t, light)
			w := newWorld(t, "a")
			a := w.consumer("a")
			a.copies = inFlight
			w.past(shape{tasks: 6}, 8, 5*time.Second, time.Now())
			w.daemon.under = []string{
				strace, "-f", "-qq", "-e", "signal=none", "-e", "trace=fsync,fdatasync",
				"-e", fmt.Sprint("inject=fsync,fdatasync:error=EIO:when=", n), "-o", os.DevNull,
			}
			w.daemon.launch()
			w.eventually(30*time.Second, "the listener ends, or has told everything", func() bool {
				return !w.daemon.alive() || a.lacks(w.told()) == 0
			})
			if !w.daemon.alive() {
				ended++
				if code := w.daemon.exitCode(); code != 5 {
					t.Errorf("the listener ended with %d, not 5: %s", code, w.daemon.said())
				}
				if said := w.daemon.said(); !strings.Contains(said, "the store's disk failed") {
					t.Errorf("the listener does not say why it ends: %s", said)
				}
			}
			w.daemon.kill()
			w.daemon.under = nil
			w.daemon.start()
			w.caughtUp(20 * time.Second)
			w.fresh()
			w.judge()
		})
	}
	if ended == 0 {
		t.Error("no failure of the disk was met: the test shows nothing")
	}
}

// Test 17. A store that is damaged, or was emptied behind the listener's back, is refused and left as it is. Started
// with --recover the listener keeps the bad files and reads again what was not delivered.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, db string)
	}{
		{"header", func(t *testing.T, db string) { overwrite(t, db, 0, 100) }},
		{"two pages", func(t *testing.T, db string) { overwrite(t, db, 3*4096, 2*4096) }},
		{"cut in half", func(t *testing.T, db string) { cut(t, db, 2) }},
		{"zero length", func(t *testing.T, db string) { cut(t, db, 0) }},
		{"gone", func(t *testing.T, db string) { remove(t, db) }},
		{"log gone", func(t *testing.T, db string) { remove(t, db+"-wal") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			takes(t, light)
			w := newWorld(t, "a", "b")
			a, b := w.consumer("a"), w.consumer("b")
			b.Script(transporttest.Always(transporttest.Status(503))) // what waits for it must not be lost
			w.past(shape{tasks: 10}, 20, 10*time.Second, time.Now())
			w.daemon.start()
			w.caughtUp(20*time.Second, a)
			if test.name == "log gone" {
				w.daemon.kill()
			} else {
				w.daemon.stop() // which leaves no log
			}
			test.damage(t, w.daemon.state)

			w.daemon.launch()
			code, _ := w.daemon.ended(10 * time.Second)
			if said := w.daemon.said(); code != 4 || !strings.Contains(said, w.daemon.state) || !strings.Contains(said, "--recover") {
				t.Errorf("the listener ended with %d, not 4 with the file's name and what to do: %s", code, said)
			}

			b.Script(nil)
			w.forgotten(a)
			w.daemon.args = []string{"--recover"}
			w.daemon.start()
			w.caughtUp(20 * time.Second)
			w.fresh()
			w.judge()
			kept, err := filepath.Glob(filepath.Join(filepath.Dir(w.daemon.state), "*.corrupt-*"))
			if err != nil || len(kept) == 0 && test.name != "gone" {
				t.Errorf("the bad files were not kept: %v", err)
			}
		})
	}
}

// forgotten allows that a consumer gets again all that was told so far, because nobody knows any more what it has. Its
// last word on a run must be the run's last word all the same.
func (w *world) forgotten(c *consumer) {
	told := w.told()
	c.copies = len(told)
	for _, e := range told {
		c.replayed[e.Run.ID] = true
	}
}

func overwrite(t *testing.T, path string, at int64, length int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	junk := make([]byte, length)
	for i := range junk {
		junk[i] = byte(i*31 + 7)
	}
	if _, err := file.WriteAt(junk, at); err != nil {
		t.Fatal(err)
	}
}

// cut shortens a file to one of so many parts; 0: to nothing.
func cut(t *testing.T, path string, parts int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var left int64
	if parts > 0 {
		left = info.Size() / parts
	}
	if err := os.Truncate(path, left); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// Test 18. The end of the store's log is torn or a bit of it has turned, as after a power cut: the store goes back to an
// older state, cursor and all, and reads again.
func TestTornLog(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		tear func(t *testing.T, log string, size int64)
	}{
		{"cut", func(t *testing.T, log string, size int64) {
			if err := os.Truncate(log, size-1000); err != nil {
				t.Fatal(err)
			}
		}},
		{"turned", func(t *testing.T, log string, size int64) { overwrite(t, log, size/2, 1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			takes(t, light)
			w := newWorld(t, "a")
			a := w.consumer("a")
			w.past(shape{tasks: 10}, 10, 10*time.Second, time.Now())
			w.daemon.start()
			w.caughtUp(20 * time.Second)
			w.past(shape{tasks: 10}, 5, time.Second, time.Now())
			w.caughtUp(20 * time.Second)
			w.daemon.kill()
			log := w.daemon.state + "-wal"
			info, err := os.Stat(log)
			if err != nil {
				t.Fatal(err)
			}
			test.tear(t, log, info.Size())
			w.forgotten(a)
			w.daemon.start()
			w.caughtUp(20 * time.Second)
			w.fresh()
			w.judge()
		})
	}
}

// Test 19. A second listener on a store ends at once and names the first, which does not notice.
func TestTwoOnOneStore(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.daemon.start()
	began := time.Now()
	second := w.daemon.command("run")
	out, err := second.CombinedOutput()
	took := time.Since(began)
	process, _ := w.daemon.current()
	if err == nil || second.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), fmt.Sprint("pid ", process.Process.Pid)) {
		t.Errorf("the second listener: %v: %s; the first has the pid %d", err, out, process.Process.Pid)
	}
	if took > time.Second {
		t.Errorf("the second listener ended after %s, over a second", took)
	}
	w.past(shape{tasks: 3}, 5, time.Second, time.Now())
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
}

// Test 20. The store's folder cannot be written: at the start that is said, and nothing is begun.
func TestFolderCannotBeWritten(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	mount := w.disk("96m")
	if out, err := exec.Command("mount", "-o", "remount,ro", mount).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.daemon.launch()
	code, _ := w.daemon.ended(10 * time.Second)
	if said := w.daemon.said(); code != 3 || !strings.Contains(said, mount) {
		t.Errorf("the listener ended with %d, not 3 with the folder's name: %s", code, said)
	}
	if _, err := os.Stat(w.daemon.state); !os.IsNotExist(err) {
		t.Errorf("there is a store: %v", err)
	}
	if out, err := exec.Command("mount", "-o", "remount,rw", mount).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.daemon.start()
	w.fresh()
	w.judge()
}
