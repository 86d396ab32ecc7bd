// Package composite makes one transport of several, where an event's way depends on what became of it at the first: a
// group has one position, one backoff and one error. Transports that need not know of each other are no group: each is
// a destination of its own.
package composite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

// Rule says when a group has settled an event.
type Rule uint8

// The rules.
const (
	// First tries the members in order until one has the event (continue_on_success: false).
	First Rule = iota
	// All gives the event to every member. It stands only inside another group, where members have no position of
	// their own: on a retry those that have the event get the same bytes again.
	All
	// AllInOrder gives the event to a member only when the one before it has it (continue_on_failure: false), inside
	// another group.
	AllInOrder
)

// Member is a transport and what to call it in an error.
type Member struct {
	Name      string
	Transport transport.Transport
}

// Group is a transport over its members. It is as safe for concurrent use as they are.
type Group struct {
	rule    Rule
	members []Member
}

var (
	_ transport.Transport = (*Group)(nil)
	_ transport.Prober    = (*Group)(nil)
	_ transport.Reviewer  = (*Group)(nil)
)

// New returns a group of at least one member.
func New(rule Rule, members ...Member) *Group { return &Group{rule: rule, members: members} }

// Emit sends the event by the group's rule. Where the group does not settle it, the error is the one that leaves most
// open: retry before hold before permanent, and names every member that failed.
func (g *Group) Emit(ctx context.Context, event transport.Event) error {
	var failed []failure
	for _, m := range g.members {
		err := m.Transport.Emit(ctx, event)
		if err == nil {
			if g.rule == First {
				return nil
			}
			continue
		}
		failed = append(failed, failure{m.Name, transport.ClassifyError(err)})
		if ctx.Err() != nil || g.rule == AllInOrder {
			break
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return g.verdict(failed)
}

type failure struct {
	name string
	err  *transport.Error
}

// verdict makes one error of the members'.
func (g *Group) verdict(failed []failure) *transport.Error {
	best := failed[0].err
	texts := make([]string, 0, len(failed))
	causes := make([]error, 0, len(failed))
	for _, f := range failed {
		if leavesMoreOpen(f.err, best) {
			best = f.err
		}
		texts = append(texts, f.name+": "+f.err.Error())
		causes = append(causes, f.err)
	}
	e := *best
	e.Err = &groupError{text: strings.Join(texts, "; "), causes: causes}
	return &e
}

// leavesMoreOpen orders outcomes; among two that wait, the one that may be tried sooner goes first.
func leavesMoreOpen(a, b *transport.Error) bool {
	if a.Outcome != b.Outcome {
		return a.Outcome < b.Outcome // Retry, Hold, Permanent
	}
	return a.RetryAfter < b.RetryAfter
}

// groupError keeps the members' errors on one line.
type groupError struct {
	text   string
	causes []error
}

func (e *groupError) Error() string   { return e.text }
func (e *groupError) Unwrap() []error { return e.causes }

// Close closes every member.
func (g *Group) Close(ctx context.Context) error {
	var errs []error
	for _, m := range g.members {
		if err := m.Transport.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", m.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Probe looks at every member. Of a group of which one member is enough, one must be well.
func (g *Group) Probe(ctx context.Context) (string, error) {
	var notes []string
	var failed []failure
	for _, m := range g.members {
		prober, ok := m.Transport.(transport.Prober)
		if !ok {
			continue
		}
		note, err := prober.Probe(ctx)
		if err != nil {
			failed = append(failed, failure{m.Name, transport.ClassifyError(err)})
			note = err.Error()
		}
		notes = append(notes, m.Name+": "+note)
	}
	if len(failed) > 0 && (g.rule != First || len(failed) == len(g.members)) {
		return "", g.verdict(failed)
	}
	return strings.Join(notes, "; "), nil
}

// Review says what each member makes of the event. The copies are those of the first member, which is the one that gets
// the event while nothing fails.
func (g *Group) Review(event transport.Event) transport.Review {
	var all transport.Review
	for i, m := range g.members {
		review := transport.ReviewOf(m.Transport, event)
		if i == 0 {
			all.Copies = review.Copies
		}
		for _, remark := range review.Remarks {
			all.Remarks = append(all.Remarks, m.Name+": "+remark)
		}
	}
	return all
}
