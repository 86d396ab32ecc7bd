package statetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// world is a store with a clock and short names for what is in it: "etl" is a run, "etl START" its first event.
type world struct {
	testing.TB
	rig   Rig
	place string
	clock *Clock
	store Store
}

func newWorld(t testing.TB, rig Rig, destinations ...state.Destination) *world {
	t.Helper()
	w := &world{TB: t, rig: rig, place: rig.Place(t), clock: NewClock()}
	w.store = rig.Open(t, w.place, w.clock.Now)
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	w.register(destinations...)
	return w
}

// dests are destinations without groups.
func dests(names ...string) []state.Destination {
	all := make([]state.Destination, 0, len(names))
	for _, name := range names {
		all = append(all, state.Destination{Name: name, Kind: "http"})
	}
	return all
}

// chain are destinations of which each comes after the one before.
func chain(names ...string) []state.Destination {
	all := dests(names...)
	for i := 1; i < len(all); i++ {
		all[i].After = all[i-1].Name
	}
	return all
}

func (w *world) ctx() context.Context { return w.Context() }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// restart closes the store and opens it again.
func (w *world) restart() {
	w.Helper()
	w.must(w.store.Close())
	w.store = w.rig.Open(w, w.place, w.clock.Now)
}

// crash kills the store and opens what is left.
func (w *world) crash() {
	w.Helper()
	w.place = w.rig.Crash(w, w.store, w.place)
	w.store = w.rig.Open(w, w.place, w.clock.Now)
}

func (w *world) register(destinations ...state.Destination) {
	w.Helper()
	w.must(w.store.Register(w.ctx(), destinations))
}

// runID is the id of the run of that name.
func runID(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

func jobOf(run string) adapter.RunRef {
	return adapter.RunRef{RunID: runID(run), Namespace: "test", Name: "job of " + run}
}

// event makes the event "run TYPE"; a START is the run's first. Under names the ancestor.
func event(run string, kind adapter.EventType, under string) adapter.Event {
	e := adapter.Event{
		Run: runID(run), First: kind == adapter.Start, Type: kind,
		Time: time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC), Job: jobOf(run),
		Body: []byte(fmt.Sprintf(`{"eventType":%q,"run":%q}`, kind, run)),
	}
	if under != "" {
		e.Ancestor = runID(under)
	}
	return e
}

func starts(runs ...string) []adapter.Event {
	events := make([]adapter.Event, 0, len(runs))
	for _, run := range runs {
		events = append(events, event(run, adapter.Start, ""))
	}
	return events
}

// story is a run's START and COMPLETE.
func story(run, under string) []adapter.Event {
	return []adapter.Event{event(run, adapter.Start, under), event(run, adapter.Complete, under)}
}

func (w *world) commit(batch state.Batch) state.Committed {
	w.Helper()
	done, err := w.store.Commit(w.ctx(), batch)
	w.must(err)
	return done
}

func (w *world) say(events ...adapter.Event) state.Committed {
	w.Helper()
	return w.commit(state.Batch{Events: events})
}

// names turns runs' ids back into the names of these runs.
func names(deliveries []state.Delivery) []string {
	said := []string{}
	for _, d := range deliveries {
		said = append(said, nameOf(d.Event))
	}
	return said
}

func nameOf(e adapter.Event) string {
	var run string
	if _, err := fmt.Sscanf(e.Job.Name, "job of %s", &run); err != nil {
		return e.Run.String()
	}
	return run + " " + string(e.Type)
}

func (w *world) claim(destination string) []state.Delivery {
	w.Helper()
	due, err := w.store.Claim(w.ctx(), destination, w.clock.Now(), 1000, nil)
	w.must(err)
	return due
}

// due checks what a destination may be sent now.
func (w *world) due(destination string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(append([]string{}, want...), names(w.claim(destination))); diff != "" {
		w.Errorf("due at %s (-want +got):\n%s", destination, diff)
	}
}

// settle claims and settles the events of these names.
func (w *world) settle(destination string, verdict state.Verdict, events ...string) {
	w.Helper()
	var settlements []state.Settlement
	for _, d := range w.claim(destination) {
		if slices.Contains(events, nameOf(d.Event)) {
			settlements = append(settlements, w.settlement(d.Seq, verdict))
		}
	}
	if len(settlements) != len(events) {
		w.Fatalf("of %q only %d are due at %s: %q", events, len(settlements), destination, names(w.claim(destination)))
	}
	w.must(w.store.Settle(w.ctx(), destination, settlements))
}

// settlement of an attempt; one that is to be tried again is due in a minute.
func (w *world) settlement(seq int64, verdict state.Verdict) state.Settlement {
	s := state.Settlement{Seq: seq, Verdict: verdict}
	switch verdict {
	case state.Again:
		s.Due, s.Reason, s.Status = w.clock.Now().Add(time.Minute), "status-503", 503
	case state.Dead:
		s.Reason, s.Status, s.Answer = "status-400", 400, []byte("no such thing")
	case state.Delivered, state.Skipped:
	}
	return s
}

func (w *world) deliver(destination string, events ...string) {
	w.Helper()
	w.settle(destination, state.Delivered, events...)
}

// drain delivers all that is due until nothing is, and returns it in order.
func (w *world) drain(destination string) []string {
	w.Helper()
	said := []string{}
	for {
		due := w.claim(destination)
		if len(due) == 0 {
			return said
		}
		said = append(said, names(due)...)
		w.deliver(destination, names(due)...)
	}
}

func (w *world) status(destination string) state.DestinationStatus {
	w.Helper()
	all, err := w.store.Status(w.ctx())
	w.must(err)
	for _, d := range all {
		if d.Name == destination {
			return d
		}
	}
	w.Fatalf("status has no destination %q", destination)
	return state.DestinationStatus{}
}

// pending checks the counters of a destination.
func (w *world) pending(destination string, pending, dead int64) {
	w.Helper()
	d := w.status(destination)
	if d.Pending != pending || d.Dead != dead {
		w.Errorf("%s has %d pending and %d dead, want %d and %d", destination, d.Pending, d.Dead, pending, dead)
	}
}

// stored checks how many events the outbox holds, dead letters included.
func (w *world) stored(want int64) {
	w.Helper()
	size, err := w.store.Size(w.ctx())
	w.must(err)
	if size.Events != want || (size.OutboxBytes > 0) != (want > 0) {
		w.Errorf("the outbox holds %d events of %d bytes, want %d events", size.Events, size.OutboxBytes, want)
	}
}

func (w *world) letters(filter state.DeadFilter) []state.DeadLetter {
	w.Helper()
	letters, err := w.store.DeadLetters(w.ctx(), filter)
	w.must(err)
	return letters
}

// replay replays all dead letters of a destination.
func (w *world) replay(destination string) int {
	w.Helper()
	var ids []int64
	for _, letter := range w.letters(state.DeadFilter{Destination: destination}) {
		ids = append(ids, letter.ID)
	}
	n, err := w.store.Replay(w.ctx(), ids)
	w.must(err)
	return n
}
