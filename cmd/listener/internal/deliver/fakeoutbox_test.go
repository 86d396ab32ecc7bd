package deliver_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// fakeOutbox keeps the outbox's rules in memory: lane heads only, ancestors first. It also is the judge: sinks ask it
// at every attempt whether the event may be under way, and what may not is kept in violations.
type fakeOutbox struct {
	// fail, if set, is asked before each access; what it returns is the access's result.
	fail func(access string) error

	mu         sync.Mutex
	lanes      map[string]*fakeLane // by destination
	seq        int64
	letters    int64
	violations []string
	accesses   map[string]int
}

type fakeLane struct {
	rows  []*fakeRow
	runs  map[uuid.UUID][]*fakeRow
	flows map[uuid.UUID]int // runs of which an event is under way, and how many
	low   int               // every row before is settled
}

type fakeRow struct {
	state.Delivery
	verdict state.Verdict
	pending bool
	due     time.Time
	reason  string
	status  int
	answer  string
	letter  int64 // the dead letter's number
	died    time.Time
}

func newFakeOutbox(destinations ...string) *fakeOutbox {
	o := &fakeOutbox{lanes: map[string]*fakeLane{}, accesses: map[string]int{}}
	for _, name := range destinations {
		o.lanes[name] = &fakeLane{runs: map[uuid.UUID][]*fakeRow{}, flows: map[uuid.UUID]int{}}
	}
	return o
}

// add puts events into the outbox, for each destination.
func (o *fakeOutbox) add(events ...adapter.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range events {
		o.seq++
		for _, lane := range o.lanes {
			row := &fakeRow{Delivery: state.Delivery{Seq: o.seq, Event: e, Enqueued: time.Now()}, pending: true}
			lane.rows = append(lane.rows, row)
			lane.runs[e.Run] = append(lane.runs[e.Run], row)
		}
	}
}

func (o *fakeOutbox) access(name string) error {
	o.mu.Lock()
	o.accesses[name]++
	o.mu.Unlock()
	if o.fail != nil {
		return o.fail(name)
	}
	return nil
}

func (l *fakeLane) blockedBy(row *fakeRow) string {
	for _, older := range l.runs[row.Event.Run] {
		if older.Seq >= row.Seq {
			break
		}
		if older.pending {
			return fmt.Sprintf("event %d of the same run", older.Seq)
		}
	}
	for _, parent := range l.runs[row.Event.Ancestor] {
		if parent.Event.First && parent.pending && row.Event.Ancestor != uuid.Nil {
			return fmt.Sprintf("event %d of the ancestor", parent.Seq)
		}
	}
	return ""
}

func (o *fakeOutbox) Claim(_ context.Context, destination string, now time.Time, limit int,
	busy func(uuid.UUID) bool) ([]state.Delivery, error) {
	if err := o.access("claim"); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	lane := o.lanes[destination]
	for lane.low < len(lane.rows) && !lane.rows[lane.low].pending {
		lane.low++
	}
	for run, n := range lane.flows {
		if n > 0 && !busy(run) {
			o.violate("run %s is under way at %s and may be claimed", run, destination)
		}
	}
	var due []state.Delivery
	for _, row := range lane.rows[lane.low:] {
		if len(due) == limit {
			break
		}
		if row.pending && !now.Before(row.due) && lane.blockedBy(row) == "" && !busy(row.Event.Run) {
			due = append(due, row.Delivery)
		}
	}
	return due, nil
}

func (o *fakeOutbox) Settle(_ context.Context, destination string, settlements []state.Settlement) error {
	if err := o.access("settle"); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range settlements {
		row := o.row(destination, s.Seq)
		if !row.pending {
			o.violate("event %d settled twice at %s", s.Seq, destination)
			continue
		}
		row.verdict, row.pending = s.Verdict, s.Verdict == state.Again
		row.due, row.reason, row.status, row.answer = s.Due, s.Reason, s.Status, string(s.Answer)
		switch s.Verdict {
		case state.Again:
			row.Attempts++
		case state.Dead:
			o.letters++
			row.letter, row.died = o.letters, time.Now()
		default:
		}
	}
	return nil
}

