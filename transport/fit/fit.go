// Package fit makes events fit that are larger than their consumer takes. A run whose end never arrives looks as if it
// still ran, so an event without some of its facets is better than a dead letter.
package fit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

// Left is what an event was delivered without.
type Left struct {
	// Parts are the places of what was left out, such as run.facets.executionParameters or inputs, in the order in
	// which they went.
	Parts []string
	// From and To are the event's size before and after, in bytes.
	From, To int
}

// Transport sends events to another transport, those that are too large without some of their facets.
//
// The limit is known beforehand, or the consumer names it by refusing an event as too large. Facets are left out by
// size, the largest first: of an event over a known limit until it fits, and of one that is refused first one, then
// twice as many with each refusal, so that even an event of many facets is through within a few tries. Once all facets
// are gone the datasets go too, and what is left then is the bare run event. Which parts go depends on nothing but the
// event and the consumer's limit: a copy that is sent after a crash is the same copy.
type Transport struct {
	next   transport.Transport
	limit  int
	report func(transport.Event, Left)
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
	_ transport.Reviewer  = (*Transport)(nil)
)

// New returns a transport to next, whose consumer takes events of up to limit bytes; 0: nobody knows. Report is told of
// each event that was delivered with less in it; nil: nobody listens.
func New(next transport.Transport, limit int, report func(transport.Event, Left)) *Transport {
	if report == nil {
		report = func(transport.Event, Left) {}
	}
	return &Transport{next: next, limit: limit, report: report}
}

// Emit sends the event, smaller where it has to be. Beside the tries of the transport behind, an event that is refused
// as too large is sent again for each doubling of what is left out.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	if t.limit <= 0 || len(event.Body) <= t.limit {
		err := t.next.Emit(ctx, event)
		if !tooLarge(err) {
			return err
		}
		return t.shrink(ctx, event, err)
	}
	err := &transport.Error{
		Outcome: transport.Permanent, Reason: transport.ReasonTooLarge,
		Err: fmt.Errorf("the event has %d bytes, and the destination takes %d", len(event.Body), t.limit),
	}
	return t.shrink(ctx, event, err)
}

// Close closes the transport behind.
func (t *Transport) Close(ctx context.Context) error { return t.next.Close(ctx) }

// Probe looks at the transport behind.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	if prober, ok := t.next.(transport.Prober); ok {
		return prober.Probe(ctx)
	}
	return "can't be tried without sending an event", nil
}

// Review says what the transport behind makes of the event, and what is left out of one that is over the limit.
func (t *Transport) Review(event transport.Event) transport.Review {
	if t.limit <= 0 || len(event.Body) <= t.limit {
		return transport.ReviewOf(t.next, event)
	}
	remark := fmt.Sprintf("larger than the %d bytes that the consumer takes", t.limit)
	parts, err := take(event.Body)
	if err == nil {
		parts.leaveOut(1) // as Emit does, whatever another way of writing the same event saves
		event.Body, err = parts.fitting(t.limit)
	}
	if err != nil {
		return transport.Review{Remarks: []string{remark + ", and can't be made smaller: it would be a dead letter"}}
	}
	review := transport.ReviewOf(t.next, event)
	review.Remarks = append([]string{remark + ": goes without " + strings.Join(parts.left, ", ")}, review.Remarks...)
	return review
}

// shrink leaves more and more out until the event passes. Where nothing is left to leave out the last refusal counts.
func (t *Transport) shrink(ctx context.Context, event transport.Event, refusal error) error {
	parts, err := take(event.Body)
	if err != nil {
		return refusal // no event that could be taken apart: it has to stay as it is
	}
	from := len(event.Body)
	for step := 1; ; step *= 2 {
		if !parts.leaveOut(step) {
			return refusal
		}
		body, err := parts.fitting(t.limit)
		if err != nil {
			return refusal
		}
		event.Body = body
		err = t.next.Emit(ctx, event)
		if err == nil {
			t.report(event, Left{Parts: parts.left, From: from, To: len(body)})
			return nil
		}
		if !tooLarge(err) {
			return err
		}
		refusal = err
	}
}

// tooLarge says whether an event was refused for its size and no other reason.
func tooLarge(err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	return ok && e.Outcome == transport.Permanent && e.Reason == transport.ReasonTooLarge
}
