package state

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
)

// Errors that callers branch on.
var (
	// ErrLocked: another process runs as the daemon of this store. The error's text names its pid.
	ErrLocked = errors.New("the store is in use by another listener")
	// ErrDamaged: the store is broken or has been emptied behind the listener's back.
	ErrDamaged = errors.New("the store is damaged")
	// ErrNewer: the store was written by a newer version.
	ErrNewer = errors.New("the store belongs to a newer version")
	// ErrFull: the disk or the store's limit is reached; the same write may pass later.
	ErrFull = errors.New("the store cannot be written for now")
	// ErrFatalIO: the disk failed (EIO). Nothing more may be written by this process.
	ErrFatalIO = errors.New("the store's disk failed")
	// ErrBusy: another process kept the store locked for longer than a write waits; the same write may pass later.
	ErrBusy = errors.New("the store is busy")
	// ErrUnknown: the store has no destination, dead letter or backfill of that name or number.
	ErrUnknown = errors.New("not in the store")
	// ErrNone: a command finds no store. The daemon makes one when it starts.
	ErrNone = errors.New("there is no store yet")
)

// Batch is what one transaction writes.
type Batch struct {
	// Told are ledger entries, inserted or replaced by their ID.
	Told []adapter.Told
	// Events go to the outbox, in this order, with one delivery row for each of Destinations. An event whose key is
	// already in the outbox or was delivered is left out and counted, unless Resend is set.
	Events []adapter.Event
	Edges  map[uuid.UUID][]adapter.Edge // by run: the datasets its end named
	// Destinations limits the deliveries to these names. Nil: every destination that is registered and not parked.
	Destinations []string
	Resend       bool
	// Quarantine are rows that could not be read, kept raw.
	Quarantine []BadRow
	// Cursors are reading positions by name, each an opaque JSON text of its owner.
	Cursors map[string][]byte
}

// MaxGoodEdges is how many datasets of a job's last good run are kept at most. Of a run that named more none are: half
// of them would be a lie.
const MaxGoodEdges = 2000

// Committed says what a transaction wrote.
type Committed struct {
	Enqueued, Repeated int // events
	// LastSeq is the highest place in the outbox that this transaction gave; 0: none. Once no destination's OldestSeq
	// is at or below it, all of the transaction is settled.
	LastSeq int64
}

// BadRow is an API row or artifact that could not be understood.
type BadRow struct {
	Resource string // flow_runs, task_runs, artifacts, ...
	ID       string // as far as known
	Reason   string
	Raw      []byte
	Seen     time.Time
}

// OpenRun is a run of which something was said and no end.
type OpenRun struct {
	ID        uuid.UUID
	Kind      adapter.Kind
	FirstSaid time.Time // the listener's clock, when its first event was stored
	Checked   time.Time // when it was last read by id; zero: never
	Missed    time.Time // server time of the first 404; zero: none
}

// Acquaintance is a run that was told about: a Prefect that has it is the one that the store was filled from.
type Acquaintance struct {
	ID     uuid.UUID
	Kind   adapter.Kind
	FlowID uuid.UUID // zero: none
	Said   time.Time // the listener's clock, when its first event was stored
}

// OrphanTask is a task run without an end and its flow run, which has one.
type OrphanTask struct {
	Task, Flow adapter.Told
}

// Destination is a consumer that events are delivered to, as the store knows it.
type Destination struct {
	// Name is its identity over restarts: the configured name, else type and target without secrets.
	Name   string
	Kind   string // http, file, ...
	Parked bool   // left the settings, or an operator parked it: its rows wait
	// After names the destination that must have an event before this one gets it; the other's dead letter skips the
	// event here. Empty: none.
	After string
}

// Delivery is one event that is due at one destination.
type Delivery struct {
	Seq      int64 // the event's place in the outbox
	Event    adapter.Event
	Attempts int // so far
	Enqueued time.Time
	// Probe history lets the deliverer tell an event that alone is refused from a destination that is down.
	LastReason string
}

// Settlement is what became of one attempt.
type Settlement struct {
	Seq     int64
	Verdict Verdict
	// Due is the earliest next attempt, for Again.
	Due time.Time
	// Reason, Status and Answer (at most 2 kB) go with Again and Dead.
	Reason string
	Status int
	Answer []byte
}

// Verdict is the deliverer's decision about an attempt.
type Verdict uint8

// The verdicts.
const (
	Delivered Verdict = iota // done
	Again                    // stays pending until Due
	Dead                     // becomes a dead letter; the run's later events go on
	Skipped                  // settled without being sent (a group's earlier member refused it)
)

// DestinationStatus is how a destination stands.
type DestinationStatus struct {
	Destination
	Pending, Dead int64
	OldestPending time.Time // when the oldest pending event was enqueued; zero: none
	OldestSeq     int64     // its place in the outbox; 0: none
	LastDelivered time.Time // zero: never
	// Gone: it is not among the destinations that were registered last.
	Gone bool
	// ParkedSince is when an operator parked it; events said since then are not in its outbox. Zero: not parked so.
	ParkedSince time.Time
	// Trouble is how delivery to it failed when a daemon last said so.
	Trouble Trouble
}

// Size is how much room the store takes.
type Size struct {
	Events      int64 // in the outbox, dead letters included
	OutboxBytes int64 // what the bodies of those events take on disk
	Database    int64 // the files, in bytes
	Free        int64 // reusable within the files, in bytes
	Log         int64 // the part of Free that lies in the write-ahead log, in bytes
	DiskFree    int64 // left on the disk for this user, in bytes
}

// Owner is the Prefect that the store's contents were read from.
type Owner struct {
	API string // its URL, without credentials
	// Since is when the store was first filled from it, by the listener's clock. Runs that were told about before belong
	// to another Prefect.
	Since time.Time
}

// Purged says what a purge removed.
type Purged struct {
	Runs int  // ledger entries
	More bool // there is more to remove at once
}
