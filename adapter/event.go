package adapter

import (
	"time"

	"github.com/google/uuid"
)

// EventType is an OpenLineage run event's type.
type EventType string

// The event types that are said of a Prefect run.
const (
	Start    EventType = "START"
	Running  EventType = "RUNNING"
	Complete EventType = "COMPLETE"
	Fail     EventType = "FAIL"
	Abort    EventType = "ABORT"
)

// Event is one finished OpenLineage run event and what delivery must know of it.
type Event struct {
	// Run is Prefect's id of the run: events of one run are delivered in the order in which they were made.
	Run uuid.UUID
	// Ancestor is the nearest told ancestor, whose first event is delivered before this one; zero: none.
	Ancestor uuid.UUID
	// First marks the first event that was said of the run.
	First bool

	Type EventType
	Time time.Time // eventTime, UTC
	Job  RunRef
	// Body is the event as canonical JSON: what every destination gets, byte for byte.
	Body []byte
}

// Key identifies an event: the same run, type and time are the same event, however often it is made.
type Key struct {
	Run  uuid.UUID
	Type EventType
	Time time.Time
}

// Key returns the event's identity.
func (e Event) Key() Key { return Key{Run: e.Run, Type: e.Type, Time: e.Time.UTC()} }

// Edge is a dataset that a run's end named, for pages that show jobs and their datasets and for failed runs that repeat
// those of an earlier run.
type Edge struct {
	Namespace, Name string // of the dataset
	Output          bool   // false: an input
	// Facets is canonical JSON of what the end said of the dataset itself, as far as it holds for other runs too;
	// empty: nothing.
	Facets string `json:",omitempty"`
}

// Warning is something odd in Prefect's data that did not stop the event: one line that names the run and the
// artifact or setting and says what was done.
type Warning struct {
	Rule    string // a bounded word for metrics, such as dataset-refused
	Run     uuid.UUID
	Message string // no secrets
	Times   int    // how often it was met; 0: once
}
