package prefect

import (
	"time"

	"github.com/google/uuid"
)

// MaxPage is the most rows that a stock server gives in one page.
const MaxPage = 200

// Filter is the body of a list call. Filters on several kinds combine, as in "task runs of these flow runs".
type Filter struct {
	Limit       int            `json:"limit"` // 1 to MaxPage
	Offset      int            `json:"offset"`
	Sort        string         `json:"sort,omitempty"` // such as END_TIME_DESC; the server's default when empty
	FlowRuns    *RunFilter     `json:"flow_runs,omitempty"`
	TaskRuns    *RunFilter     `json:"task_runs,omitempty"`
	Artifacts   *ArtifactQuery `json:"artifacts,omitempty"`
	Flows       *IDFilter      `json:"flows,omitempty"`
	Deployments *IDFilter      `json:"deployments,omitempty"`
}

// RunFilter chooses flow runs or task runs. Every field that is set must hold.
type RunFilter struct {
	ID        *AnyID       `json:"id,omitempty"`
	FlowRunID *AnyID       `json:"flow_run_id,omitempty"` // task runs only
	State     *StateFilter `json:"state,omitempty"`
	StartTime *Window      `json:"start_time,omitempty"`
	EndTime   *Window      `json:"end_time,omitempty"` // flow runs on 3.x; task runs on the newest 3.x only
	// ExpectedStartTime is known for task runs on 3.x only.
	ExpectedStartTime *Window `json:"expected_start_time,omitempty"`
}

// IDFilter chooses flows or deployments by id or name.
type IDFilter struct {
	ID   *AnyID   `json:"id,omitempty"`
	Name *AnyText `json:"name,omitempty"`
}

// ArtifactQuery chooses artifacts.
type ArtifactQuery struct {
	FlowRunID *AnyID   `json:"flow_run_id,omitempty"`
	TaskRunID *AnyID   `json:"task_run_id,omitempty"`
	Type      *AnyText `json:"type,omitempty"`
}

// AnyID matches a row whose id is one of these.
type AnyID struct {
	Any []uuid.UUID `json:"any_"`
	// IsNull matches rows without this id instead. Servers know it for a task run's flow run only.
	IsNull *bool `json:"is_null_,omitempty"`
}

// AnyText matches a row whose text is one of these.
type AnyText struct {
	Any []string `json:"any_"`
}

// StateFilter matches runs whose state has one of these types.
type StateFilter struct {
	Type struct {
		Any []StateType `json:"any_"`
	} `json:"type"`
}

// Window matches runs whose time lies in it, both ends included. A nil end is open. For a flow run without a start
// time, newer servers look at the expected start time instead.
type Window struct {
	After  *time.Time `json:"after_,omitempty"`
	Before *time.Time `json:"before_,omitempty"`
	IsNull *bool      `json:"is_null_,omitempty"` // true: only runs without this time; false: only those with it
}

// Page is one answer of a list call.
type Page[T any] struct {
	Rows []T
	// Bad are the rows that could not be read; the others are good.
	Bad []BadRow
	// Served is the server's clock when it answered (its Date header; whole seconds). Zero: it sent none.
	Served time.Time
}

// Full says whether the page holds as many rows as were asked for, so that another may follow.
func (p Page[T]) Full(limit int) bool { return len(p.Rows)+len(p.Bad) >= limit }

// BadRow is a row that could not be understood, kept as it came.
type BadRow struct {
	Resource string // the list it came from, such as task_runs
	ID       string // the row's id where it could be read
	Reason   string
	Raw      []byte
}
