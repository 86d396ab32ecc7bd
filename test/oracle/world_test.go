package oracle_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/oracle/judge"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// inFlight is how many events a crash may repeat at a consumer: those that were sent and not yet settled, at most
// sixteen for each of the eight that the http transport has under way at once.
const inFlight = 8 * 16

// world is a Prefect with a history, consumers, and a listener between them.
type world struct {
	*history
	t         *testing.T
	daemon    *daemon
	consumers []*consumer
}

// newWorld makes a world with a consumer for each name. The listener is not started.
func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	return newWorldOn(t, prefecttest.NewTCP(t), names...)
}

// newWorldOn makes a world on a server.
func newWorldOn(t *testing.T, server *prefecttest.Server, names ...string) *world {
	t.Helper()
	w := &world{t: t, history: newHistory(server), daemon: newDaemon(t, server.URL)}
	for _, name := range names {
		w.consumers = append(w.consumers, newConsumer(t, name))
	}
	w.connect(w.consumers...)
	return w
}

func (w *world) consumer(name string) *consumer {
	for _, c := range w.consumers {
		if c.name == name {
			return c
		}
	}
	w.t.Fatalf("there is no consumer %s", name)
	return nil
}

// connect makes these consumers the listener's destinations, from its next start on.
func (w *world) connect(consumers ...*consumer) {
	w.t.Helper()
	transports := map[string]any{}
	for _, c := range consumers {
		settings := map[string]any{"type": "http", "url": c.url}
		maps.Copy(settings, c.settings)
		transports[c.name] = settings
	}
	text, err := json.Marshal(map[string]any{"type": "composite", "transports": transports})
	if err != nil {
		w.t.Fatal(err)
	}
	w.daemon.set("OPENLINEAGE__TRANSPORT", string(text))
}

// consumer is a scripted sink and what is to be expected of it.
type consumer struct {
	*transporttest.Sink
	name     string
	url      string         // where the listener finds it
	settings map[string]any // of its transport, beside the address

	// wants says which events are to come; nil: all.
	wants    func(judge.Event) bool
	wantDead []judge.Key
	copies   int
	replayed map[string]bool

	mu   sync.Mutex
	read int // requests that were looked at
	have map[judge.Key]bool
}

func newConsumer(t testing.TB, name string) *consumer {
	t.Helper()
	sink := transporttest.NewSink(t)
	return &consumer{
		Sink: sink, name: name, url: sink.URL(), settings: map[string]any{}, replayed: map[string]bool{},
		have: map[judge.Key]bool{},
	}
}

// got is what came, in order.
func (c *consumer) got() []judge.Arrival {
	var all []judge.Arrival
	for _, r := range c.Taken() {
		all = append(all, judge.Arrival{At: r.At, Body: r.Body})
	}
	return all
}

// lacks counts the events that have not come yet and are no dead letters that were to be expected.
func (c *consumer) lacks(told []judge.Event) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests := c.Requests()
	for _, r := range requests[c.read:] {
		if r.Taken {
			c.have[keyOf(r)] = true
		}
	}
	c.read = len(requests)
	count := 0
	for _, e := range told {
		if (c.wants == nil || c.wants(e)) && !c.have[e.Key()] && !slices.Contains(c.wantDead, e.Key()) {
			count++
		}
	}
	return count
}

func keyOf(r transporttest.Request) judge.Key {
	at, err := time.Parse(time.RFC3339Nano, r.Time)
	if err != nil {
		return judge.Key{}
	}
	return judge.Event{Run: judge.Run{ID: r.RunID}, Type: r.Type, Time: at}.Key()
}

