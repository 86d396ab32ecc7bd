package oracle_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/state/sqlite"
	"github.com/prefect-openlineage/listener/test/oracle/judge"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// Test 11. A consumer refuses one run's START: it is a dead letter after one try, with the answer; the run's end and all
// other runs go on; and once the consumer takes it, a replay brings it and what followed it, once.
func TestPoison(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b")
	a := w.consumer("a")
	long := strings.Repeat("no, ", 1000)
	w.past(shape{tasks: 10}, 20, 10*time.Second, time.Now())
	var poison judge.Event
	for _, e := range w.told() {
		if e.Type == "START" && e.Parent != nil {
			poison = e
		}
	}
	refuse := func(r transporttest.Request) transporttest.Reply {
		if r.RunID == poison.Run.ID && r.Type == "START" {
			return transporttest.Reply{Status: http.StatusUnprocessableEntity, Body: long}
		}
		return transporttest.OK()
	}
	a.Script(refuse)
	a.wantDead = []judge.Key{poison.Key()}
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	w.judge()

	letters := w.letters(a)
	if len(letters) != 1 {
		t.Fatalf("%d dead letters, not one", len(letters))
	}
	l := letters[0]
	if l.Attempts != 1 || l.Status != http.StatusUnprocessableEntity || l.Answer != long[:2048] {
		t.Errorf("the dead letter has %d attempts, status %d, an answer of %d bytes", l.Attempts, l.Status, len(l.Answer))
	}

	w.eventually(20*time.Second, "the metrics show the dead letter", func() bool {
		return w.daemon.metric(`dead_letters_total{reason="refused",transport="a"}`) == 1 &&
			w.daemon.metric(`outbox_dead_letters{transport="a"}`) == 1 && w.daemon.metric(`outbox_dead_letters{transport="b"}`) == 0
	})

	a.Script(nil)
	w.daemon.run("deadletters", "replay", fmt.Sprint(l.ID))
	a.wantDead, a.replayed[poison.Run.ID], a.copies = nil, true, 1 // the end comes again after it
	w.caughtUp(20 * time.Second)
	w.fresh()
	w.judge()
}

// poisoned makes a world in which so many runs have a dead letter each: their START, which the consumer takes from now on.
func poisoned(t *testing.T, runs int) *world {
	t.Helper()
	w := newWorld(t, "a")
	a := w.consumer("a")
	bad := map[string]bool{}
	for i, r := range w.past(shape{plain: true}, 2*runs, time.Second, time.Now()) {
		bad[r.self.ID] = i%2 == 0
	}
	a.Script(func(r transporttest.Request) transporttest.Reply {
		if bad[r.RunID] && r.Type == "START" {
			return transporttest.Status(http.StatusBadRequest)
		}
		return transporttest.OK()
	})
	for _, e := range w.told() {
		if bad[e.Run.ID] {
			a.replayed[e.Run.ID] = true
			if e.Type == "START" {
				a.wantDead = append(a.wantDead, e.Key())
			}
		}
	}
	w.daemon.start()
	w.caughtUp(30 * time.Second)
	w.eventually(10*time.Second, "all dead letters are written", func() bool { return len(w.letters(a)) == runs })
	w.judge()
	a.Script(nil)
	a.wantDead = nil
	a.copies = runs // each replay brings the run's end again
	return w
}

// Test 33. Dead letters are replayed beside the running listener: by two commands at once, with the listener killed in
// the middle, and by a command that is killed in the middle. Each is sent once for each command that replayed it.
func TestReplay(t *testing.T) {
	t.Parallel()
	t.Run("by two commands at once", func(t *testing.T) {
		t.Parallel()
		takes(t, light)
		w := poisoned(t, 30)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { w.daemon.run("deadletters", "replay", "--all", "--destination", "a") })
		}
		both.Wait()
		w.caughtUp(20 * time.Second)
		w.daemon.run("deadletters", "replay", "--all", "--destination", "a") // nothing is left for it
		w.fresh()
		w.judge()
	})
	t.Run("with the listener killed", func(t *testing.T) {
		t.Parallel()
		takes(t, light)
		w := poisoned(t, 200)
		a := w.consumer("a")
		already := len(a.Requests())
		w.killOn(a, func(r transporttest.Request) bool { return r.N > already+100 })
		w.daemon.run("deadletters", "replay", "--all", "--destination", "a")
		w.daemon.ended(20 * time.Second)
		a.copies += inFlight
		w.daemon.start()
		w.caughtUp(20 * time.Second)
		w.fresh()
		w.judge()
	})
	t.Run("by a command that is killed", func(t *testing.T) {
		t.Parallel()
		takes(t, light)
		const all = 800 // of which one transaction replays 200
		w := poisoned(t, all)
		replay := w.daemon.command("deadletters", "replay", "--all", "--destination", "a")
		if err := replay.Start(); err != nil {
			t.Fatal(err)
		}
		store := w.daemon.open()
		defer store.Close()
		for w.deadIn(store, "a") == all { // until it is between two transactions
			time.Sleep(time.Millisecond)
		}
		_ = replay.Process.Kill()
		_ = replay.Wait() // it was killed
		left := w.deadIn(store, "a")
		if left == 0 || left == all {
			t.Errorf("the command was killed with %d letters left: that shows nothing", left)
		}
		w.daemon.run("deadletters", "replay", "--all", "--destination", "a")
		w.caughtUp(20 * time.Second)
		if left := w.deadIn(store, "a"); left != 0 {
			t.Errorf("%d dead letters are left", left)
		}
		w.fresh()
		w.judge()
		t.Logf("the command was killed with %d letters left", left)
	})
}

// deadIn counts a destination's dead letters, quicker than a command can.
func (w *world) deadIn(store *sqlite.Store, name string) int64 {
	w.t.Helper()
	all, err := store.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range all {
		if d.Name == name {
			return d.Dead
		}
	}
	w.t.Fatalf("there is no destination %s", name)
	return 0
}
