package deliver

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// breakerRuns is how many runs must be refused for good, with no success between, until the destination is blamed.
const breakerRuns = 20

// breaker gathers the events that were refused for good since the last success.
type breaker struct {
	runs  map[uuid.UUID][]int64 // places in the outbox, by run
	since time.Time             // of the first
	// doubted events were put back once. Refused again by a destination that works they are guilty, and do not count a
	// second time: else twenty bad events at the head of the outbox would stop it for ever.
	doubted map[int64]struct{}
}

// refused takes note of a permanent answer and says whether it was one too many.
func (b *breaker) refused(run uuid.UUID, seq int64, now time.Time) bool {
	if _, again := b.doubted[seq]; again {
		delete(b.doubted, seq)
		return false
	}
	if b.runs == nil {
		b.runs = make(map[uuid.UUID][]int64)
	}
	if len(b.runs) == 0 {
		b.since = now
	}
	b.runs[run] = append(b.runs[run], seq)
	return len(b.runs) >= breakerRuns
}

// trip returns the streak's events, in outbox order, and its runs, and begins anew.
func (b *breaker) trip() (streak letters, runs []uuid.UUID) {
	if b.doubted == nil {
		b.doubted = make(map[int64]struct{})
	}
	for run, of := range b.runs {
		runs = append(runs, run)
		streak.seqs = append(streak.seqs, of...)
		for _, seq := range of {
			b.doubted[seq] = struct{}{}
		}
	}
	slices.Sort(streak.seqs)
	streak.since = b.since
	clear(b.runs)
	return streak, runs
}

// passed ends the streak: the destination has taken an event.
func (b *breaker) passed(seq int64) {
	clear(b.runs)
	delete(b.doubted, seq)
}
