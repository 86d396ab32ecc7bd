package oracle_test

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Test 9. A consumer that fails in every way that passes: 30 % 503, 10 % resets before it has the event, 10 % after it, 5 %
// answers that break off. Only what it had taken may come again.
func TestFlapping(t *testing.T) {
	t.Parallel()
	takes(t, heavy)
	w := newWorld(t, "a", "b")
	a := w.consumer("a")
	flapping := transporttest.Flapping(9,
		transporttest.Chance{Share: 0.30, Reply: transporttest.Status(503)},
		transporttest.Chance{Share: 0.10, Reply: transporttest.Break(transporttest.ResetBefore)},
		transporttest.Chance{Share: 0.10, Reply: transporttest.Break(transporttest.ResetAfter)},
		transporttest.Chance{Share: 0.025, Reply: transporttest.Break(transporttest.CutHead)},
		transporttest.Chance{Share: 0.025, Reply: transporttest.Break(transporttest.CutBody)},
	)
	a.Script(flapping)
	w.past(shape{tasks: 10}, scale(40, 200), 10*time.Second, time.Now())
	w.daemon.start()
	w.caughtUp(10*time.Second, w.consumer("b"))
	w.caughtUp(scale(2*time.Minute, 15*time.Minute))
	for _, r := range a.Requests() {
		if r.Reply.Fault == transporttest.ResetAfter {
			a.copies++
		}
	}
	a.Script(nil)
	w.fresh()
	w.judge()
}

// Test 10. A consumer asks for patience: nothing comes before its time is over, a day is cut to the most that is
// allowed, and a date that has passed asks for nothing.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const day = "86400"
	most := scale(15*time.Second, 15*time.Minute)
	for _, test := range []struct {
		name, value string
		from, to    time.Duration
	}{
		{"seconds", scale("20", "120"), scale(20*time.Second, 120*time.Second), scale(22*time.Second, 123*time.Second)},
		{"a day", day, most, most + 3*time.Second},
		{"a date in the past", "Mon, 02 Jan 2006 15:04:05 GMT", 0, 3 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.value != day || full {
				takes(t, light)
			}
			w := newWorld(t, "a", "b")
			a := w.consumer("a")
			if test.value == day {
				a.settings["retry"] = map[string]any{"retry_after_max": most.Seconds()}
			}
			a.Script(transporttest.Always(transporttest.After(429, test.value)))
			w.connect(w.consumers...)
			w.past(shape{tasks: 3}, 10, time.Second, time.Now())
			w.daemon.start()
			w.caughtUp(20*time.Second, w.consumer("b"))
			// Those that were under way together with the first answer are the last for a while.
			time.Sleep(2 * time.Second)
			first := a.Requests()
			a.Script(nil)
			w.caughtUp(test.to + 20*time.Second)
			wait := a.Taken()[0].At.Sub(first[len(first)-1].At)
			if test.name == "a date in the past" {
				wait = first[len(first)-1].At.Sub(first[0].At) // which is why there are more than the first
				if len(first) <= 8 {
					t.Errorf("%d requests in 2 s, as if a date in the past asked for patience", len(first))
				}
			} else if len(first) > 8 {
				t.Errorf("%d requests, though at most 8 were under way when patience was asked for", len(first))
			}
			if wait < test.from-50*time.Millisecond || wait > test.to {
				t.Errorf("the next request came after %s, not between %s and %s", wait, test.from, test.to)
			}
			w.fresh()
			w.judge()
		})
	}
}

// Test 13. Answers that come after the listener has given up on them: nobody can know whether the event arrived, so it
// comes again, as the same bytes under the same key.
func TestAnswersTooLate(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	a := w.consumer("a")
	a.settings["timeout"] = 1
	w.connect(w.consumers...)
	const late = 50
	a.copies = late
	w.past(shape{plain: true}, 2*late, time.Second, time.Now())
	tried := map[string]bool{}
	a.Script(func(r transporttest.Request) transporttest.Reply {
		if r.Type == "START" && !tried[r.RunID] && len(tried) < 2*late {
			tried[r.RunID] = true
			if len(tried)%2 == 0 {
				return transporttest.Late(1500 * time.Millisecond)
			}
		}
		return transporttest.OK()
	})
	w.daemon.start()
	w.caughtUp(2 * time.Minute)
	keys := map[string]string{}
	for _, r := range a.Taken() {
		key := r.Header.Get("Idempotency-Key")
		event := r.RunID + r.Type
		if first, again := keys[event]; key == "" || again && first != key {
			t.Errorf("%s of run %s came under the keys %q and %q", r.Type, r.RunID, first, key)
		}
		keys[event] = key
	}
	if repeats := w.verdict(a, w.told()).Repeats; repeats != late {
		t.Errorf("%d events came twice, not the %d that were answered too late", repeats, late)
	}
	w.fresh()
	w.judge()
}
