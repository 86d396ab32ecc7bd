package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Trace names a queued write and what of it is asked after: aspect names by URN.
type Trace struct {
	ID      string
	Targets map[string][]string
}

// AspectStatus is what the trace of a write says of one aspect.
type AspectStatus struct {
	// Success is false where the write failed or will fail; nil where the server does not say.
	Success *bool         `json:"success"`
	Primary StorageStatus `json:"primaryStorage"`
	Search  StorageStatus `json:"searchStorage"`
}

// StorageStatus is what the trace of a write says of one store.
type StorageStatus struct {
	// Status is ERROR, PENDING, ACTIVE_STATE, HISTORIC_STATE, NO_OP, UNKNOWN or TRACE_NOT_IMPLEMENTED.
	Status  string `json:"writeStatus"`
	Message string `json:"writeMessage"`
	// Exceptions are the server's own, as it sends them.
	Exceptions json.RawMessage `json:"writeExceptions"`
}

// Failed reports whether the write was not or will not be done.
func (s AspectStatus) Failed() bool {
	return s.Success != nil && !*s.Success || s.Primary.Status == "ERROR" || s.Search.Status == "ERROR"
}

// Done reports whether no store is waited for any more. What a server does not know or can't trace counts as done.
func (s AspectStatus) Done() bool {
	return s.Primary.Status != "PENDING" && s.Search.Status != "PENDING"
}

// Status asks once what became of a queued write: the result is by URN and aspect name. Servers older than 1.0.1 can't
// say; they answer 404.
func (e *Emitter) Status(ctx context.Context, t Trace) (map[string]map[string]AspectStatus, error) {
	body, err := encode(t.Targets)
	if err != nil {
		return nil, fmt.Errorf("encoding what to ask of trace %s: %w", t.ID, err)
	}
	ans, err := e.client.do(ctx, request{
		method: http.MethodPost, path: "/openapi/v1/trace/write/" + url.PathEscape(t.ID),
		query: "onlyIncludeErrors=false&detailed=true", body: body, limit: answerWhole, whole: true,
	})
	if err != nil {
		return nil, err
	}
	var found map[string]map[string]AspectStatus
	if err := json.Unmarshal(ans.body, &found); err != nil {
		return nil, &Error{
			Op: "asking for trace " + t.ID, Status: ans.status, Attempts: ans.attempts,
			Body: clip(e.client.mask.Bytes(ans.body)), Err: fmt.Errorf("reading the answer: %w", err),
		}
	}
	return found, nil
}

// traceID returns the trace in an answer's traceparent (W3C Trace Context, 3.2), "" when there is none.
func traceID(header http.Header) string {
	parts := strings.Split(header.Get("Traceparent"), "-")
	if len(parts) < 2 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdefABCDEF") != "" {
		return ""
	}
	return parts[1]
}

// trace is a queued batch that is waited for.
type trace struct {
	id string
	// pending are the proposals by URN and aspect. One aspect may be in a batch twice.
	pending map[string]map[string][]int
}

// newTrace waits for everything that was sent, not for what the answer repeats: nothing is lost where a URN comes twice.
func newTrace(id string, b batch) *trace {
	t := &trace{id: id, pending: map[string]map[string][]int{}}
	for _, it := range b.items {
		urn, aspect := it.proposal.EntityURN, it.proposal.AspectName
		if t.pending[urn] == nil {
			t.pending[urn] = map[string][]int{}
		}
		t.pending[urn][aspect] = append(t.pending[urn][aspect], it.index)
	}
	return t
}

// targets returns what is still waited for, in a fixed order.
func (t *trace) targets() Trace {
	targets := map[string][]string{}
	for urn, aspects := range t.pending {
		for aspect := range aspects {
			targets[urn] = append(targets[urn], aspect)
		}
		slices.Sort(targets[urn])
	}
	return Trace{ID: t.id, Targets: targets}
}

// each runs f for each proposal that is still waited for.
func (t *trace) each(f func(urn, aspect string, index int)) {
	for urn, aspects := range t.pending {
		for aspect, indexes := range aspects {
			for _, index := range indexes {
				f(urn, aspect, index)
			}
		}
	}
}

