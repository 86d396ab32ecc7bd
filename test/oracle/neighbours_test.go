package oracle_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/oracle/judge"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// work lets flow runs begin and end, one after the other, until stop is called.
func (w *world) work(s shape, every time.Duration) (stop func()) {
	quit := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		var running []*flowRun
		for {
			w.finish(running...)
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
			running = w.begin(s, 1)
		}
	})
	stop = sync.OnceFunc(func() {
		close(quit)
		working.Wait()
	})
	w.t.Cleanup(stop)
	return stop
}

// delay is how long after the moment that it tells of an event came.
type delay struct {
	took time.Duration
	at   time.Time
	what judge.Key
}

func (d delay) String() string {
	return fmt.Sprintf("%s came at %s, %s later", d.what, d.at.UTC().Format(time.TimeOnly), d.took)
}

// delays are those of a consumer's events, the longest last.
func delays(t *testing.T, c *consumer) []delay {
	t.Helper()
	var all []delay
	for _, arrival := range c.got() {
		e, err := judge.Decode(arrival.Body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, delay{took: arrival.At.Sub(e.Time), at: arrival.At, what: e.Key()})
	}
	slices.SortFunc(all, func(a, b delay) int { return cmp.Compare(a.took, b.took) })
	if len(all) == 0 {
		t.Fatalf("nothing came to %s", c.name)
	}
	t.Logf("%s: %d events, p50 %s, p99 %s, most %s", c.name, len(all), percentile(all, 50), percentile(all, 99), percentile(all, 100))
	return all
}

func percentile(sorted []delay, p int) time.Duration { return sorted[(len(sorted)-1)*p/100].took }

// Test 8. A consumer that takes 5 s for each answer costs the two beside it nothing.
func TestSlowNeighbour(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b", "slow")
	slow := w.consumer("slow")
	slow.settings["timeout"] = 20
	slow.Script(transporttest.Always(transporttest.Late(5 * time.Second)))
	w.connect(w.consumers...)
	w.daemon.start()
	stop := w.work(shape{tasks: 4}, 500*time.Millisecond)
	time.Sleep(scale(20*time.Second, 2*time.Minute))
	stop()
	w.caughtUp(5*time.Second, w.consumer("a"), w.consumer("b"))
	if slow.lacks(w.told()) == 0 {
		t.Error("the slow consumer is not behind: the test shows nothing")
	}
	for _, name := range []string{"a", "b"} {
		times := delays(t, w.consumer(name))
		if p99 := percentile(times, 99); p99 > 2*time.Second {
			t.Errorf("beside a slow consumer one event of a hundred came to %s after %s, over 2 s", name, p99)
		}
	}
	slow.Script(nil)
	w.caughtUp(30 * time.Second)
	w.fresh()
	w.judge()
}

// Test 30. One of four consumers refuses everything for ever: the others get everything once, and only that one's gauge
// moves.
func TestOneRefusesEverything(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a", "b", "c", "never")
	never := w.consumer("never")
	never.Script(transporttest.Always(transporttest.Reply{Status: http.StatusBadRequest, Body: "we take nothing"}))
	w.past(shape{tasks: 10}, scale(50, 200), 10*time.Second, time.Now())
	w.daemon.start()
	others := w.consumers[:3]
	w.caughtUp(30*time.Second, others...)
	w.eventually(20*time.Second, "it is known that not the events are to blame", func() bool {
		return w.daemon.metric(blocked("never", "refused")) == 1
	})
	for _, c := range others {
		for _, reason := range []string{"down", "auth", "address", "tls", "refused", "other"} {
			if w.daemon.metric(blocked(c.name, reason)) != 0 {
				t.Errorf("%s counts as blocked: %s", c.name, reason)
			}
		}
	}
	if _, body := w.daemon.get("/readyz?verbose"); !strings.Contains(body, "never: held") {
		t.Errorf("/readyz?verbose does not name the consumer that is held: %s", body)
	}
	w.fresh(others...)
	if s := w.standing(never); s.Pending != len(w.told()) || s.Dead != 0 {
		t.Errorf("%d events wait for the one that refuses and %d are dead letters, not %d and none", s.Pending, s.Dead, len(w.told()))
	}
	never.wants = func(judge.Event) bool { return false }
	w.judge()
}

