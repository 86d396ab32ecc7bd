package ingest_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state"
)

func orphansOf(r *rig, ids ...uuid.UUID) []state.OrphanTask {
	var orphans []state.OrphanTask
	for _, id := range ids {
		task := r.ledger.told[id]
		orphans = append(orphans, state.OrphanTask{Task: task, Flow: r.ledger.told[task.FlowRunID]})
	}
	return orphans
}

// Whatever the clocks of the workers said, a run's events keep their order and an ancestor's first event goes first.
func TestChronologicalKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.IntRange(1, 8).Draw(t, "runs")
		var events []adapter.Event
		for i := range runs {
			var ancestor uuid.UUID
			if i > 0 && rapid.Bool().Draw(t, "child") {
				ancestor = runID(rapid.IntRange(0, i-1).Draw(t, "parent"))
			}
			for n := range rapid.IntRange(1, 3).Draw(t, "events") {
				events = append(events, adapter.Event{
					Run: runID(i), Ancestor: ancestor, First: n == 0, Body: []byte{byte(n)},
					Time: noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "at")) * time.Second),
				})
			}
		}
		perm := rapid.Permutation(events).Draw(t, "order")
		shuffled := keepRuns(events, perm)
		sorted := ingest.Chronological(shuffled)
		if len(sorted) != len(events) {
			t.Fatalf("%d events became %d", len(events), len(sorted))
		}
		next := map[uuid.UUID]byte{}
		for _, e := range sorted {
			if e.Body[0] != next[e.Run] {
				t.Fatalf("event %d of run %s where %d was due", e.Body[0], e.Run, next[e.Run])
			}
			if e.Ancestor != uuid.Nil && next[e.Ancestor] == 0 {
				t.Fatalf("run %s before its ancestor %s", e.Run, e.Ancestor)
			}
			next[e.Run]++
		}
	})
}

func runID(n int) uuid.UUID { return prefecttest.ID("run " + string(rune('a'+n))) }

// keepRuns takes the order of runs from a permutation and the order within a run from the original.
func keepRuns(events, perm []adapter.Event) []adapter.Event {
	of := map[uuid.UUID][]adapter.Event{}
	for _, e := range events {
		of[e.Run] = append(of[e.Run], e)
	}
	var out []adapter.Event
	for _, e := range perm {
		out = append(out, of[e.Run][0])
		of[e.Run] = of[e.Run][1:]
	}
	return out
}
