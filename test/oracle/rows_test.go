package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/oracle/judge"
)

// atOnce adds a plain flow run that is over, with task runs that all began at one moment and ended at another.
func (h *history) atOnce(count int, from, until time.Time) {
	h.step.Lock()
	defer h.step.Unlock()
	r := h.start(shape{plain: true}, from, time.Hour)
	for i := range count {
		r.tasks = append(r.tasks, h.addTask(r, fmt.Sprintf("step %d", i), micro(from)))
	}
	for i, t := range r.tasks {
		h.endTask(r, i, t, micro(until))
	}
	h.server.SetState(r.id, prefect.State{Type: prefect.Completed, Timestamp: micro(until)})
	h.note(judge.Event{Run: r.self, Type: "COMPLETE", Time: micro(until)})
}

// Test 22. A thousand task runs end at one moment, in pages of 200, and the listener is killed at each page: all of them
// come, and what comes twice is no more than a kill explains.
func TestEqualTimestamps(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	a := w.consumer("a")
	w.atOnce(1000, w.now().Add(-time.Minute), w.now().Add(-50*time.Second))
	kills := 0
	for page := 1; page < 30; page++ {
		var seen atomic.Int64
		w.server.OnRequest(func(r prefecttest.Request) {
			if r.Path == "/task_runs/filter" && seen.Add(1) == int64(page) {
				w.daemon.kill()
			}
		})
		w.daemon.launch()
		w.eventually(30*time.Second, "the listener is killed, or has told everything", func() bool {
			return !w.daemon.alive() || a.lacks(w.told()) == 0
		})
		if w.daemon.alive() {
			break
		}
		kills++
	}
	w.server.OnRequest(nil)
	w.daemon.kill()
	a.copies = (kills + 1) * inFlight
	w.daemon.start()
	w.caughtUp(30 * time.Second)
	w.fresh()
	w.judge()
	if kills < 5 {
		t.Errorf("the listener was killed %d times: the sweep shows nothing", kills)
	}
	w.daemon.stop()
	if got, want := w.stored(w.told()).told, 1000+2; got != want {
		t.Errorf("the store knows %d runs, not %d", got, want)
	}
	t.Logf("%d kills", kills)
}

// Test 23. Rows that show up to nine minutes after the ends that they tell, and workers whose clocks are off by up to five
// minutes either way: all is told.
func TestLateRows(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.daemon.start()
	w.fresh()
	random := rand.New(rand.NewPCG(23, 0))
	minutes := func(least, most float64) time.Duration {
		return time.Duration((least + (most-least)*random.Float64()) * float64(time.Minute))
	}
	for range 250 { // flow runs with a task run each
		w.past(shape{plain: true, tasks: 1}, 1, time.Second, w.now().Add(-minutes(0, 9)))
		time.Sleep(20 * time.Millisecond)
	}
	for range 20 {
		off := minutes(-5, 5)
		w.withClock(func() time.Time { return time.Now().Add(off) }, func() {
			w.finish(w.begin(shape{plain: true, tasks: 2}, 1)...)
		})
		time.Sleep(20 * time.Millisecond)
	}
	w.caughtUp(75 * time.Second) // ten minutes are looked through each minute
	w.fresh()
	w.judge()
	if n := w.daemon.metric(`late_runs_total{look="10m"}`) + w.daemon.metric(`late_runs_total{look="lag"}`); n < 100 {
		t.Errorf("%.0f runs are counted as late", n)
	}
}

// withClock does something by another clock.
func (h *history) withClock(now func() time.Time, do func()) {
	old := h.now
	h.now = now
	defer func() { h.now = old }()
	do()
}

// shifted is a clock that can be put ahead and back.
type shifted struct{ by atomic.Int64 }

func (s *shifted) now() time.Time             { return time.Now().Add(time.Duration(s.by.Load())) }
func (s *shifted) shift(by time.Duration)     { s.by.Add(int64(by)) }
func (s *shifted) option() prefecttest.Option { return prefecttest.Clock(s.now) }

// newWorldBy makes a world whose Prefect, workers included, goes by a clock that can be shifted.
func newWorldBy(t *testing.T, clock *shifted, names ...string) *world {
	t.Helper()
	w := newWorldOn(t, prefecttest.NewTCP(t, clock.option()), names...)
	w.now = clock.now
	return w
}

// Test 23. A row that is later than the look back of ten minutes is found, and counted, by the one of a day.
func TestVeryLateRows(t *testing.T) {
	t.Parallel()
	takes(t, light)
	clock := &shifted{}
	w := newWorldBy(t, clock, "a")
	w.daemon.set("LISTENER_LOOKBACK", "30h")
	w.daemon.start()
	w.fresh()
	w.past(shape{plain: true, tasks: 1}, 1, time.Second, w.now().Add(-11*time.Minute))
	w.past(shape{plain: true, tasks: 1}, 1, time.Second, w.now().Add(-20*time.Hour))
	time.Sleep(3 * time.Second)
	if n := w.consumer("a").lacks(w.told()); n != 8 {
		t.Errorf("%d events are missing before the look back, not 8: the test shows nothing", n)
	}
	clock.shift(61 * time.Minute)
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
	if n := w.daemon.metric(`late_runs_total{look="24h"}`); n != 4 {
		t.Errorf("%.0f runs are counted as found by the look back of a day, not 4", n)
	}
}

// Test 24. While pages are read, rows are added, end and come alive between them: nothing is passed over and nothing is
// told twice.
func TestDriftingPages(t *testing.T) {
	t.Parallel()
	takes(t, heavy)
	w := newWorld(t, "a")
	w.past(shape{plain: true, tasks: 9}, 150, 5*time.Second, w.now())
	var once sync.Mutex
	running, steps := w.begin(shape{plain: true, tasks: 30}, 10), 0
	w.server.OnRequest(func(r prefecttest.Request) {
		if r.Path != "/task_runs/filter" && r.Path != "/flow_runs/filter" {
			return
		}
		once.Lock()
		defer once.Unlock()
		switch steps++; {
		case steps > 60:
		case steps%2 == 0 && len(running) > 0:
			w.finish(running[0])
			running = running[1:]
		default:
			running = append(running, w.begin(shape{plain: true, tasks: 3}, 1)...)
		}
	})
	w.daemon.start()
	w.eventually(60*time.Second, "rows have moved often", func() bool {
		once.Lock()
		defer once.Unlock()
		return steps > 60
	})
	w.server.OnRequest(nil)
	w.finish(running...)
	w.caughtUp(30 * time.Second)
	w.fresh()
	w.judge()
}
