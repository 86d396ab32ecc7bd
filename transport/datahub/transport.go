package datahub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// DefaultResend is after how long DataHub is told again what it was told.
const DefaultResend = 24 * time.Hour

// Sender sends proposals to DataHub. It is safe for concurrent use.
type Sender interface {
	// Send sends proposals in order and returns as many errors, nil for each proposal that DataHub has. An error is, or
	// wraps, a *transport.Error.
	Send(ctx context.Context, proposals []mcp.Proposal) []error
	// Probe is that of transport.Prober.
	Probe(ctx context.Context) (string, error)
	// Close releases connections. It is called once.
	Close(ctx context.Context) error
}

// Transport tells DataHub of events. It is safe for concurrent use.
type Transport struct {
	mapper mapping.Mapper
	sender Sender
	told   *told
	runs   *lru[string, time.Time] // when runs began
	jobs   *lru[string, string]    // tasks in DataHub, by namespace and name
	close  sync.Once
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
)

// New returns a transport that maps events by the settings and hands them to the sender. What was told is told again
// after resend at the latest. A nil now is the system's clock.
func New(settings mapping.Settings, sender Sender, resend time.Duration, now func() time.Time) *Transport {
	if now == nil {
		now = time.Now
	}
	return &Transport{
		mapper: mapping.New(settings), sender: sender, told: newTold(resend, now),
		runs: newLRU[string, time.Time](maxRuns), jobs: newLRU[string, string](maxJobs),
	}
}

// Emit tells DataHub of an event; nil once DataHub has all of it. What of it was not taken is sent again when the event
// comes again, and sending the rest twice changes nothing.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	if err := ctx.Err(); err != nil {
		return transport.ClassifyError(fmt.Errorf("sending to DataHub: %w", err))
	}
	mapped, err := t.mapper.Map(event.Body, t.memory(event))
	if err != nil {
		return refused(err)
	}
	items, err := t.pending(mapped)
	if err != nil {
		return refused(err)
	}
	err = t.send(ctx, items)
	t.remember(mapped)
	if err == nil && len(mapped.Refused) > 0 {
		return refused(fmt.Errorf("all but this was sent: %s", strings.Join(mapped.Refused, "; ")))
	}
	return err
}

// Probe asks DataHub whether it would take proposals.
func (t *Transport) Probe(ctx context.Context) (string, error) { return t.sender.Probe(ctx) }

// Close releases the sender's connections. It may be called again.
func (t *Transport) Close(ctx context.Context) error {
	var err error
	t.close.Do(func() { err = t.sender.Close(ctx) })
	return err
}

func (t *Transport) remember(m mapping.Mapped) {
	if !m.Started.IsZero() {
		t.runs.put(m.RunID, m.Started)
	}
	if m.Job != "" {
		t.jobs.put(jobKey(m.Namespace, m.Name), m.Job)
	}
}

func jobKey(namespace, name string) string { return namespace + "\x00" + name }

// item is a proposal with what is known once DataHub has it.
type item struct {
	proposal mcp.Proposal
	facts    []fact
}

// pending returns what of an event is to be sent: all of the run, and of the rest what DataHub does not know yet.
func (t *Transport) pending(m mapping.Mapped) ([]item, error) {
	var items []item
	for _, p := range m.Structure {
		if f := factOf(p); !t.told.knows(f) {
			items = append(items, item{p, []fact{f}})
		}
	}
	for _, addition := range m.Additions {
		var ops []mcp.PatchOp
		var facts []fact
		for _, op := range addition.Ops {
			f, err := factOfOp(addition, op)
			if err != nil {
				return nil, err
			}
			if !t.told.knows(f) {
				ops, facts = append(ops, op), append(facts, f)
			}
		}
		if len(ops) == 0 {
			continue
		}
		p, err := addition.Proposal(ops)
		if err != nil {
			return nil, err
		}
		items = append(items, item{p, facts})
	}
	for _, p := range m.Run {
		items = append(items, item{proposal: p})
	}
	return items, nil
}

// send sends all items. What DataHub has is remembered, whatever became of the others.
func (t *Transport) send(ctx context.Context, items []item) error {
	proposals := make([]mcp.Proposal, len(items))
	for i, one := range items {
		proposals[i] = one.proposal
	}
	var failed []mcp.Proposal
	var errs []error
	for i, err := range t.sender.Send(ctx, proposals) {
		if err == nil {
			t.told.remember(items[i].facts)
			continue
		}
		failed, errs = append(failed, proposals[i]), append(errs, err)
	}
	return worst(failed, errs)
}

// worst returns the error that decides what becomes of the event: that of a hold before one that may pass, and only
// when all are permanent a permanent one. It names the first proposal that met it and counts the others.
func worst(proposals []mcp.Proposal, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	rank := map[transport.Outcome]int{transport.Hold: 2, transport.Retry: 1}
	at := 0
	for i, err := range errs {
		if rank[transport.ClassifyError(err).Outcome] > rank[transport.ClassifyError(errs[at]).Outcome] {
			at = i
		}
	}
	e := *transport.ClassifyError(errs[at])
	p := proposals[at]
	text := fmt.Sprintf("sending %s of %s", p.AspectName, p.EntityURN)
	if len(errs) > 1 {
		text += fmt.Sprintf(" (and %d more)", len(errs)-1)
	}
	e.Err = fmt.Errorf("%s: %w", text, errs[at])
	return &e
}

// refused is the error of an event that DataHub can't be told, whatever happens.
func refused(err error) error {
	if known, ok := errors.AsType[*transport.Error](err); ok {
		return known
	}
	return &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonRefused, Err: err}
}
