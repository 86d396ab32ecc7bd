package statetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// testModel does random things to a store and to the model, kills among them, and has them agree after each.
func testModel(t *testing.T, rig Rig) {
	rapid.Check(t, func(r *rapid.T) {
		m := newMachine(t, r, rig)
		defer func() {
			if err := m.store.Close(); err != nil {
				r.Fatal(err)
			}
		}()
		m.register(r)
		r.Repeat(map[string]func(r *rapid.T){
			"":          m.check,
			"commit":    m.commit,
			"commit 2":  m.commit, // what happens most
			"deliver":   m.deliver,
			"deliver 2": m.deliver,
			"settle":    m.settleAny,
			"replay":    m.replay,
			"replay 2":  m.replay,
			"drop":      m.drop,
			"register":  m.register,
			"park":      m.park,
			"wait":      m.wait,
			"purge":     m.purge,
			"restart":   m.restart,
			"crash":     m.crash,
		})
	})
}

type machine struct {
	t       *testing.T
	ctx     context.Context // lives as long as the test
	rig     Rig
	place   string
	clock   *Clock
	store   Store
	model   *model
	commits int
}

func newMachine(t *testing.T, r *rapid.T, rig Rig) *machine {
	clock := NewClock()
	m := &machine{t: t, ctx: r.Context(), rig: rig, place: rig.Place(t), clock: clock, model: newModel(clock)}
	m.store = rig.Open(t, m.place, clock.Now)
	return m
}

// The runs are a flow, a subflow and a task of each: few, so that much happens to each of them.
var machineRuns = []struct{ run, under string }{{"f0", ""}, {"f1", "f0"}, {"t0", "f0"}, {"t1", "f1"}}

func must(r *rapid.T, err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (m *machine) commit(r *rapid.T) {
	var batch state.Batch
	types := []adapter.EventType{adapter.Start, adapter.Start, adapter.Running, adapter.Complete}
	for range rapid.IntRange(1, 4).Draw(r, "events") {
		run := rapid.SampledFrom(machineRuns).Draw(r, "run")
		e := event(run.run, rapid.SampledFrom(types).Draw(r, "type"), run.under)
		e.Time = e.Time.Add(time.Duration(rapid.IntRange(0, 1).Draw(r, "time")) * time.Second)
		m.commits++
		e.Body = []byte(fmt.Sprintf(`{"version":%d}`, m.commits))
		batch.Events = append(batch.Events, e)
		if rapid.Bool().Draw(r, "told") {
			batch.Told = append(batch.Told, entry(run.run, adapter.Phase(rapid.IntRange(0, 2).Draw(r, "phase"))))
		}
	}
	if rapid.IntRange(0, 3).Draw(r, "named") == 0 {
		batch.Destinations = append([]string{}, m.subset(r, m.model.names())...)
	}
	batch.Resend = rapid.IntRange(0, 3).Draw(r, "resend") == 0
	batch.Cursors = map[string][]byte{"poll": []byte(strconv.Itoa(m.commits))}
	got, err := m.store.Commit(m.ctx, batch)
	must(r, err)
	if diff := cmp.Diff(m.model.commit(batch), got); diff != "" {
		r.Fatalf("committed (-model +store):\n%s", diff)
	}
}

func (m *machine) subset(r *rapid.T, of []string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(string) bool { return rapid.Bool().Draw(r, "without") })
}

func (m *machine) register(r *rapid.T) {
	var list []state.Destination
	for _, name := range m.subset(r, rapid.Permutation([]string{"a", "b", "c"}).Draw(r, "order")) {
		d := state.Destination{Name: name, Kind: "http"}
		if n := len(list); n > 0 && rapid.Bool().Draw(r, "grouped") {
			d.After = list[n-1].Name
		}
		list = append(list, d)
	}
	must(r, m.store.Register(m.ctx, list))
	m.model.register(list)
}

func (m *machine) any(r *rapid.T) *modelDest {
	if len(m.model.dests) == 0 {
		r.Skip("no destination yet")
	}
	return rapid.SampledFrom(m.model.dests).Draw(r, "destination")
}

func (m *machine) park(r *rapid.T) {
	d := m.any(r)
	if d.parked.IsZero() {
		must(r, m.store.Park(m.ctx, d.name))
		d.parked = m.clock.Now()
		return
	}
	since, err := m.store.Resume(m.ctx, d.name)
	must(r, err)
	if !since.Equal(d.parked) {
		r.Fatalf("%s was parked since %s, the store says %s", d.name, d.parked, since)
	}
	d.parked = time.Time{}
}

var verdicts = []state.Verdict{state.Delivered, state.Delivered, state.Dead, state.Dead, state.Again, state.Skipped}

func (m *machine) settlement(r *rapid.T, seq int64) state.Settlement {
	s := state.Settlement{Seq: seq, Verdict: rapid.SampledFrom(verdicts).Draw(r, "verdict")}
	if s.Verdict == state.Again {
		s.Due = m.clock.Now().Add(time.Duration(rapid.IntRange(-1, 3).Draw(r, "minutes")) * time.Minute)
	}
	if s.Verdict == state.Again || s.Verdict == state.Dead {
		s.Reason = "status-503"
	}
	return s
}

func (m *machine) settle(r *rapid.T, name string, settlements []state.Settlement) {
	must(r, m.store.Settle(m.ctx, name, settlements))
	for _, s := range settlements {
		m.model.settle(name, s)
	}
}

