package state

import "time"

// Overview is what people want to know of a store beside how its destinations stand.
type Overview struct {
	// OpenFlowRuns and OpenTaskRuns are runs of which something was told and no end; KnownRuns are all in the ledger.
	OpenFlowRuns, OpenTaskRuns, KnownRuns int64
	// Quarantined are rows of Prefect that could not be read and are kept.
	Quarantined int64
	// LastFailures are, by destination, the last failure of the event that waits longest, or the last dead letter, whichever
	// is younger. A destination that has neither is left out.
	LastFailures map[string]Failure
}

// Failure is an attempt that failed.
type Failure struct {
	Reason string // in a word such as status-503; no secrets
	Status int    // of HTTP; 0: there was none
	At     time.Time
}