// The composite of four: one consumer works, one is away for five minutes, one refuses one run, one wants a token that
// stands in a file and changes. The good one is never more than two seconds behind. The others catch up, make dead
// letters of one run's events, and go on within 30 seconds of the new file.
func TestCompositeOfFour(t *testing.T) {
	t.Parallel() // it waits nearly all the time, so it takes no slot
	stillness := pulse(t)
	w := newWorld(t, "good", "away", "picky", "guarded")
	good, away, picky, guarded := w.consumers[0], w.consumers[1], w.consumers[2], w.consumers[3]

	gate := rig.NewGate(t, strings.TrimPrefix(away.url, "http://"))
	away.url, away.copies = "http://"+gate.Addr(), 8 // those under way when the gate shuts

	token := filepath.Join(t.TempDir(), "token")
	writeToken(t, token, "old")
	guarded.settings["auth"] = map[string]any{"type": "api_key", "apiKeyFile": token}
	guarded.Script(onlyFor("new"))
	w.daemon.set("LISTENER_POLL_INTERVAL", "250ms") // half of the two seconds are a busy machine's
	w.connect(w.consumers...)

	w.daemon.start()
	refused := w.refuseOneRun(picky)
	stop := w.work(shape{tasks: 2}, time.Second)
	w.caughtUp(10*time.Second, good, away)

	gate.Shut()
	shut := time.Now()
	time.Sleep(brief(20*time.Second, 95*time.Second))
	if len(guarded.Taken()) > 0 {
		t.Error("the guarded consumer took something with the old token")
	}
	writeToken(t, token, "new")
	changed := time.Now()
	w.eventually(35*time.Second, "the guarded consumer takes events again", func() bool { return len(guarded.Taken()) > 0 })
	if took := guarded.Taken()[0].At.Sub(changed); took > 30*time.Second {
		t.Errorf("with the new token events went out after %s, over 30 s", took)
	}
	w.caughtUp(15*time.Second, good, guarded, picky)

	time.Sleep(time.Until(shut.Add(brief(time.Minute, 5*time.Minute))))
	gate.Open()
	w.caughtUp(60*time.Second, away)
	stop()
	w.caughtUp(10 * time.Second)
	w.fresh()
	w.judge()

	t.Logf("the machine stood still for up to %s", stillness())
	allowed := 2*time.Second + stillness()
	late := slices.DeleteFunc(delays(t, good), func(d delay) bool { return d.took <= allowed })
	if len(late) > 0 {
		t.Errorf("the good consumer was up to %s behind, over 2 s, with %d events, such as: %s; the listener said: %s",
			percentile(late, 100), len(late), late[len(late)-1], w.daemon.said())
	}
	for _, l := range w.letters(picky) {
		if l.Attempts != 1 || l.Status != http.StatusBadRequest || l.Answer != refusal || l.Run != refused {
			t.Errorf("a dead letter: %+v", l)
		}
	}
}

// brief picks a time: the shorter one for go test -short.
func brief(short, usual time.Duration) time.Duration {
	if testing.Short() {
		return short
	}
	return usual
}

const refusal = `{"error":"this run I do not like"}`

// refuseOneRun lets a flow run happen of which the consumer takes nothing, and returns its id.
func (w *world) refuseOneRun(c *consumer) string {
	runs := w.begin(shape{plain: true}, 1)
	id := runs[0].self.ID
	c.Script(transporttest.ByRun(transporttest.Always(transporttest.OK()), map[string]transporttest.Script{
		id: transporttest.Always(transporttest.Reply{Status: http.StatusBadRequest, Body: refusal}),
	}))
	w.finish(runs...)
	for _, e := range w.told() {
		if e.Run.ID == id {
			c.wantDead = append(c.wantDead, e.Key())
		}
	}
	return id
}

// onlyFor is a consumer's script that wants a bearer token.
func onlyFor(token string) transporttest.Script {
	return func(r transporttest.Request) transporttest.Reply {
		if r.Header.Get("Authorization") != "Bearer "+token {
			return transporttest.Status(http.StatusUnauthorized)
		}
		return transporttest.OK()
	}
}

// writeToken replaces a file in one step, as those who rotate secrets do.
func writeToken(t *testing.T, path, token string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
