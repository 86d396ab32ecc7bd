package transporttest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
)

// Verdict is what a consumer got compared with what it should have got. Each entry names an event.
type Verdict struct {
	Missing    []string // never came
	Spurious   []string // came and should not have
	Changed    []string // came with other bytes than it should, or its copies differ
	OutOfOrder []string // came for the first time after a later event of its run
	Duplicates int      // further copies, which are allowed
}

// Clean reports whether nothing is wrong. Duplicates are not.
func (v Verdict) Clean() bool {
	return len(v.Missing)+len(v.Spurious)+len(v.Changed)+len(v.OutOfOrder) == 0
}

// Require fails the test unless the verdict is clean and duplicates are at most the bound.
func (v Verdict) Require(tb testing.TB, maxDuplicates int) {
	tb.Helper()
	if !v.Clean() || v.Duplicates > maxDuplicates {
		tb.Errorf("missing %v\nspurious %v\nchanged %v\nout of order %v\nduplicates %d, allowed %d",
			v.Missing, v.Spurious, v.Changed, v.OutOfOrder, v.Duplicates, maxDuplicates)
	}
}

// Judge compares what a sink took with the events that were to be delivered, which stand in the order of their run.
// Events are told by the run, type and time in their bodies, so headers that the transport sets play no part.
func Judge(taken []Request, want []transport.Event) Verdict {
	var v Verdict
	place := map[identity]int{} // in want
	for i, event := range want {
		place[identify(event.Body)] = i
	}
	seen := map[identity]bool{}
	latest := map[string]int{} // by run: the place of the last event that came
	for _, r := range taken {
		id := identity{r.RunID, r.Type, r.Time}
		i, known := place[id]
		if !known {
			v.Spurious = append(v.Spurious, id.String())
			continue
		}
		if !bytes.Equal(r.Body, want[i].Body) {
			v.Changed = append(v.Changed, id.String())
		}
		if seen[id] {
			v.Duplicates++
			continue
		}
		seen[id] = true
		if last, ok := latest[id.run]; ok && last > i {
			v.OutOfOrder = append(v.OutOfOrder, id.String())
		}
		latest[id.run] = max(latest[id.run], i)
	}
	for _, event := range want {
		if id := identify(event.Body); !seen[id] {
			v.Missing = append(v.Missing, id.String())
		}
	}
	return v
}

func (id identity) String() string { return fmt.Sprintf("%s %s %s", id.run, id.eventType, id.time) }