// caughtUp waits until everything that was told so far has come to these consumers, or to all.
func (w *world) caughtUp(within time.Duration, consumers ...*consumer) {
	w.t.Helper()
	if len(consumers) == 0 {
		consumers = w.consumers
	}
	told := w.told()
	deadline := time.Now().Add(within)
	for {
		behind := map[string]int{}
		for _, c := range consumers {
			if n := c.lacks(told); n > 0 {
				behind[c.name] = n
			}
		}
		if len(behind) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("after %s there are still missing %v of %d events; the destinations stand so: %+v; the listener said:\n%s",
				within, behind, len(told), w.standings(), w.daemon.lastWords())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fresh sees to it that something which happens now still comes within 5 s, at these consumers or all.
func (w *world) fresh(consumers ...*consumer) {
	w.t.Helper()
	w.finish(w.begin(shape{plain: true}, 1)...)
	w.caughtUp(5*time.Second, consumers...)
}

// judge fails the test unless every consumer got what it should have.
func (w *world) judge() {
	w.t.Helper()
	told := w.told()
	for _, c := range w.consumers {
		verdict := w.verdict(c, told)
		if !verdict.Clean() {
			w.t.Errorf("consumer %s: %s", c.name, verdict)
		}
		w.t.Logf("consumer %s: %d requests, %d events, %d repeats (%d allowed)",
			c.name, len(c.Requests()), len(c.Taken()), verdict.Repeats, c.copies)
	}
	for _, c := range w.consumers[1:] {
		if lines := judge.Same(w.consumers[0].got(), c.got()); len(lines) > 0 {
			w.t.Errorf("%s and %s got different bytes: %s", w.consumers[0].name, c.name, strings.Join(lines[:1], ""))
		}
	}
}

func (w *world) verdict(c *consumer, told []judge.Event) judge.Verdict {
	w.t.Helper()
	one := judge.Case{
		Got: c.got(), Dead: w.dead(c), WantDead: c.wantDead, Copies: c.copies, Replayed: c.replayed,
	}
	for _, e := range told {
		if c.wants == nil || c.wants(e) {
			one.Want = append(one.Want, e)
		}
	}
	return one.Verdict()
}

// letter is a dead letter as the command line tells it.
type letter struct {
	ID          int64           `json:"id"`
	Destination string          `json:"destination"`
	Run         string          `json:"run_id"`
	Type        string          `json:"type"`
	Time        time.Time       `json:"time"`
	Attempts    int             `json:"attempts"`
	Reason      string          `json:"reason"`
	Status      int             `json:"status"`
	Answer      string          `json:"answer"`
	Event       json.RawMessage `json:"event"`
}

func (l letter) key() judge.Key {
	return judge.Event{Run: judge.Run{ID: l.Run}, Type: l.Type, Time: l.Time}.Key()
}

func (w *world) letters(c *consumer) []letter {
	w.t.Helper()
	var letters []letter
	w.daemon.ask(&letters, "deadletters", "list", "--destination", c.name, "--limit", "1000000")
	return letters
}

func (w *world) dead(c *consumer) []judge.Key {
	w.t.Helper()
	var keys []judge.Key
	for _, l := range w.letters(c) {
		keys = append(keys, l.key())
	}
	return keys
}

// standing is how a destination stands, as the command line tells it.
type standing struct {
	Name    string `json:"name"`
	Pending int    `json:"pending"`
	Dead    int    `json:"dead"`
	Parked  bool   `json:"parked"`
	Gone    bool   `json:"gone"`
}

func (w *world) standings() []standing {
	w.t.Helper()
	var status struct {
		Destinations []standing `json:"destinations"`
	}
	w.daemon.ask(&status, "status")
	return status.Destinations
}

func (w *world) standing(c *consumer) standing {
	w.t.Helper()
	all := w.standings()
	for _, d := range all {
		if d.Name == c.name {
			return d
		}
	}
	w.t.Errorf("status does not know %s: %+v", c.name, all)
	return standing{}
}

// blocked is the gauge by which a destination shows that nothing passes, and why.
func blocked(name, reason string) string {
	return fmt.Sprintf("transport_blocked{reason=%q,transport=%q}", reason, name)
}

// eventually is rig.Eventually with the world's test.
func (w *world) eventually(within time.Duration, what string, yes func() bool) {
	w.t.Helper()
	rig.Eventually(w.t, within, what, yes)
}
