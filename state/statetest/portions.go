package statetest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

var portionTests = map[string]func(t *testing.T, rig Rig){
	"a large batch is as many small ones":    testLargeBatch,
	"a child before its parent in one batch": testChildFirst,
}

// testLargeBatch tells the same of many runs in one batch and in a batch for each event: all that can be seen is the same.
func testLargeBatch(t *testing.T, rig Rig) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test's own
			before, events := manyEvents(r, 12), manyEvents(r, 300)
			one, many := newWorld(t, rig, chain("a", "b")...), newWorld(t, rig, chain("a", "b")...)
			for _, w := range []*world{one, many} {
				w.commit(batchOf(before))
				for _, due := range w.claim("a")[:2] {
					w.deliver("a", nameOf(due.Event))
				}
				w.clock.Move(time.Minute)
			}
			want := state.Committed{}
			for i := range events {
				done := many.commit(batchOf(events[i : i+1]))
				want.Enqueued, want.Repeated = want.Enqueued+done.Enqueued, want.Repeated+done.Repeated
				want.LastSeq = max(want.LastSeq, done.LastSeq)
			}
			if diff := cmp.Diff(want, one.commit(batchOf(events))); diff != "" {
				t.Errorf("committed (-many +one):\n%s", diff)
			}
			if diff := cmp.Diff(many.everything(), one.everything()); diff != "" {
				t.Errorf("(-many +one):\n%s", diff)
			}
		})
	}
}

// said is an event with what the ledger and the jobs learn of it.
type said struct {
	event adapter.Event
	told  adapter.Told
	edges []adapter.Edge
}

// manyEvents are of flow runs and the tasks in them, in odd orders and some of them twice. What is known of a run is the
// same at each of its events.
func manyEvents(r *rand.Rand, n int) []said {
	runs := map[string]said{}
	types := []adapter.EventType{adapter.Start, adapter.Complete, adapter.Fail}
	events := make([]said, 0, n)
	for range n {
		run, under := fmt.Sprintf("f%d", r.IntN(12)), ""
		if r.IntN(4) > 0 {
			run, under = fmt.Sprintf("t%d", r.IntN(n/2)), run
		}
		s, known := runs[run]
		if !known {
			s = aboutRun(r, run)
			runs[run] = s
		}
		s.event = event(run, types[r.IntN(len(types))], under)
		s.event.Body = fmt.Appendf(nil, `{"body":%d}`, r.Int())
		events = append(events, s)
	}
	return events
}

func aboutRun(r *rand.Rand, run string) said {
	s := said{told: entry(run, adapter.Open)}
	s.told.Run.Name, s.told.JobFacets = fmt.Sprintf("job %d", r.IntN(20)), fmt.Appendf(nil, `{"facets":%d}`, r.IntN(3))
	s.told.Start = s.told.Start.Add(time.Duration(r.Int64N(int64(time.Hour)))) // no two at the same time
	if r.IntN(3) > 0 {
		s.told.Phase, s.told.EndType, s.told.End = adapter.Ended, adapter.Complete, s.told.Start
		for i := range r.IntN(3) {
			s.edges = append(s.edges, adapter.Edge{
				Namespace: "file", Name: fmt.Sprint(r.IntN(30)), Output: i > 0, Facets: fmt.Sprintf(`{"f":%d}`, r.IntN(3)),
			})
		}
	}
	return s
}

func batchOf(all []said) state.Batch {
	batch := state.Batch{Edges: map[uuid.UUID][]adapter.Edge{}}
	for _, s := range all {
		batch.Events, batch.Told = append(batch.Events, s.event), append(batch.Told, s.told)
		batch.Edges[s.told.ID] = s.edges
	}
	return batch
}

// everything is what can be seen of a store, with what is due at each step until nothing is left.
func (w *world) everything() map[string]any {
	w.Helper()
	seen := map[string]any{}
	runs := map[uuid.UUID]bool{}
	for round := 0; ; round++ {
		a, b := w.claim("a"), w.claim("b")
		if len(a)+len(b) == 0 {
			break
		}
		seen[fmt.Sprintf("round %03d", round)] = [][]state.Delivery{a, b}
		for _, d := range slices.Concat(a, b) {
			runs[d.Event.Run] = true
		}
		for name, due := range map[string][]state.Delivery{"a": a, "b": b} {
			var settlements []state.Settlement
			for _, d := range due {
				settlements = append(settlements, w.settlement(d.Seq, state.Delivered))
			}
			w.must(w.store.Settle(w.ctx(), name, settlements))
		}
	}
	var err error
	seen["told"], err = w.store.Told(w.ctx(), slices.Collect(maps.Keys(runs)))
	w.must(err)
	jobs, err := w.store.Jobs(w.ctx(), adapter.RunRef{}, 1000)
	w.must(err)
	seen["jobs"] = jobs
	for _, job := range jobs {
		seen["good of "+job.Name], err = w.store.LastGoodEdges(w.ctx(), adapter.RunRef{Namespace: job.Namespace, Name: job.Name})
		w.must(err)
	}
	open, err := w.store.OpenRuns(w.ctx(), w.clock.Now().Add(24*time.Hour), 1000, nil)
	w.must(err)
	slices.SortFunc(open, func(x, y state.OpenRun) int { return bytes.Compare(x.ID[:], y.ID[:]) })
	seen["open"] = open
	w.pending("a", 0, 0)
	w.pending("b", 0, 0)
	w.stored(0)
	return seen
}

func testChildFirst(t *testing.T, rig Rig) {
	w := newWorld(t, rig, dests("one")...)
	w.say(slices.Concat(story("task", "flow"), story("flow", ""))...)
	w.due("one", "flow START")
	w.deliver("one", "flow START")
	w.due("one", "task START", "flow COMPLETE")
}
