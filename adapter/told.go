package adapter

import (
	"time"

	"github.com/google/uuid"
)

// Kind says which kind of Prefect run a ledger entry is about.
type Kind uint8

// The kinds of runs.
const (
	FlowRun Kind = 1
	TaskRun Kind = 2
)

// Phase is how far a run's story has been told.
type Phase uint8

// A run's phases. An Ended run that comes alive again is Open once more.
const (
	Unsaid Phase = 0 // nothing said yet
	Open   Phase = 1 // something said, no end said
	Ended  Phase = 2 // an end said
)

// RunRef names a run and its job as events name them.
type RunRef struct {
	RunID     uuid.UUID
	Namespace string
	Name      string
}

// Told is the ledger's entry for one run: the facts that its first event fixed, and what has been said so far.
type Told struct {
	// ID is Prefect's id of the run, which is the entry's key.
	ID   uuid.UUID
	Kind Kind

	// Pinned at the first event; every later event repeats them whatever Prefect or the settings say by then.
	Run       RunRef
	Parent    *RunRef   // nil: no parent
	Root      *RunRef   // nil: no parent
	Ancestor  uuid.UUID // Prefect id of the nearest told ancestor, whose first event goes first; zero: none
	JobFacets []byte    // canonical JSON of the job's facets
	// Ruling says whether the run is told about. Of one that is not, Parent, Root and Ancestor are those that runs
	// inside it have: of the nearest run above that is told about.
	Ruling Ruling

	// Where the run belongs, for its children and for looking up names. Zero: none.
	FlowRunID    uuid.UUID // a task run's flow run; a subflow's parent flow run
	FlowID       uuid.UUID // a flow run's flow, or that of the task run's flow run
	DeploymentID uuid.UUID // likewise

	Phase    Phase
	Start    time.Time // eventTime of START; zero: no START said
	EndType  EventType // the last end said
	End      time.Time // its eventTime
	Inferred bool      // the last end was inferred, not read
	Missed   time.Time // server time of the first 404 since the run was last seen; zero: none
	Named    uint64    // a fingerprint of the datasets that the last end named; zero: none
}
