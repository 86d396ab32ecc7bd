package deliver_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/transport"
)

// sink is a transport that answers as its script says and remembers every attempt.
type sink struct {
	name   string
	outbox *fakeOutbox
	// answer says what becomes of an attempt; nil: delivered.
	answer func(ctx context.Context, a seen) error

	mu       sync.Mutex
	attempts []seen
	tries    map[string]int
	under    int
	most     int // attempts under way at once
}

// seen is an attempt as the sink saw it.
type seen struct {
	n     int // of all attempts, from 1
	try   int // of this event, from 1
	at    time.Time
	event transport.Event
	ok    bool
}

func (s *sink) Emit(ctx context.Context, event transport.Event) error {
	run := uuid.MustParse(event.RunID)
	s.outbox.begin(s.name, run, adapter.EventType(event.Type), event.Time)
	defer s.outbox.end(s.name, run)
	now := s.enter(event)
	var err error
	if s.answer != nil {
		err = s.answer(ctx, now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
	s.attempts[now.n-1].ok = err == nil
	return err
}

func (s *sink) enter(event transport.Event) seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries == nil {
		s.tries = map[string]int{}
	}
	s.tries[event.Key]++
	now := seen{n: len(s.attempts) + 1, try: s.tries[event.Key], at: time.Now(), event: event}
	s.attempts = append(s.attempts, now)
	s.under++
	s.most = max(s.most, s.under)
	return now
}

func (s *sink) Close(context.Context) error { return nil }

func (s *sink) seen() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.attempts...)
}

// The faults that scripts use.
func fault(outcome transport.Outcome, reason string, status int) *transport.Error {
	return &transport.Error{Outcome: outcome, Reason: reason, Status: status, Err: errors.New("answered " + reason)}
}

func unavailable() error { return fault(transport.Retry, "status-503", 503) }
func refused() error     { return fault(transport.Retry, transport.ReasonConnection, 0) }
func unauthorized() error {
	return fault(transport.Hold, transport.ReasonAuth, 401)
}
func badRequest() error {
	e := fault(transport.Permanent, "status-400", 400)
	e.Answer = []byte("no such facet")
	return e
}
func slowDown(after time.Duration) error {
	e := fault(transport.Retry, "status-429", 429)
	e.RetryAfter = after
	return e
}

// runEvents returns the two events of a run.
func runEvents(run, ancestor uuid.UUID, name string) []adapter.Event {
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	event := func(t adapter.EventType, at time.Time, first bool) adapter.Event {
		return adapter.Event{
			Run: run, Ancestor: ancestor, First: first, Type: t, Time: at,
			Job:  adapter.RunRef{RunID: run, Namespace: "default", Name: name},
			Body: []byte(`{"run":"` + run.String() + `","eventType":"` + string(t) + `"}`),
		}
	}
	return []adapter.Event{event(adapter.Start, at, true), event(adapter.Complete, at.Add(time.Minute), false)}
}

// runID returns a run's id by its number.
func runID(n int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(n >> 16), byte(n >> 8), byte(n)})
}

// separateRuns returns the events of n runs that have nothing to do with each other.
func separateRuns(n int) []adapter.Event {
	var events []adapter.Event
	for i := range n {
		events = append(events, runEvents(runID(i), uuid.Nil, "job")...)
	}
	return events
}

// family returns the events of a flow run with n task runs, whose end comes last.
func family(first, n int) []adapter.Event {
	flow := runEvents(runID(first), uuid.Nil, "flow")
	events := flow[:1:1]
	for i := range n {
		events = append(events, runEvents(runID(first+1+i), runID(first), "flow.task")...)
	}
	return append(events, flow[1])
}