// deliver claims at one destination and settles some of it in one go.
func (m *machine) deliver(r *rapid.T) {
	d := m.any(r)
	var settlements []state.Settlement
	for _, row := range m.model.claim(d.name) {
		if rapid.IntRange(0, 3).Draw(r, "settle") > 0 {
			settlements = append(settlements, m.settlement(r, row.seq))
		}
	}
	m.settle(r, d.name, settlements)
}

// settleAny settles an event that may be neither due nor there.
func (m *machine) settleAny(r *rapid.T) {
	d := m.any(r)
	m.settle(r, d.name, []state.Settlement{m.settlement(r, rapid.Int64Range(1, m.model.seq+1).Draw(r, "seq"))})
}

func (m *machine) someLetters(r *rapid.T) []int64 {
	ids := []int64{rapid.Int64Range(0, m.model.letter+1).Draw(r, "id")}
	for _, letter := range m.model.letters() {
		if rapid.Bool().Draw(r, "letter") {
			ids = append(ids, letter.letter)
		}
	}
	return ids
}

func (m *machine) replay(r *rapid.T) { m.eachLetter(r, m.store.Replay, m.model.replay) }
func (m *machine) drop(r *rapid.T)   { m.eachLetter(r, m.store.Drop, m.model.drop) }

func (m *machine) eachLetter(r *rapid.T, real func(context.Context, []int64) (int, error), model func(int64) int) {
	ids, want := m.someLetters(r), 0
	for _, id := range ids {
		want += model(id)
	}
	got, err := real(m.ctx, ids)
	must(r, err)
	if got != want {
		r.Fatalf("dead letters %v made %d, the model %d", ids, got, want)
	}
}

func (m *machine) wait(r *rapid.T) {
	m.clock.Move(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 2 * time.Minute, -3 * time.Hour}).Draw(r, "by"))
}

func (m *machine) purge(r *rapid.T) {
	before := m.clock.Now().Add(time.Duration(rapid.IntRange(-5, 1).Draw(r, "minutes")) * time.Minute)
	got, want := 0, m.model.purge(before)
	for more := true; more; {
		done, err := m.store.Purge(m.ctx, before)
		must(r, err)
		got, more = got+done.Runs, done.More
	}
	if got != want {
		r.Fatalf("purged %d entries, the model %d", got, want)
	}
}

func (m *machine) restart(r *rapid.T) {
	must(r, m.store.Close())
	m.store = m.rig.Open(m.t, m.place, m.clock.Now)
}

func (m *machine) crash(*rapid.T) {
	m.place = m.rig.Crash(m.t, m.store, m.place)
	m.store = m.rig.Open(m.t, m.place, m.clock.Now)
}

// check compares all that can be seen.
func (m *machine) check(r *rapid.T) {
	m.checkStatus(r)
	for _, d := range m.model.dests {
		m.checkClaim(r, d.name)
	}
	letters, err := m.store.DeadLetters(m.ctx, state.DeadFilter{Limit: 1000})
	must(r, err)
	got, want := []string{}, []string{}
	for _, l := range letters {
		got = append(got, fmt.Sprint(l.ID, l.Destination, l.Seq, nameOf(l.Event), l.Attempts))
	}
	for _, l := range m.model.letters() {
		want = append(want, fmt.Sprint(l.letter, l.dest, l.seq, nameOf(l.event), l.attempts))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("dead letters (-model +store):\n%s", diff)
	}
	var ids []uuid.UUID
	for _, run := range machineRuns {
		ids = append(ids, runID(run.run))
	}
	ledger := map[uuid.UUID]adapter.Told{}
	for id, entry := range m.model.told {
		ledger[id] = entry.told
	}
	told, err := m.store.Told(m.ctx, ids)
	must(r, err)
	if diff := cmp.Diff(ledger, told); diff != "" {
		r.Fatalf("ledger (-model +store):\n%s", diff)
	}
	if cursor, err := m.store.Cursor(m.ctx, "poll"); err != nil || string(cursor) != m.model.cursor {
		r.Fatalf("cursor is %q, %v, want %q", cursor, err, m.model.cursor)
	}
}

func (m *machine) checkStatus(r *rapid.T) {
	got, err := m.store.Status(m.ctx)
	must(r, err)
	var want []state.DestinationStatus
	for _, d := range m.model.dests {
		want = append(want, m.model.status(d))
	}
	byName := cmpopts.SortSlices(func(a, b state.DestinationStatus) bool { return a.Name < b.Name })
	ignore := cmpopts.IgnoreFields(state.DestinationStatus{}, "OldestPending", "LastDelivered", "Kind")
	if diff := cmp.Diff(want, got, byName, ignore, cmpopts.EquateEmpty()); diff != "" {
		r.Fatalf("status (-model +store):\n%s", diff)
	}
	size, err := m.store.Size(m.ctx)
	must(r, err)
	if size.Events != m.model.events() {
		r.Fatalf("the outbox holds %d events, the model %d", size.Events, m.model.events())
	}
}

func (m *machine) checkClaim(r *rapid.T, name string) {
	due, err := m.store.Claim(m.ctx, name, m.clock.Now(), 1000, nil)
	must(r, err)
	got, want := []string{}, []string{}
	for _, d := range due {
		got = append(got, fmt.Sprint(d.Seq, nameOf(d.Event), string(d.Event.Body), d.Attempts))
	}
	for _, row := range m.model.claim(name) {
		want = append(want, fmt.Sprint(row.seq, nameOf(row.event), string(row.event.Body), row.attempts))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("due at %s (-model +store):\n%s", name, diff)
	}
}
