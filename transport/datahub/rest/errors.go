package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport"
)

var (
	// ErrNotGMS says that the address leads to something else, mostly DataHub's web page or a proxy's login.
	ErrNotGMS = errors.New("this is not DataHub's metadata service: set the server to GMS (mostly <host>:8080) or to its" +
		" way through the frontend (<host>:9002/api/gms; DataHub Cloud: https://<name>.acryl.io/gms)")
	// ErrWaitUnsupported says that the server can't tell what a mode waits for. Config.AllowDegraded sends all the same.
	ErrWaitUnsupported = errors.New("this server can't do what the emit mode waits for")
	// ErrUnsent says that a proposal was not sent since an earlier one of the call met a trouble that would have met it too.
	ErrUnsent = errors.New("not sent, since an earlier request failed")
	// ErrClosed says that the emitter was closed.
	ErrClosed = errors.New("the emitter is closed")
)

// Error says why a request did not succeed. Its text and fields hold no credentials.
type Error struct {
	// Op is the request: method and address.
	Op string
	// Status of the last answer; 0: there was none.
	Status int
	// Message is what DataHub says, from its JSON; "" when the answer has none.
	Message string
	// Body is the beginning of the answer without DataHub's stack trace, at most transport.MaxAnswer bytes.
	Body []byte
	// RetryAfter is the wait that the last answer asked for; 0: none.
	RetryAfter time.Duration
	// Attempts is how often the request was made.
	Attempts int
	// Retryable says that the same request may pass later.
	Retryable bool
	// Hint says what to look at; may be "".
	Hint string
	// Err is the cause where there was no answer, and ErrNotGMS where something else answered.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": answered %s", transport.StatusLine(e.Status))
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (after %d tries)", e.Attempts)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// refused reports whether the answer is about what was sent: other proposals may pass now, this one will not.
func (e *Error) refused() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return !errors.Is(e.Err, ErrNotGMS)
	default:
		return false
	}
}

// tooOld is what GMS answers to a field that it does not know.
const tooOld = "unrecognized field found but not allowed"

// hint returns what to look at after an answer.
func hint(status int, message string) string {
	switch {
	case strings.Contains(message, tooOld):
		return "the server is likely older than what was sent"
	case status == http.StatusUnauthorized:
		return "the token is missing, wrong or expired"
	case status == http.StatusForbidden:
		return "the token's owner may not write this"
	case status == http.StatusRequestEntityTooLarge:
		return "raise the limit of the server or of the proxy before it"
	default:
		return ""
	}
}

// TraceFailure is one aspect that a server took and then could not write.
type TraceFailure struct {
	URN, Aspect string
	// Storage is primary or search, Status what the trace says of it, such as ERROR.
	Storage, Status string
	// Message is the server's; may be "".
	Message string
}

// TraceError says which aspects of a queued write failed.
type TraceError struct {
	TraceID  string
	Failures []TraceFailure
}

func (e *TraceError) Error() string {
	parts := make([]string, 0, len(e.Failures))
	for _, f := range e.Failures {
		part := fmt.Sprintf("%s of %s: %s storage %s", f.Aspect, f.URN, f.Storage, f.Status)
		if f.Message != "" {
			part += ": " + f.Message
		}
		parts = append(parts, part)
	}
	return "the server queued the write and then failed at it (trace " + e.TraceID + "): " + strings.Join(parts, "; ")
}

// WaitTimeoutError says that a queued write was not confirmed in time. It may still be done.
type WaitTimeoutError struct {
	TraceID string
	After   time.Duration
	// URN and Aspect are what was waited for.
	URN, Aspect string
}

func (e *WaitTimeoutError) Error() string {
	return fmt.Sprintf("%s of %s was queued and is not confirmed after %s (trace %s)", e.Aspect, e.URN, e.After, e.TraceID)
}

// Timeout reports true, as the timeouts of package net do.
func (e *WaitTimeoutError) Timeout() bool { return true }

// BatchError says how many proposals of an EmitAll did not get what their mode asks for. The results say which and why.
type BatchError struct {
	Total int
	// Failed, Unknown, Unconfirmed and Unsent count the results that have an error by their states; Unconfirmed are Queued.
	Failed, Unknown, Unconfirmed, Unsent int
	// First is the first error in the order of the proposals.
	First error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("of %d proposals %d failed, %d have an unknown fate, %d are unconfirmed, %d were not sent; the first: %s",
		e.Total, e.Failed, e.Unknown, e.Unconfirmed, e.Unsent, e.First)
}

// Unwrap returns the first error.
func (e *BatchError) Unwrap() error { return e.First }
