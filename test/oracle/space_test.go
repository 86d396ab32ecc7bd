package oracle_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// paused waits until the listener reads no more, and wants it to say so in its metrics, its readiness and its log.
func (w *world) paused(within time.Duration, reason string) {
	w.t.Helper()
	w.eventually(within, "reading is paused", func() bool { return w.daemon.metric("ingest_paused") == 1 })
	w.eventually(5*time.Second, "readiness says why", func() bool {
		code, body := w.daemon.get("/readyz")
		return code == http.StatusServiceUnavailable && contains(body, reason)
	})
	if lines := w.daemon.lines("reading from Prefect is paused"); len(lines) != 1 || !contains(lines[0], reason) {
		w.t.Errorf("the log says %d times that reading is paused, not once because %s: %s", len(lines), reason, lines)
	}
}

// resumed waits until the listener reads again.
func (w *world) resumed(within time.Duration) {
	w.t.Helper()
	w.eventually(within, "reading goes on", func() bool { return w.daemon.metric("ingest_paused") == 0 })
	w.eventually(5*time.Second, "the listener is ready again", func() bool {
		code, _ := w.daemon.get("/readyz")
		return code == http.StatusOK
	})
	// An outbox that drains slowly may fill again: every pause has its end, and each is said once.
	on, off := w.daemon.lines("reading from Prefect goes on"), w.daemon.lines("reading from Prefect is paused")
	if len(on) == 0 || len(on) > len(off) {
		w.t.Errorf("the log says %d times that reading is paused, and %d times that it goes on", len(off), len(on))
	}
}

// The outbox is full because a consumer is away: reading pauses, Prefect keeps the rest, and all of it comes later.
func TestOutboxLimit(t *testing.T) {
	t.Parallel()
	takes(t, heavy)
	w := newWorld(t, "a", "b")
	b := w.consumer("b")
	b.Script(transporttest.Always(transporttest.Status(503)))
	const limit = 4 << 20 // several portions, one of which may come on top
	w.daemon.set("LISTENER_OUTBOX_MAX_BYTES", "4MiB")
	w.past(shape{tasks: 10}, 250, 10*time.Second, time.Now())
	w.daemon.launch()
	w.paused(60*time.Second, "the outbox holds")
	held := w.daemon.metric("outbox_size_bytes")
	w.eventually(20*time.Second, "the metric has been measured", func() bool {
		held = w.daemon.metric("outbox_size_bytes")
		return held > 0
	})
	if held < limit*9/10 || held > 2*limit {
		t.Errorf("the outbox holds %.0f bytes at a limit of %d", held, limit)
	}
	b.Script(nil)
	w.resumed(60 * time.Second)
	w.caughtUp(60 * time.Second)
	w.fresh()
	w.judge()
}

// disk mounts a file system in memory and puts the store on it. It returns where it is mounted.
func (w *world) disk(size string) string {
	t := w.t
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() != 0 {
		rig.Skip(t, "only root may mount")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		rig.Skip(t, "nothing can be mounted here: "+string(out))
	}
	w.daemon.keepIn(filepath.Join(dir, "state"))
	t.Cleanup(func() {
		w.daemon.kill()
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmounting %s: %s", dir, out)
		}
	})
	return dir
}

// Test 14. The disk reaches the reserve of 64 MiB while a consumer is away: reading pauses before the disk is full, and
// goes on by itself once the consumer has taken what was kept for it.
func TestDiskReserve(t *testing.T) {
	t.Parallel()
	takes(t, heavy)
	w := newWorld(t, "a", "b")
	b := w.consumer("b")
	b.Script(transporttest.Always(transporttest.Status(503)))
	w.disk(scale("84m", "256m"))
	w.past(shape{tasks: 10, wide: true}, scale(180, 1200), 2*time.Second, time.Now())
	w.daemon.launch()
	w.paused(60*time.Second, "are kept in reserve")
	time.Sleep(scale(0, 65*time.Second))
	if want, said := scale(0, 2), w.daemon.lines("reading from Prefect is still paused"); len(said) != want {
		t.Errorf("the log says %d times that reading is still paused, not %d", len(said), want)
	}
	if w.standing(b).Pending == len(w.told()) {
		t.Error("everything was read: the pause shows nothing")
	}
	b.Script(nil)
	w.resumed(60 * time.Second)
	w.caughtUp(60 * time.Second)
	w.fresh()
	w.judge()
}

// Test 15. Somebody else fills the disk to the last byte: nothing breaks, what is delivered meanwhile is noted when there
// is room again, and all goes on by itself.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	mount := w.disk("96m")
	for _, c := range w.consumers {
		c.Script(transporttest.Always(transporttest.Late(20 * time.Millisecond)))
		c.copies = inFlight
	}
	w.past(shape{tasks: 10}, 60, 10*time.Second, time.Now())
	w.daemon.start()
	w.eventually(20*time.Second, "deliveries are under way", func() bool { return len(w.consumer("a").Taken()) > 50 })
	filler := filepath.Join(mount, "filler")
	fill(t, filler)
	w.past(shape{tasks: 10}, 5, time.Second, time.Now())
	w.paused(10*time.Second, "are kept in reserve")
	if s := w.standing(w.consumer("a")); s.Gone || s.Pending == 0 { // who looks for the reason must be able to look
		t.Errorf("status while the disk is full: %+v", s)
	}
	time.Sleep(scale(20*time.Second, 5*time.Minute)) // that is how long the disk is full
	if !w.daemon.alive() {
		t.Fatalf("the listener ended: %s", w.daemon.said())
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.resumed(30 * time.Second)
	w.caughtUp(30 * time.Second)
	w.fresh()
	w.judge()
}

// fill writes a file until the disk takes no more.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2] // what is left may be less than a block
		}
	}
}
