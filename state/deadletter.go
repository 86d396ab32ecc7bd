package state

import (
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
)

// Attempt is one try at a delivery that failed.
type Attempt struct {
	Number int // from 1
	At     time.Time
	Reason string
	Status int // HTTP status, 0 when there was none
}

// MaxAttemptsKept is how many of an event's last attempts at one destination are remembered.
const MaxAttemptsKept = 10

// MaxAnswer is how much of a consumer's answer a dead letter keeps, in bytes.
const MaxAnswer = 2048

// DeadLetter is an event that one destination will never take as it is.
type DeadLetter struct {
	ID          int64
	Destination string
	Seq         int64 // the event's place in the outbox
	// Event is what was refused. A list leaves its Body out.
	Event    adapter.Event
	Enqueued time.Time
	Died     time.Time
	Attempts int
	Reason   string
	Status   int
	Answer   []byte
	// History are the last attempts, oldest first. A list leaves it out.
	History []Attempt
}

// DeadFilter picks dead letters; a zero field does not narrow.
type DeadFilter struct {
	IDs         []int64
	Destination string
	Reason      string
	Run         uuid.UUID // Prefect's id of the run
	Namespace   string    // of the job
	Job         string    // the job's name
	Since       time.Time // died at or after
	Until       time.Time // and before
	// After is the last ID of the page before; Limit the page's size, 100 where it is 0.
	After int64
	Limit int
}
