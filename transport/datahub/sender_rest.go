package datahub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// restSender hands proposals to DataHub's server.
type restSender struct{ emitter *rest.Emitter }

var _ Sender = restSender{}

// Send sends proposals in the emitter's mode.
func (r restSender) Send(ctx context.Context, proposals []mcp.Proposal) []error {
	results, _ := r.emitter.EmitAll(ctx, proposals) // its error only counts the results' errors
	errs := make([]error, len(results))
	for i, result := range results {
		if result.Err != nil {
			errs[i] = restError(result.Err)
		}
	}
	return errs
}

// Probe asks the server what it is, which shows the token too where the server checks one for that.
func (r restSender) Probe(ctx context.Context) (string, error) {
	server, err := r.emitter.TestConnection(ctx)
	if err != nil {
		return "", restError(fmt.Errorf("asking DataHub what it is: %w", err))
	}
	version := server.Version
	if version == "" {
		version = "of an unknown version"
	}
	return fmt.Sprintf("%s is DataHub %s; whether the token may write is only shown by an event", r.emitter.Server(), version), nil
}

// Close gives the connections back.
func (r restSender) Close(context.Context) error { return r.emitter.Close() }

// restError says what an emitter's error means for the event.
func restError(err error) error {
	class := func(outcome transport.Outcome, reason string) error {
		return &transport.Error{Outcome: outcome, Reason: reason, Err: err}
	}
	if _, ok := errors.AsType[*mcp.ValidationError](err); ok {
		return class(transport.Permanent, transport.ReasonRefused)
	}
	if failed, ok := errors.AsType[*rest.TraceError](err); ok {
		return class(traceOutcome(failed), transport.ReasonRefused)
	}
	if _, ok := errors.AsType[*rest.WaitTimeoutError](err); ok {
		return class(transport.Retry, transport.ReasonTimeout) // it may still be done; sending it again changes nothing
	}
	switch {
	case errors.Is(err, rest.ErrWaitUnsupported):
		return class(transport.Hold, transport.ReasonOther)
	case errors.Is(err, rest.ErrNotGMS):
		return class(transport.Hold, transport.ReasonNotAPI)
	case errors.Is(err, rest.ErrClosed):
		return class(transport.Retry, transport.ReasonCancelled)
	}
	problem, ok := errors.AsType[*rest.Error](err)
	if !ok || problem.Status == 0 {
		e := *transport.ClassifyError(err)
		e.Err = err
		return &e
	}
	return statusError(problem, err)
}

// statusError classes an answer as all transports over HTTP do. What was not sent because of it fares the same.
func statusError(problem *rest.Error, err error) error {
	header := http.Header{}
	if problem.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int((problem.RetryAfter+time.Second-1)/time.Second)))
	}
	e := transport.Classify(transport.Answer{Status: problem.Status, Header: header, Body: problem.Body})
	if e == nil { // an answer that was cut off behind a good status
		e = &transport.Error{Outcome: transport.Retry, Reason: transport.ReasonConnection, Status: problem.Status}
	}
	if errors.Is(err, rest.ErrUnsent) && e.Outcome == transport.Permanent {
		e.Outcome = transport.Retry // what was refused is another proposal
	}
	e.Err = err
	return e
}

// traceOutcome says what a write that DataHub queued and then failed at means. What the primary store refused it will
// refuse again; the search index may have been away.
func traceOutcome(failed *rest.TraceError) transport.Outcome {
	for _, f := range failed.Failures {
		if f.Storage == "primary" {
			return transport.Permanent
		}
	}
	return transport.Retry
}