// await waits for the call's traces, one after the other: time passes for all. All together take at most the timeout.
func (e *Emitter) await(ctx context.Context, c *call) {
	if len(c.awaiting) == 0 {
		return
	}
	deadline := e.config.Now().Add(c.wait.Timeout)
	first := c.wait.First
	for _, t := range c.awaiting {
		e.awaitOne(ctx, c, t, first, deadline)
		first = 0
	}
}

// awaitOne polls until all of a trace is settled, the time is up or the server can't say. The last poll is at the deadline.
func (e *Emitter) awaitOne(ctx context.Context, c *call, t *trace, wait time.Duration, deadline time.Time) {
	if c.wait.Timeout <= 0 {
		c.timeOut(t)
		return
	}
	next := c.wait.Next
	for {
		if left := deadline.Sub(e.config.Now()); wait > left {
			wait = max(left, 0)
		}
		if wait > 0 {
			if err := e.config.Sleep(ctx, wait); err != nil {
				c.giveUp(t, fmt.Errorf("waiting for the queued write: %w", err))
				return
			}
		}
		late := !e.config.Now().Before(deadline)
		found, err := e.Status(ctx, t.targets())
		if err != nil {
			c.giveUp(t, waitError(err))
			return
		}
		c.take(t, found)
		if len(t.pending) == 0 {
			return
		}
		if late {
			c.timeOut(t)
			return
		}
		wait, next = next, min(2*next, c.wait.Max)
	}
}

// waitError says of a poll's failure whether this server can be asked at all.
func waitError(err error) error {
	problem, ok := errors.AsType[*Error](err)
	if ok && (problem.Status == http.StatusNotFound || problem.Status == http.StatusMethodNotAllowed ||
		problem.Status == http.StatusNotImplemented) {
		return fmt.Errorf("%w: the write is queued, and its trace can't be asked for: %w", ErrWaitUnsupported, err)
	}
	return fmt.Errorf("the write is queued, and asking for its trace failed: %w", err)
}

// take settles what an answer says of a trace, and ignores what was not asked for.
func (c *call) take(t *trace, found map[string]map[string]AspectStatus) {
	for urn, aspects := range t.pending {
		for aspect, indexes := range aspects {
			status, ok := found[urn][aspect]
			if !ok || !status.Failed() && !status.Done() {
				continue
			}
			for _, index := range indexes {
				if status.Failed() {
					c.results[index].State = Failed
					c.results[index].Err = &TraceError{TraceID: t.id, Failures: failures(urn, aspect, status)}
				} else {
					c.results[index].State = Confirmed
				}
			}
			delete(aspects, aspect)
		}
		if len(aspects) == 0 {
			delete(t.pending, urn)
		}
	}
}

// failures returns what a status blames: the stores in error, the primary one where neither says so.
func failures(urn, aspect string, s AspectStatus) []TraceFailure {
	var all []TraceFailure
	add := func(storage string, status StorageStatus) {
		message := status.Message
		if message == "" {
			message = string(clip(status.Exceptions))
		}
		all = append(all, TraceFailure{URN: urn, Aspect: aspect, Storage: storage, Status: status.Status, Message: message})
	}
	if s.Primary.Status == "ERROR" {
		add("primary", s.Primary)
	}
	if s.Search.Status == "ERROR" {
		add("search", s.Search)
	}
	if len(all) == 0 {
		add("primary", s.Primary)
	}
	return all
}

// timeOut settles what is still waited for when the time is up.
func (c *call) timeOut(t *trace) {
	t.each(func(urn, aspect string, index int) {
		c.results[index].Err = &WaitTimeoutError{TraceID: t.id, After: c.wait.Timeout, URN: urn, Aspect: aspect}
	})
}

// giveUp settles what is still waited for when it can't be asked for.
func (c *call) giveUp(t *trace, err error) {
	t.each(func(_, _ string, index int) { c.results[index].Err = err })
}
