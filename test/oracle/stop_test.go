package oracle_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// hanging makes a world whose consumer a never answers, and waits until all its sends hang.
func hanging(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "a", "b")
	a := w.consumer("a")
	a.settings["timeout"] = 60 // so that the stop comes first
	a.Script(transporttest.Always(transporttest.Break(transporttest.Hang)))
	w.connect(w.consumers...)
	w.past(shape{tasks: 3}, 20, time.Second, time.Now())
	w.daemon.start()
	w.caughtUp(20*time.Second, w.consumer("b"))
	a.Wait(t, "as many requests as may be under way", func() bool { return len(a.Requests()) >= 8 })
	return w
}

// Test 6. A stop while a consumer hangs: readiness goes at once, what is under way has its 15 seconds, and what was not
// answered waits for the next start.
func TestStopWhileConsumerHangs(t *testing.T) {
	t.Parallel()
	takes(t, alone) // for the sake of the milliseconds
	w := hanging(t)
	a := w.consumer("a")
	began := time.Now()
	w.daemon.signal(syscall.SIGTERM)
	w.eventually(time.Second, "the listener is not ready any more", func() bool {
		code, _ := w.daemon.get("/readyz")
		return code == http.StatusServiceUnavailable
	})
	if took := time.Since(began); took > 150*time.Millisecond { // 100, and the time between two questions
		t.Errorf("readiness went %s after the signal", took)
	}
	if _, body := w.daemon.get("/readyz"); !contains(body, "stopping") {
		t.Errorf("/readyz does not say that the listener stops: %s", body)
	}
	code, _ := w.daemon.ended(20 * time.Second)
	if took := time.Since(began); code != 0 || took < 14*time.Second || took > 16*time.Second {
		t.Errorf("the listener ended with %d after %s, not with 0 after 15 s", code, took)
	}
	if pending := w.standing(a).Pending; pending != len(w.told()) {
		t.Errorf("%d events wait for a, not %d", pending, len(w.told()))
	}
	a.Script(nil)
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
}

// A second signal ends the wait.
func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		first, second syscall.Signal
		code          int
	}{
		{"SIGTERM", syscall.SIGTERM, syscall.SIGTERM, 143},
		{"SIGINT", syscall.SIGINT, syscall.SIGINT, 130},
		{"both", syscall.SIGINT, syscall.SIGTERM, 143},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			takes(t, light)
			w := hanging(t)
			w.daemon.signal(test.first)
			time.Sleep(500 * time.Millisecond)
			if !w.daemon.alive() {
				t.Fatalf("the first signal ended it with %d", w.daemon.exitCode())
			}
			w.daemon.signal(test.second)
			if code, took := w.daemon.ended(10 * time.Second); code != test.code || took > time.Second {
				t.Errorf("the listener ended with %d after %s, not with %d within a second", code, took, test.code)
			}
			w.consumer("a").Script(nil)
			w.daemon.start()
			w.caughtUp(20 * time.Second)
			w.judge()
		})
	}
}

// A stop lets what is under way end and notes it, so that nothing comes twice.
func TestStopDrains(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	w.consumer("a").Script(transporttest.Always(transporttest.Late(time.Second)))
	w.past(shape{tasks: 3}, 5, time.Second, time.Now())
	for range 3 {
		w.daemon.start()
		time.Sleep(1500 * time.Millisecond) // in the middle of an answer
		began := time.Now()
		w.daemon.stop()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the stop took %s, though no answer takes longer than a second", took)
		}
	}
	w.consumer("a").Script(nil)
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
}
