package oracle_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// jumpingClock is what the standard library's package time gets in addition: a number of seconds in a file, by which the
// time of day is ahead. What measures durations stays as it is, as it does when somebody sets a machine's clock.
const jumpingClock = `package time

import (
	"syscall"
	"unsafe"
)

var ahead = mapAhead()

func mapAhead() *int64 {
	path, found := syscall.Getenv("ORACLE_CLOCK")
	if !found {
		return new(int64)
	}
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	page, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}
`

// wallClock is the time of day of a listener.
type wallClock struct {
	t    *testing.T
	path string
}

// jumpy builds the listener with a time of day that jumps, and gives it to the daemon. The product knows nothing of it:
// only package time is another one.
func (d *daemon) jumpy(t *testing.T) *wallClock {
	t.Helper()
	// Always the same place, for the build cache goes by it.
	dir := filepath.Join(rig.Root(), ".cache", "jumping-clock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(goRoot)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const reading = "\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), reading) != 1 {
		t.Fatalf("%s does not read the clock as it did", source)
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		source: write("time.go", strings.Replace(string(text), reading, reading+"\tsec += *ahead\n", 1)),
		filepath.Join(filepath.Dir(source), "ahead.go"): write("ahead.go", jumpingClock),
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.binary = filepath.Join(dir, "listener")
	// It compiles everything anew: behind the other tests, and once only while the build cache is kept.
	build := exec.Command("nice", "-n", "15", "go", "build", "-overlay", write("overlay.json", string(overlay)), "-o", d.binary, "./cmd/listener")
	build.Dir, build.Env = rig.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building a listener whose clock jumps: %s", out)
	}
	clock := &wallClock{t: t, path: filepath.Join(t.TempDir(), "ahead")}
	if err := os.WriteFile(clock.path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	d.set("ORACLE_CLOCK", clock.path)
	return clock
}

// ahead puts the listener's clock ahead of the true time, or behind it.
func (c *wallClock) ahead(by time.Duration) {
	c.t.Helper()
	file, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	var seconds [8]byte
	binary.NativeEndian.PutUint64(seconds[:], uint64(int64(by/time.Second))) //nolint:gosec // a negative number is meant to wrap
	if _, err := file.WriteAt(seconds[:], 0); err != nil {
		c.t.Fatal(err)
	}
}

// Test 25. The listener's own clock jumps by an hour and by a year, ahead and back, while runs start and end, a consumer
// fails again and again, and over restarts: nothing is lost, nothing dead, no event has another time, and nothing waits
// for the clock.
func TestOwnClockJumps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	clock := w.daemon.jumpy(t)
	takes(t, light)
	b := w.consumer("b")
	tries := 0
	b.Script(func(transporttest.Request) transporttest.Reply {
		if tries++; tries%3 == 0 {
			return transporttest.Status(503)
		}
		return transporttest.OK()
	})
	w.past(shape{tasks: 5}, 20, 10*time.Second, w.now())
	w.daemon.start()
	const year = 365 * 24 * time.Hour
	for _, ahead := range []time.Duration{0, time.Hour, 0, -time.Hour, year, -year, 0} {
		running := w.begin(shape{tasks: 3}, 3)
		time.Sleep(time.Second)
		clock.ahead(ahead)
		w.finish(running...)
		w.caughtUp(20 * time.Second)
		w.fresh(w.consumer("a"))
	}

	// And over a restart, with events that wait for their next try.
	for _, ahead := range []time.Duration{year, 0, time.Hour, -time.Hour} {
		b.Script(transporttest.Always(transporttest.Status(503)))
		running := w.begin(shape{tasks: 3}, 3)
		w.finish(running...)
		w.caughtUp(20*time.Second, w.consumer("a"))
		w.daemon.kill()
		clock.ahead(ahead)
		b.Script(nil)
		w.daemon.start()
		w.caughtUp(20 * time.Second)
	}
	for _, c := range w.consumers {
		c.copies = 4 * inFlight // of the kills
	}
	w.fresh()
	w.judge()
	if lines := append(w.daemon.lines(`"level":"error"`), w.daemon.lines("cannot be read")...); len(lines) > 0 {
		t.Errorf("the log tells of trouble: %s", lines)
	}
}
