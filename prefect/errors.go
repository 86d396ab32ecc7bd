package prefect

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Errors that callers branch on. All come wrapped in an *Error that says more.
var (
	// ErrNotFound: the server has no such row. It is only said where the answer is Prefect's own; a proxy's 404 or a
	// wrong address is ErrNotPrefect, so that a mistyped URL never looks like deleted runs.
	ErrNotFound = errors.New("not found")
	// ErrUnauthorized: the server, or a proxy before it, refuses the credentials (401, 403, 407).
	ErrUnauthorized = errors.New("not authorized")
	// ErrNotPrefect: something answers that is no Prefect API.
	ErrNotPrefect = errors.New("not a Prefect API")
	// ErrRefused: the server refuses the request itself (400, 422 and other 4xx); the same request never passes.
	ErrRefused = errors.New("request refused")
	// ErrUnknownField: the server is too old for a filter or a sort order, which Error.Fields names. It is an
	// ErrRefused too.
	ErrUnknownField = errors.New("field unknown to this server")
	// ErrTimeout: no whole answer came within the time for a request. A narrower query may pass.
	ErrTimeout = errors.New("no answer in time")
	// ErrTooLarge: the request (413), or the answer for a single row, is larger than allowed.
	ErrTooLarge = errors.New("too large")
	// ErrUnavailable: the server or the way to it is in trouble (network, TLS, 408, 425, 429, 5xx, half an answer). The
	// same request may pass later.
	ErrUnavailable = errors.New("server unavailable")
)

// Error says what became of a request. Its text holds no secret: no credentials, no user or password of a URL.
type Error struct {
	// Kind is one of the errors above.
	Kind   error
	Method string
	Path   string // below the API's address, such as /task_runs/filter
	// Reason is a bounded word for metrics: status-503, timeout, connection, dns, proxy, tls, truncated, not-json,
	// not-prefect, too-large, unhealthy.
	Reason string
	// Status is the HTTP status, 0 when there was none.
	Status int
	// RetryAfter is the wait that the server asked for, capped at MaxRetryAfter; 0: none. The client has sat out the
	// ones up to a minute before it gave up.
	RetryAfter time.Duration
	// Detail is the server's own sentence, else the beginning of its answer.
	Detail string
	// Hint says what to check, where that is known.
	Hint string
	// Fields are the fields that the server doesn't know, such as task_runs.end_time, or sort.
	Fields []string
	// Err is the cause where there was no answer.
	Err error

	pageLimit int    // the most rows that the server gives, where it said so
	begin     []byte // of an answer that is too large
}

// Error gives the request, the status, the server's words and the hint, in one line.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s: %v", e.Method, e.Path, e.Kind)
	if e.Status != 0 {
		text.WriteString(": " + strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))))
	}
	if e.Detail != "" {
		text.WriteString(": " + e.Detail)
	}
	if e.Err != nil {
		text.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		text.WriteString(" (" + e.Hint + ")")
	}
	return text.String()
}

// Is says whether the error is of the kind that target names.
func (e *Error) Is(target error) bool {
	return target == e.Kind || (target == ErrRefused && e.Kind == ErrUnknownField)
}

// Unwrap returns the cause, nil when the server answered.
func (e *Error) Unwrap() error { return e.Err }

// RowError is a row that was asked for by id, is there, and can't be understood.
type RowError struct {
	Row BadRow
}

func (e *RowError) Error() string {
	return fmt.Sprintf("reading %s %s: %s", e.Row.Resource, e.Row.ID, e.Row.Reason)
}
