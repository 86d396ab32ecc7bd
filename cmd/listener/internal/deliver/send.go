package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

// sendTimeout ends an attempt whose transport has no time limit of its own, or a very long one.
const sendTimeout = 2 * time.Minute

// Why a send was cancelled.
var (
	errStopping = errors.New("the listener stops")
	errTooLong  = errors.New("no answer within the longest time an attempt may take")
)

// result is a send that has ended.
type result struct {
	delivery state.Delivery
	probe    bool
	took     time.Duration
	fault    *transport.Error // nil: delivered
	// cancelled sends were broken off by the shutdown. Nobody knows what became of the event, so it stays as it was.
	cancelled bool
}

// TransportEvent is an event as transports see it. Its key is a UUID of 36 characters that is the same for every copy
// of the event.
func TransportEvent(e adapter.Event) transport.Event {
	identity := string(e.Type) + " " + e.Time.UTC().Format(time.RFC3339Nano)
	return transport.Event{
		Key:       uuid.NewSHA1(e.Run, []byte(identity)).String(),
		RunID:     e.Job.RunID.String(),
		Type:      string(e.Type),
		Namespace: e.Job.Namespace,
		Name:      e.Job.Name,
		Time:      e.Time,
		Body:      e.Body,
	}
}

// send makes one attempt.
func send(ctx context.Context, to transport.Transport, d state.Delivery, probe bool) result {
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, sendTimeout, errTooLong)
	defer cancel()
	err := emit(limited, to, TransportEvent(d.Event))
	r := result{delivery: d, probe: probe, took: time.Since(began)}
	if err == nil {
		return r
	}
	if ctx.Err() != nil {
		r.cancelled = true
		return r
	}
	r.fault = faultOf(err)
	return r
}

// faultOf returns the *transport.Error inside err. A transport that breaks its contract is treated as one in trouble;
// the text of such an error is not repeated, because nobody has seen to it that no secret is in it.
func faultOf(err error) *transport.Error {
	if fault, ok := errors.AsType[*transport.Error](err); ok && fault.Outcome <= transport.Permanent {
		return fault
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &transport.Error{Outcome: transport.Retry, Reason: transport.ReasonTimeout, Err: errTooLong}
	}
	return &transport.Error{
		Outcome: transport.Retry, Reason: transport.ReasonOther, Err: fmt.Errorf("unclassified error of type %T", err),
	}
}

// emit calls the transport. A transport that panics over one event must not end the daemon again and again: the event
// alone is made to answer for it, as for any failure that comes back while others pass.
func emit(ctx context.Context, to transport.Transport, event transport.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &transport.Error{
				Outcome: transport.Retry, Reason: transport.ReasonOther,
				Err: fmt.Errorf("the transport panicked with a %T", p),
			}
		}
	}()
	return to.Emit(ctx, event)
}
