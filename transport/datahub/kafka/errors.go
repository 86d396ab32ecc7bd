package kafka

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// What can become of a proposal beside delivery. A callback's error is or wraps one of these, a *mcp.ValidationError, or
// an error of franz-go's kerr with what the broker said.
var (
	// ErrClosed: the emitter was closed before the broker had acknowledged the proposal. It may be there all the same when
	// it was on its way.
	ErrClosed = errors.New("the emitter is closed")
	// ErrBufferFull is what a *BufferFullError is.
	ErrBufferFull = errors.New("the emitter's buffer is full")
	// ErrTimeout is what a *TimeoutError is.
	ErrTimeout = errors.New("not delivered in time")
	// ErrTooLarge is what a *TooLargeError is.
	ErrTooLarge = errors.New("the proposal is too large")
)

// BufferFullError says that there was no room for a proposal, which was not queued: as many wait as
// queue.buffering.max.messages and queue.buffering.max.kbytes allow.
type BufferFullError struct {
	// Records and Bytes are what waits, keys and values together; the others are the limits.
	Records, MaxRecords int
	Bytes, MaxBytes     int
	// Waited is how long Emit waited for room, max_queue_full_block_seconds at most.
	Waited time.Duration
}

func (e *BufferFullError) Error() string {
	text := fmt.Sprintf("the buffer is full: %d of %d proposals, %d of %d bytes wait for the broker or the schema registry",
		e.Records, e.MaxRecords, e.Bytes, e.MaxBytes)
	if e.Waited > 0 {
		text += fmt.Sprintf("; no room within %s", e.Waited)
	}
	return text
}

// Is makes errors.Is(err, ErrBufferFull) true.
func (e *BufferFullError) Is(target error) bool { return target == ErrBufferFull }

// TooLargeError says that a proposal is larger than what may be sent or what the topic takes.
type TooLargeError struct {
	// Bytes is the size of key and value, Limit that of message.max.bytes.
	Bytes, Limit int
	// Err is the broker's answer; nil where the proposal was not sent.
	Err error
}

func (e *TooLargeError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the topic does not take a proposal of %d bytes (its max.message.bytes says how many): %v", e.Bytes, e.Err)
	}
	return fmt.Sprintf("the proposal has %d bytes, more than message.max.bytes, %d; raise it together with max.message.bytes of the topic",
		e.Bytes, e.Limit)
}

// Is makes errors.Is(err, ErrTooLarge) true.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// Unwrap returns the broker's answer.
func (e *TooLargeError) Unwrap() error { return e.Err }

// TimeoutError says that a proposal was given up after message.timeout.ms. The broker may have it all the same when only
// its answer was lost.
type TimeoutError struct {
	After time.Duration
	// Err says what was in the way.
	Err error
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("not delivered within %s: %v", e.After, e.Err)
}

// Is makes errors.Is(err, ErrTimeout) true.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// Unwrap returns what was in the way.
func (e *TimeoutError) Unwrap() error { return e.Err }

// RegistryError says why the schema registry gave no id. Its text holds no credential.
type RegistryError struct {
	// URL is the registry's address, without user and password.
	URL string
	// StatusCode is the HTTP status, 0 when there was no answer. Code and Message are the registry's own.
	StatusCode, Code int
	Message          string
	// Err is the cause where there was no answer.
	Err error
}

func (e *RegistryError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("asking the schema registry at %s: %v", e.URL, e.Err)
	case e.Message != "":
		return fmt.Sprintf("the schema registry at %s answered with %d: %s", e.URL, e.StatusCode, e.Message)
	default:
		return fmt.Sprintf("the schema registry at %s answered with %d", e.URL, e.StatusCode)
	}
}

// Unwrap returns the cause.
func (e *RegistryError) Unwrap() error { return e.Err }

// Temporary reports whether asking again may help: no answer, an overload, or a server that is not (yet) a registry. For
// the rest an operator has to mend something.
func (e *RegistryError) Temporary() bool {
	switch {
	case e.StatusCode == 0, e.StatusCode >= 500:
		return true
	case e.StatusCode >= 200 && e.StatusCode < 300: // a page of something that stands in front
		return true
	default:
		// 404 without a code of the API's own for a subject or a schema: what answers is not a registry, or not yet.
		return e.StatusCode == http.StatusNotFound && e.Code < 40400 || e.StatusCode == http.StatusRequestTimeout ||
			e.StatusCode == http.StatusTooEarly || e.StatusCode == http.StatusTooManyRequests
	}
}

// UnsettledError says how many proposals had no outcome yet when a Flush or Close gave up waiting.
type UnsettledError struct {
	Left int
	Err  error // why the wait ended, such as context.DeadlineExceeded
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("%d proposals are not settled: %v", e.Left, e.Err)
}

// Unwrap returns why the wait ended.
func (e *UnsettledError) Unwrap() error { return e.Err }