func (o *fakeOutbox) DeadLetters(_ context.Context, filter state.DeadFilter) ([]state.DeadLetter, error) {
	if err := o.access("letters"); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var letters []state.DeadLetter
	for _, row := range o.lanes[filter.Destination].rows {
		letter := state.DeadLetter{ID: row.letter, Destination: filter.Destination, Seq: row.Seq, Died: row.died}
		if !row.pending && row.verdict == state.Dead && letter.ID > filter.After && !letter.Died.Before(filter.Since) {
			letters = append(letters, letter)
		}
	}
	slices.SortFunc(letters, func(a, b state.DeadLetter) int { return cmp.Compare(a.ID, b.ID) })
	return letters[:min(len(letters), filter.Limit)], nil
}

func (o *fakeOutbox) Replay(_ context.Context, ids []int64) (int, error) {
	if err := o.access("replay"); err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, lane := range o.lanes {
		for _, row := range lane.rows {
			if !row.pending && row.verdict == state.Dead && slices.Contains(ids, row.letter) {
				row.pending, row.due, row.Attempts, row.verdict = true, time.Time{}, 0, state.Again
				lane.low = 0
				n++
			}
		}
	}
	return n, nil
}

func (o *fakeOutbox) Status(context.Context) ([]state.DestinationStatus, error) {
	if err := o.access("status"); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []state.DestinationStatus
	for name, lane := range o.lanes {
		s := state.DestinationStatus{Destination: state.Destination{Name: name}}
		for _, row := range lane.rows {
			switch {
			case row.pending:
				if s.Pending++; s.OldestPending.IsZero() {
					s.OldestPending = row.Enqueued
				}
			case row.verdict == state.Dead:
				s.Dead++
			}
		}
		all = append(all, s)
	}
	return all, nil
}

func (o *fakeOutbox) row(destination string, seq int64) *fakeRow {
	return o.lanes[destination].rows[seq-1]
}

func (o *fakeOutbox) violate(format string, args ...any) {
	o.violations = append(o.violations, fmt.Sprintf(format, args...))
}

// begin is told of every attempt, and end of its end.
func (o *fakeOutbox) begin(destination string, run uuid.UUID, t adapter.EventType, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lane := o.lanes[destination]
	lane.flows[run]++
	if lane.flows[run] > 1 {
		o.violate("two events of run %s under way at %s", run, destination)
	}
	for _, row := range lane.runs[run] {
		if row.Event.Type != t || !row.Event.Time.Equal(at) {
			continue
		}
		if !row.pending {
			o.violate("event %d sent to %s after it was settled", row.Seq, destination)
		}
		if by := lane.blockedBy(row); by != "" {
			o.violate("event %d sent to %s before %s", row.Seq, destination, by)
		}
	}
}

func (o *fakeOutbox) end(destination string, run uuid.UUID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	flows := o.lanes[destination].flows
	if flows[run]--; flows[run] == 0 {
		delete(flows, run)
	}
}

// counts returns how many of a destination's events are pending, delivered and dead.
func (o *fakeOutbox) counts(destination string) (pending, delivered, dead int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, row := range o.lanes[destination].rows {
		switch {
		case row.pending:
			pending++
		case row.verdict == state.Delivered:
			delivered++
		case row.verdict == state.Dead:
			dead++
		}
	}
	return pending, delivered, dead
}

func (o *fakeOutbox) broken() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.violations)
}

func (o *fakeOutbox) forgetDues() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, lane := range o.lanes {
		for _, row := range lane.rows {
			row.due = time.Time{}
		}
	}
}

func (o *fakeOutbox) accessed(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.accesses[name]
}
