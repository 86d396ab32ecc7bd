package oracle_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/oracle/judge"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Dead letters are replayed and dropped beside the running listener by what is known of them: reason, run, time and id.
// What was dropped never comes, what was replayed comes once, and what nobody named stays.
func TestLettersByWhatIsKnownOfThem(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	a := w.consumer("a")
	answers := map[string]int{}
	for i, r := range w.past(shape{plain: true}, 8, time.Second, time.Now()) {
		answers[r.self.ID] = []int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusOK}[i%4]
	}
	a.Script(func(r transporttest.Request) transporttest.Reply {
		if r.Type == "START" && answers[r.RunID] != 0 {
			return transporttest.Status(answers[r.RunID])
		}
		return transporttest.OK()
	})
	for _, e := range w.told() {
		if code := answers[e.Run.ID]; e.Type == "START" && code != 0 && code != http.StatusOK {
			a.wantDead = append(a.wantDead, e.Key())
		}
	}
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	w.eventually(20*time.Second, "all six are written", func() bool { return len(w.letters(a)) == 6 })
	w.judge()

	by := map[int][]letter{}
	for _, l := range w.letters(a) {
		by[l.Status] = append(by[l.Status], l)
	}
	a.Script(nil)
	replays := func(letters []letter, args ...string) {
		t.Helper()
		w.daemon.run(append([]string{"deadletters", "replay"}, args...)...)
		for _, l := range letters {
			a.replayed[l.Run] = true
			a.copies++ // the run's end comes again
			a.wantDead = slices.DeleteFunc(a.wantDead, func(k judge.Key) bool { return k == l.key() })
		}
		w.caughtUp(20 * time.Second)
	}
	replays(by[409][:1], "--all", "--run", by[409][0].Run)
	replays(by[413], "--all", "--destination", "a", "--reason", by[413][0].Reason)
	replays(by[409][1:], fmt.Sprint(by[409][1].ID))
	w.daemon.run("deadletters", "replay", "--all", "--until", "1h") // nothing is as old
	w.daemon.run("deadletters", "replay", "--all", "--destination", "b", "--since", "1h")
	if left := w.letters(a); len(left) != 2 {
		t.Errorf("%d are left, not the two with 400: %+v", len(left), left)
	}
	w.daemon.run("deadletters", "drop", "--all", "--destination", "a", "--since", "1h")
	if left := w.letters(a); len(left) != 0 {
		t.Errorf("%d are left after all were dropped", len(left))
	}
	w.fresh()
	dropped := a.wantDead // they are no dead letters any more and never come
	a.wantDead, a.wants = nil, func(e judge.Event) bool { return !slices.Contains(dropped, e.Key()) }
	w.judge()
}

// A destination is parked beside the running listener: at once it gets nothing, whoever else there is gets everything, a
// restart changes nothing, and once it is resumed it goes on with what waited. What was said meanwhile a backfill brings.
func TestParked(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	a, b := w.consumer("a"), w.consumer("b")
	some := shape{tasks: 3}
	began := time.Now().Add(-time.Hour)

	b.Script(transporttest.Always(transporttest.Status(http.StatusServiceUnavailable)))
	w.past(some, 5, time.Second, time.Now())
	w.daemon.start()
	w.caughtUp(20*time.Second, a)
	waited := keys(w.told())
	w.daemon.run("destinations", "park", "b")
	w.eventually(10*time.Second, "nothing is sent any more", func() bool {
		before := len(b.Requests())
		time.Sleep(2 * time.Second) // a destination that is down is tried more often
		return len(b.Requests()) == before
	})
	b.Script(nil)
	asked := len(b.Requests())
	w.past(some, 5, time.Second, time.Now())
	w.fresh(a)
	w.daemon.stop()
	w.daemon.start()
	w.fresh(a)
	if s := w.standing(b); !s.Parked || s.Pending != len(waited) || len(b.Requests()) != asked {
		t.Errorf("b: %+v with %d requests, not parked with %d events and %d requests", s, len(b.Requests()), len(waited), asked)
	}
	parked := keys(w.told())
	w.daemon.run("destinations", "resume", "b")
	b.wants = func(e judge.Event) bool { return waited[e.Key()] || !parked[e.Key()] }
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()

	w.daemon.run("backfill", "--since", began.UTC().Format(time.RFC3339), "--destination", "b")
	b.wants = nil
	w.caughtUp(20 * time.Second)
	w.judge()
}
