package state

import (
	"time"

	"github.com/google/uuid"
)

// Backfill is a job that a command handed to the running daemon.
type Backfill struct {
	ID int64
	// Request is an opaque JSON text of the command and the daemon.
	Request  []byte
	Stage    Stage
	Created  time.Time
	Started  time.Time // zero: not yet
	Finished time.Time // zero: not yet
	Progress Progress
	// Err says why a failed backfill failed.
	Err string
}

// Stage is how far a backfill is.
type Stage uint8

// A backfill's stages.
const (
	Waiting Stage = iota
	Working
	Done
	Failed
)

// String returns the stage's word for people and scripts.
func (s Stage) String() string {
	switch s {
	case Waiting:
		return "waiting"
	case Working:
		return "working"
	case Done:
		return "done"
	case Failed:
		return "failed"
	default:
		return "unknown"
	}
}

// Progress counts what a backfill has done so far.
type Progress struct {
	Runs     int64 `json:"runs"`     // looked at
	Enqueued int64 `json:"enqueued"` // events
	Repeated int64 `json:"repeated"` // events that were said before
	LastSeq  int64 `json:"last_seq"` // the last of its events in the outbox
	// Missing are runs that were asked for by id and that Prefect doesn't have.
	Missing []uuid.UUID `json:"missing,omitempty"`
}
