// Package transport sends OpenLineage events to their consumers and says what became of each.
package transport

import (
	"context"
	"fmt"
	"time"
)

// Event is what a transport needs to know of an event.
type Event struct {
	// Key is the event's identity as text, the same for each copy: fit for an idempotency header.
	Key       string
	RunID     string // the OpenLineage run id
	Type      string // START, RUNNING, COMPLETE, FAIL or ABORT
	Namespace string // of the job
	Name      string // of the job
	Time      time.Time
	// Body is the event as canonical JSON. A transport must not change it.
	Body []byte
}

// Transport delivers events to one consumer. Emit is called from several goroutines at once, never for two events of
// one run; it makes one delivery, and at most two quick tries at it: the caller owns every longer retry. (What makes an
// event smaller that was refused as too large, package fit, tries each smaller one.) A nil error means that the consumer
// has the event; any other is, or wraps, an *Error.
type Transport interface {
	Emit(ctx context.Context, event Event) error
	// Close releases connections. It is called once, after the last Emit has returned.
	Close(ctx context.Context) error
}

// Outcome classes what became of an attempt.
type Outcome uint8

// The outcomes of an attempt that did not deliver.
const (
	// Retry: the consumer or the way to it is in trouble; the same event may pass later.
	Retry Outcome = iota
	// Hold: the destination is set up wrongly (credentials, address, TLS, topic). No event can pass until the operator
	// mends it, and none is to blame.
	Hold
	// Permanent: this event will never be taken; others may.
	Permanent
)

// String returns the outcome's word for logs and metrics.
func (o Outcome) String() string {
	switch o {
	case Retry:
		return "retry"
	case Hold:
		return "hold"
	case Permanent:
		return "permanent"
	default:
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
}

// MaxAnswer is how much of a consumer's answer is kept, in bytes.
const MaxAnswer = 2048

// Error says why an attempt did not deliver. Its text holds no secret: no credentials, no user or password of a URL.
type Error struct {
	Outcome Outcome
	// Reason is a bounded word for metrics: timeout, connection, tls, status-503, too-large, auth, ...
	Reason string
	// Status is the HTTP status, 0 when there was none.
	Status int
	// RetryAfter is the wait that the consumer asked for, already capped; 0: none.
	RetryAfter time.Duration
	// Answer is the beginning of the consumer's answer, at most MaxAnswer bytes.
	Answer []byte
	Err    error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Outcome.String() + ": " + e.Reason
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
