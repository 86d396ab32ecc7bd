package oracle_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Test 1. Killed again and again while flow runs start and end and events go out: all has come in the end, in order, and
// what came twice is the same.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	takes(t, heavy)
	w := newWorld(t, "a", "b")
	kills := scale(20, 100)
	random := rand.New(rand.NewPCG(2, uint64(time.Now().UnixNano())))
	for _, c := range w.consumers {
		c.Script(transporttest.Always(transporttest.Late(3 * time.Millisecond)))
		c.copies = kills * inFlight
	}
	w.past(shape{tasks: 10}, 100, 10*time.Second, time.Now())
	var slowest time.Duration
	stillness := pulse(t)
	running := w.begin(shape{tasks: 10}, 5)
	for range kills {
		slowest = max(slowest, w.daemon.start())
		w.finish(running...)
		running = w.begin(shape{tasks: 10}, scale(5, 1))
		time.Sleep(time.Duration(random.IntN(1200)) * time.Millisecond) // the moment is the point
		w.daemon.kill()
	}
	w.daemon.start()
	w.finish(running...)
	w.caughtUp(time.Minute)
	w.fresh()
	w.judge()
	if still := stillness(); slowest > 2*time.Second+still {
		t.Errorf("a start took %s until it was ready, over 2 s, and the machine stood still for %s at most", slowest, still)
	}
	repeats := 0
	for _, c := range w.consumers {
		repeats += w.verdict(c, w.told()).Repeats
	}
	t.Logf("%d kills, %d repeats, the slowest start took %s", kills, repeats, slowest)
}
