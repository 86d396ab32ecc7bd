package oracle_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// killAt makes the next starts end at the n-th of these system calls that a thread makes.
func (d *daemon) killAt(calls string, n int) {
	d.t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		rig.Skip(d.t, "no strace on this machine")
	}
	d.under = []string{
		strace, "-f", "-qq", "-e", "signal=none", "-e", "trace=" + calls,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", calls, n), "-o", os.DevNull,
	}
	d.set("GOMAXPROCS", "1") // system calls are counted by thread, so let there be few
}

// Test 2. Killed at the n-th fsync and at the n-th write of the store: at every n the store is in order and all comes.
func TestKilledAtEverySync(t *testing.T) {
	t.Parallel()
	for _, sweep := range []struct {
		calls              string
		first, last, steps int
	}{
		{calls: "fsync,fdatasync", first: 1, last: 60, steps: scale(4, 1)},
		{calls: "pwrite64", first: 1, last: 400, steps: scale(21, 7)},
	} {
		t.Run(sweep.calls, func(t *testing.T) {
			t.Parallel()
			kills := 0
			for n := sweep.first; n <= sweep.last; n += sweep.steps {
				killed := false
				t.Run(fmt.Sprint(n), func(t *testing.T) { killed = killedOnce(t, sweep.calls, n) })
				if killed {
					kills++
				}
			}
			if kills < 3 {
				t.Errorf("the listener was killed at %d of these moments: the sweep shows nothing", kills)
			}
			t.Logf("%d kills", kills)
		})
	}
}

// killedOnce lets the listener begin on an empty store, kills it at a moment, and lets it go on. It reports whether the
// moment came at all.
func killedOnce(t *testing.T, calls string, n int) bool {
	takes(t, light)
	w := newWorld(t, "a")
	a := w.consumer("a")
	a.copies = inFlight
	w.past(shape{tasks: 6}, 8, 5*time.Second, time.Now())
	w.daemon.killAt(calls, n)
	w.daemon.launch()
	w.eventually(30*time.Second, "the listener is killed, or has told everything", func() bool {
		return !w.daemon.alive() || a.lacks(w.told()) == 0
	})
	killed := !w.daemon.alive()
	w.daemon.kill()
	w.daemon.under = nil
	w.daemon.start() // which checks the store
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
	return killed
}

// Test 5. Killed inside the transaction that stores what one record stands for: a task run of which nothing was known,
// its flow run not either, is three events. All are there or none.
func TestKilledInsideTransaction(t *testing.T) {
	t.Parallel()
	// A store that has seen a start, so that the writes which count are few.
	used := newWorld(t, "a")
	used.daemon.start()
	used.daemon.stop()

	kills, whole, none := 0, 0, 0
	for n := 1; whole < 5 && n < 400; n += scale(3, 1) { // until the transaction lies behind
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			takes(t, light)
			w := newWorld(t, "a")
			a := w.consumer("a")
			a.copies = inFlight
			a.Script(transporttest.Always(transporttest.Status(503))) // so that the outbox keeps what is in it
			copyStore(t, filepath.Dir(used.daemon.state), filepath.Dir(w.daemon.state))
			w.connect(w.consumers...)
			w.pauseAfterTasks(w.begin(shape{plain: true, tasks: 1}, 1)[0])
			w.daemon.killAt("pwrite64", n)
			w.daemon.launch()
			w.eventually(20*time.Second, "the listener is killed, or has sent something", func() bool {
				return !w.daemon.alive() || len(a.Requests()) > 0
			})
			killed := !w.daemon.alive()
			w.daemon.kill()
			switch got := w.stored(w.told()); got {
			case holding{}:
				none++
			case holding{told: 2, events: 3}:
				whole++
			default:
				t.Errorf("the store holds %s: neither all nor nothing", got)
			}
			if killed {
				kills++
			}
		})
	}
	if kills == 0 || whole == 0 || none == 0 {
		t.Errorf("%d kills left %d stores with everything and %d with nothing: the sweep shows nothing", kills, whole, none)
	}
	t.Logf("%d kills, %d stores with everything, %d with nothing", kills, whole, none)
}

// copyStore copies a store that nobody uses.
func copyStore(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
