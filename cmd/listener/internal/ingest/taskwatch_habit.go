package ingest

import "time"

// When a flow's habit is known, and for how long.
const (
	steadyAfter   = 5  // runs in a row with task runs
	trustedAgain  = 20 // so many, for one that was known to have none at times
	habitLifetime = 7 * 24 * time.Hour
)

// habit is what the runs of one flow had so far.
type habit struct {
	// Tasked are the runs in a row that had task runs, but for those that Bare counts.
	Tasked int `json:"tasked"`
	// Mixed: some of its runs have task runs and some have none, with nothing being wrong.
	Mixed bool `json:"mixed,omitempty"`
	// Seen is when a run of it last had task runs; of a flow that never had, when it last ran.
	Seen time.Time `json:"seen"`
	// Bare are the latest runs in a row that had none. They are not stored: a new process looks for itself.
	Bare int `json:"-"`
}

// tasked notes a run with task runs. Where some before it had none and there was no alarm, the flow is one of those that
// at times have none.
func (h *habit) tasked(now time.Time, alarm bool) {
	if h.Bare > 0 {
		h.forgive(!alarm)
	}
	h.Tasked, h.Seen = min(h.Tasked+1, trustedAgain), now
	if h.Tasked >= trustedAgain {
		h.Mixed = false
	}
}

// bareRun notes a run without any, and says whether that is strange.
func (h *habit) bareRun(now time.Time) bool {
	if h.Mixed || h.Tasked < steadyAfter {
		h.Tasked = 0
		if h.Seen.IsZero() {
			h.Seen = now
		}
		return false
	}
	h.Bare++
	return true
}

// forgive forgets the runs without. Where they were the flow's own doing it is known for that from now on.
func (h *habit) forgive(own bool) {
	h.Bare = 0
	if own {
		h.Mixed, h.Tasked = true, 0
	}
}

func (h *habit) old(now time.Time) bool { return now.Sub(h.Seen) > habitLifetime }
