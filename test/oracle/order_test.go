package oracle_test

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// The first events of every third run are refused again and again while all others pass: what is later in such a run
// waits, and so do the runs below it, which costs the other runs nothing.
func TestStartsFail(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	a := w.consumer("a")
	slow := map[string]int{} // tries left until the run's START is taken
	for i, r := range w.past(shape{tasks: 3}, 60, 10*time.Second, time.Now()) {
		switch i % 3 {
		case 0:
			slow[r.self.ID] = 4
		case 1:
			slow[r.tasks[0].self.ID] = 4
		}
	}
	a.Script(func(r transporttest.Request) transporttest.Reply {
		if slow[r.RunID] > 0 && r.Type == "START" {
			slow[r.RunID]--
			return transporttest.Status(503)
		}
		return transporttest.OK()
	})
	w.daemon.start()
	w.caughtUp(20*time.Second, w.consumer("b"))
	w.caughtUp(60 * time.Second)
	w.fresh()
	w.judge()
}
