package oracle_test

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/oracle/judge"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Test 31. A consumer leaves the settings and comes back, and another one joins: who left keeps what waited and goes on
// with it; who joins starts then; and a backfill brings either what was said without it.
func TestConsumersComeAndGo(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b", "c")
	a, b, c := w.consumers[0], w.consumers[1], w.consumers[2]
	began := time.Now().Add(-time.Hour)
	some := shape{tasks: 5}

	// First a and b, and b is down: its events wait.
	w.connect(a, b)
	b.Script(transporttest.Always(transporttest.Status(503)))
	w.past(some, 10, time.Second, time.Now())
	w.daemon.start()
	w.caughtUp(20*time.Second, a)
	w.daemon.stop()
	waited := w.told()
	if s := w.standing(b); s.Pending != len(waited) || s.Gone {
		t.Errorf("b: %+v, not %d events that wait", s, len(waited))
	}

	// Then a alone.
	w.connect(a)
	w.daemon.start()
	w.past(some, 10, time.Second, time.Now())
	w.caughtUp(20*time.Second, a)
	if s := w.standing(b); s.Pending != len(waited) || !s.Gone {
		t.Errorf("b, which left: %+v, not gone with %d events that wait", s, len(waited))
	}
	w.daemon.stop()

	// Then all three.
	apart := keys(w.told())
	early := keys(waited)
	b.wants = func(e judge.Event) bool { return early[e.Key()] || !apart[e.Key()] }
	c.wants = func(e judge.Event) bool { return !apart[e.Key()] }
	b.Script(nil)
	w.connect(a, b, c)
	w.daemon.start()
	w.past(some, 5, time.Second, time.Now())
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()

	// What was said without them is brought by a backfill, beside the listener, and only to those who lack it.
	w.daemon.run("backfill", "--since", began.UTC().Format(time.RFC3339), "--destination", "b", "--destination", "c")
	b.wants, c.wants = nil, nil
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
}

func keys(events []judge.Event) map[judge.Key]bool {
	all := make(map[judge.Key]bool, len(events))
	for _, e := range events {
		all[e.Key()] = true
	}
	return all
}
