package oracle_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// elsewhere is a Prefect with runs of its own, and a history of them.
func elsewhere(t *testing.T) *history {
	h := newHistory(prefecttest.NewTCP(t))
	h.flows = 10_000 // so that no run has the id of another history's
	h.prefix = "Other "
	return h
}

// held waits until the listener reads no more because it does not know this Prefect.
func (w *world) held() {
	w.t.Helper()
	w.eventually(20*time.Second, "reading is paused", func() bool { return w.daemon.metric("ingest_paused") == 1 })
	w.eventually(5*time.Second, "readiness says why", func() bool {
		code, body := w.daemon.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "none of the runs that this store last told of")
	})
	if lines := w.daemon.lines("reading from Prefect is paused"); len(lines) != 1 || !strings.Contains(lines[0], "listener adopt") {
		w.t.Errorf("the log says %d times that reading is paused, not once with what to do: %s", len(lines), lines)
	}
}

// Test 26. Prefect's database is reset, or the address leads to another workspace: the listener tells nothing of it, says
// why, asks seldom, and goes on when its own Prefect is back.
func TestAnotherDatabase(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.past(shape{tasks: 5}, 10, time.Second, w.now())
	open := w.begin(shape{tasks: 2}, 2)
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	other := elsewhere(t)
	other.past(shape{tasks: 2}, 5, time.Second, time.Now())
	w.server.FaultAlways(prefecttest.Any(), func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { other.server.ServeHTTP(rw, r) })
	w.held()
	other.finish(other.begin(shape{tasks: 2}, 2)...)
	other.server.ForgetRequests()
	time.Sleep(10 * time.Second) // that is how long it is the wrong one
	if n := other.server.Count(""); n > 12 {
		t.Errorf("%d requests in ten seconds to a Prefect that is not read", n)
	}
	w.server.ClearFaults()
	w.finish(open...)
	w.caughtUp(20 * time.Second)
	w.resumed(5 * time.Second)
	w.fresh()
	w.judge()
}

// The operator lets the store go over to the new database: what runs there is told, what was open in the old one ends.
func TestAnotherDatabaseIsAdopted(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.past(shape{tasks: 5}, 10, time.Second, w.now())
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	w.daemon.stop()

	other := elsewhere(t)
	w.daemon.set("PREFECT_API_URL", other.server.URL)
	w.daemon.launch()
	w.held()
	if out := w.daemon.run("adopt"); !strings.Contains(out, other.server.URL) || !strings.Contains(out, w.server.URL) {
		t.Errorf("adopt says %q", out)
	}
	other.finish(other.begin(shape{tasks: 2}, 2)...)
	w.eventually(20*time.Second, "what runs there is told", func() bool { return w.consumer("a").lacks(other.told()) == 0 })
	w.resumed(5 * time.Second)
	w.daemon.stop()
	w.daemon.start() // and it stays so
	w.note(other.told()...)
	w.judge()
	if lines := w.daemon.lines("reading from Prefect is paused"); len(lines) != 1 {
		t.Errorf("reading was paused %d times", len(lines))
	}
}

// An address that has changed while Prefect has not is followed, and said.
func TestPrefectMoves(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.past(shape{tasks: 5}, 10, time.Second, w.now())
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	w.daemon.stop()
	w.daemon.set("PREFECT_API_URL", strings.Replace(w.server.URL, "127.0.0.1", "localhost", 1))
	w.daemon.start()
	w.fresh()
	w.judge()
	if lines := w.daemon.lines("Prefect has another address than before"); len(lines) != 1 {
		t.Errorf("the log names the new address %d times", len(lines))
	}
}

// Test 26. Prefect is restored from a copy: its clock lies two hours back, behind the position, and the newest runs are
// gone. That is said, reading goes on from its time without haste, and what runs from then on comes.
func TestRestoredFromACopy(t *testing.T) {
	t.Parallel()
	takes(t, light)
	clock := &shifted{}
	clock.shift(3 * time.Hour)
	w := newWorldBy(t, clock, "a")
	w.past(shape{tasks: 2}, 20, time.Second, w.now())
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	lost := w.past(shape{plain: true, tasks: 2}, 4, time.Second, w.now())
	w.caughtUp(20 * time.Second)
	for _, r := range lost {
		w.server.Delete(r.id)
		for _, task := range r.tasks {
			w.server.Delete(task.id)
		}
	}
	clock.shift(-2 * time.Hour)
	w.eventually(20*time.Second, "the log says that the clock went back", func() bool {
		return len(w.daemon.lines("Prefect's clock is behind")) > 0
	})
	w.eventually(20*time.Second, "the metrics count the runs that are gone", func() bool {
		return w.daemon.metric("known_runs_missing") == 4
	})
	w.server.ForgetRequests()
	w.fresh()
	time.Sleep(5 * time.Second)
	if n := w.server.Count(""); n > 120 { // ten polls and what is new
		t.Errorf("%d requests within seconds", n)
	}
	w.finish(w.begin(shape{tasks: 3}, 3)...)
	w.caughtUp(10 * time.Second)
	w.judge()
	if n, m := len(w.daemon.lines("restored from a copy?")), len(w.daemon.lines("Prefect's clock is behind")); n != 1 || m != 1 {
		t.Errorf("the log names the missing runs %d times and the clock %d times, not once", n, m)
	}
}
