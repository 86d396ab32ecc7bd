package deliver

import (
	"fmt"
	"sync"
	"time"
)

// The words for how a destination stands.
const (
	Delivering = "delivering" // all is well
	Retrying   = "retrying"   // something failed since the last success
	Down       = "down"       // nothing passes; one event at a time is tried
	Held       = "held"       // nothing can pass until an operator mends it
)

// DestinationState is how a destination stands at a moment, as far as delivery knows.
type DestinationState struct {
	Name string
	Kind string
	// State is Delivering, Retrying, Down or Held.
	State string
	// Since is when that began; zero while all is well.
	Since time.Time
	// Failures counts the failed attempts since then. Reason and Status are those of the last; empty and 0 for none.
	Failures int
	Reason   string
	Status   int
	// Next is the next probe of a destination that is down or held.
	Next time.Time
	// InFlight events are being sent, Claimed ones are read and wait for their turn.
	InFlight, Claimed int
	// LastDelivered is when an event was last delivered by this process; zero: never.
	LastDelivered time.Time
}

// OK reports whether events pass.
func (s DestinationState) OK() bool { return s.State == Delivering || s.State == Retrying }

// Words says the same in one line for people, such as "down for 3m0s (status-503), next try in 12s".
func (s DestinationState) Words(now time.Time) string {
	if s.State == Delivering {
		return s.State
	}
	text := fmt.Sprintf("%s for %s (%s)", s.State, now.Sub(s.Since).Round(time.Second), s.Reason)
	if !s.OK() {
		text += fmt.Sprintf(", next try in %s", max(s.Next.Sub(now), 0).Round(time.Second))
	}
	return text
}

// snapshot is the state that a drain last published.
type snapshot struct {
	mu    sync.Mutex
	state DestinationState
}

func (s *snapshot) get() DestinationState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// publish shows the drain's state to other goroutines.
func (d *drain) publish() {
	now := DestinationState{
		Name: d.to.Name, Kind: d.to.Kind, State: Delivering,
		Since: d.standing.since, Failures: d.standing.failures,
		InFlight: d.inFlight, Claimed: len(d.queue), LastDelivered: d.lastDelivered,
	}
	if fault := d.standing.fault; fault != nil {
		now.Reason, now.Status = fault.Reason, fault.Status
	}
	switch {
	case d.standing.phase == down:
		now.State, now.Next = Down, d.standing.probeAt
	case d.standing.phase == held:
		now.State, now.Next = Held, d.standing.probeAt
	case d.standing.failures > 0:
		now.State = Retrying
	}
	d.published.mu.Lock()
	defer d.published.mu.Unlock()
	d.published.state = now
}
