package oracle_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// A consumer takes events up to a size, cuts connections after it took some, and the listener is killed over it twice:
// what was left out of an event is the same in all its copies, whoever knows the limit.
func TestTooLargeOverCutsAndKills(t *testing.T) {
	t.Parallel()
	const limit = 1700 // bytes: less than a task run has, more than its parent and its job need
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("known %t", known), func(t *testing.T) {
			t.Parallel()
			takes(t, light)
			w := newWorld(t, "a")
			a := w.consumer("a")
			if known {
				a.settings = map[string]any{"max_event_bytes": limit}
				w.connect(a)
			}
			var kills [2]sync.Once
			a.Script(func(r transporttest.Request) transporttest.Reply {
				switch {
				case len(r.Body) > limit:
					return transporttest.Status(http.StatusRequestEntityTooLarge)
				case r.N > 100:
					kills[1].Do(w.daemon.kill)
				case r.N > 20:
					kills[0].Do(w.daemon.kill)
				}
				if r.N%5 == 0 {
					return transporttest.Break(transporttest.ResetAfter)
				}
				return transporttest.OK()
			})
			w.past(shape{plain: true, tasks: 3}, 15, time.Second, time.Now())
			for range kills {
				w.daemon.launch()
				w.daemon.ended(30 * time.Second)
			}
			w.daemon.start()
			w.caughtUp(60 * time.Second)
			a.Script(nil)
			a.copies = len(a.Requests())
			w.fresh()
			w.judge()
			if repeats := w.verdict(a, w.told()).Repeats; repeats == 0 {
				t.Error("no event came twice: that shows nothing")
			}
			if n := w.daemon.metric(`events_reduced_total{transport="a"}`); n == 0 {
				t.Error("the metric knows of no event that was made smaller")
			}
			if len(w.daemon.lines("too large")) == 0 {
				t.Errorf("the log says nothing:\n%s", w.daemon.lastWords())
			}
		})
	}
}
