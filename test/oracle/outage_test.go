package oracle_test

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Test 7. A consumer is away while very much happens: nothing becomes a dead letter, memory stays flat, the consumer is
// not besieged, and once it is back the outbox drains fast and in order.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	takes(t, alone)
	w := newWorld(t, "a")
	a := w.consumer("a")
	a.Script(transporttest.Always(transporttest.Status(503)))
	w.daemon.set("LISTENER_MAX_REQUESTS_PER_SECOND", "1000")
	flowRuns := scale(1000, 5000) // of 20 events each
	w.past(shape{plain: true, tasks: 9}, flowRuns, 500*time.Millisecond, time.Now())
	told := len(w.told())
	w.daemon.start()
	w.eventually(scale(60*time.Second, 10*time.Minute), "everything is in the outbox", func() bool {
		return w.standing(a).Pending == told
	})
	t.Logf("%d events in the outbox, %.0f MiB in memory", told, w.daemon.memory())

	w.eventually(20*time.Second, "the metrics show the outage", func() bool {
		return w.daemon.metric(blocked("a", "down")) == 1 && w.daemon.metric(`outbox_pending{transport="a"}`) == float64(told) &&
			w.daemon.metric(`outbox_oldest_pending_timestamp_seconds{transport="a"}`) > 0
	})

	// With waits that grow to 30 s, of which chance takes half on average, there are not many tries in this time.
	before := len(a.Requests())
	down := scale(45*time.Second, 10*time.Minute)
	time.Sleep(down)
	if tries, most := len(a.Requests())-before, 6+int(down/(7*time.Second)); tries > most {
		t.Errorf("%d tries in %s, over %d", tries, down, most)
	}

	a.Script(nil)
	began := time.Now()
	w.caughtUp(time.Minute + time.Duration(told)*time.Millisecond)
	taken := a.Taken()
	first, last := taken[0].At, taken[len(taken)-1].At
	rate := float64(told) / last.Sub(first).Seconds()
	t.Logf("the first event came %s after the consumer was back, and then %.0f a second", first.Sub(began), rate)
	if first.Sub(began) > 31*time.Second {
		t.Errorf("the first event came %s after the consumer was back, over 30 s", first.Sub(began))
	}
	if rate < 1000 {
		t.Errorf("the outbox drained at %.0f events a second, below 1,000", rate)
	}
	w.eventually(20*time.Second, "the metrics show its end", func() bool {
		return w.daemon.metric(blocked("a", "down")) == 0 && w.daemon.metric(`outbox_pending{transport="a"}`) == 0 &&
			w.daemon.metric(`outbox_oldest_pending_timestamp_seconds{transport="a"}`) == 0
	})
	if used := w.daemon.memory(); used > 150 {
		t.Errorf("the listener holds %.0f MiB, over 150", used)
	}
	w.fresh()
	w.judge()
}
