package prefect

import (
	"time"

	"github.com/google/uuid"
)

// Cursor is the reading position, in the server's time. It is stored with the events that were made of what lies
// before it.
type Cursor struct {
	// Ended: every run that ended up to here has been read (but for rows that the server shows late).
	Ended time.Time `json:"ended"`
	// Swept10m and SweptDay are when the last longer looks back over 10 minutes and 24 hours were taken.
	Swept10m time.Time `json:"swept_10m"`
	SweptDay time.Time `json:"swept_day"`
	// Since is how far back the first start looked: no look back goes behind it. Zero: no such bound.
	Since time.Time `json:"since"`
}

// Changes is one portion of what a poll or a history read found: a few pages at most, so that memory stays flat.
// A flow run comes no later than its task runs do where one read sees both. A poll that catches up reads one stretch
// of time after the other: there a task run comes before its flow run where it ended in an earlier stretch.
type Changes struct {
	FlowRuns []FlowRun
	TaskRuns []TaskRun
	// Gone are open runs that were asked for by id and are not there.
	Gone []uuid.UUID
	Bad  []BadRow
	// Late are the runs that only a look back brought, with which one it was.
	Late map[uuid.UUID]Look
	// Now is the server's clock at this read.
	Now time.Time
	// Cursor, when set, is the position that holds once this portion and all before it are stored.
	Cursor *Cursor
}

// Look is a look back behind what each poll reads.
type Look string

// The looks back.
const (
	LookLag Look = "lag" // for as late as rows have shown lately
	Look10m Look = "10m"
	LookDay Look = "24h"
)

// OpenRuns are the runs of which an end is awaited and that are due to be looked at, by kind.
type OpenRuns struct {
	FlowRuns []uuid.UUID
	TaskRuns []uuid.UUID
}

// HistoryQuery says which runs a history read is after.
type HistoryQuery struct {
	Since time.Time // started or ended at or after
	Until time.Time // and before; zero: now
	Flow  string    // by this flow's name only; empty: all
	Runs  []uuid.UUID
}
