package ingest

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
)

// chronological sorts events by time as people would read them, yet never puts an event before an older one of its
// run or before the first event of its ancestor, whatever their clocks say.
func chronological(events []adapter.Event) []adapter.Event {
	first := map[uuid.UUID]int{} // run -> index of its first event, where that is among them
	for i, e := range events {
		if e.First {
			first[e.Run] = i
		}
	}
	// depth makes an ancestor stand before its descendants where their times are equal.
	depth := make([]int, len(events))
	when := make([]time.Time, len(events))
	placed := make([]bool, len(events))
	var place func(i int)
	last := map[uuid.UUID]int{}
	place = func(i int) {
		if placed[i] {
			return
		}
		placed[i] = true
		e := events[i]
		when[i] = e.Time
		if a, ok := first[e.Ancestor]; ok && e.Ancestor != e.Run {
			place(a)
			depth[i] = depth[a] + 1
			when[i] = later(when[i], when[a])
		}
		if before, ok := last[e.Run]; ok {
			when[i] = later(when[i], when[before])
			depth[i] = max(depth[i], depth[before]+1)
		}
		last[e.Run] = i
	}
	for i := range events {
		place(i)
	}
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := when[a].Compare(when[b]); c != 0 {
			return c
		}
		return depth[a] - depth[b]
	})
	sorted := make([]adapter.Event, 0, len(events))
	for _, i := range order {
		sorted = append(sorted, events[i])
	}
	return sorted
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// sortedIDs gives a map's keys in a fixed order, so that the same data make the same transaction.
func sortedIDs[V any](m map[uuid.UUID]V) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}
