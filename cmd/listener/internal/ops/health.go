package ops

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Health gathers what the components report of themselves. It is safe for use by several goroutines.
type Health struct {
	mu       sync.Mutex
	checks   []check
	started  bool
	stopping bool
}

// check is something that can be looked at.
type check interface {
	look(now time.Time) Finding
}

// NewHealth returns the health of a daemon that has not started yet.
func NewHealth() *Health { return &Health{} }

// Started tells that the start is over.
func (h *Health) Started() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = true
}

// Stopping tells that the daemon has been asked to stop. It is unready from now on.
func (h *Health) Stopping() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
}

// Need adds a condition of readiness. It is not met until it is first said to be.
func (h *Health) Need(name string) *Condition {
	c := &Condition{name: name, words: "not there yet", since: time.Now()}
	h.add(c)
	return c
}

// NeedBeat adds a condition of readiness that is met as long as something was done within a limit.
func (h *Health) NeedBeat(name string, limit time.Duration) *Beat {
	b := &Beat{name: name, limit: limit}
	h.add(b)
	return b
}

// Show adds something that is shown and that readiness does not depend on. Look returns whether it is well, and how it
// stands in words; it is called at each request, from several goroutines.
func (h *Health) Show(name string, look func() (ok bool, words string)) { h.add(shown{name, look}) }

func (h *Health) add(c check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, c)
}

// Report is how the daemon stands at a moment. Its JSON is what /readyz?verbose returns; fields may be added.
type Report struct {
	Ready    bool      `json:"ready"`
	Started  bool      `json:"started"`
	Stopping bool      `json:"stopping"`
	Checks   []Finding `json:"checks"`
}

// Finding is how one thing stands.
type Finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Needed findings make the daemon unready unless they are OK.
	Needed bool   `json:"needed"`
	Words  string `json:"words,omitempty"`
	// Since is when it began to be so, where that is known.
	Since *time.Time `json:"since,omitempty"`
}

// Report looks at everything, in the order in which it was added.
func (h *Health) Report() Report {
	h.mu.Lock()
	r := Report{Started: h.started, Stopping: h.stopping, Checks: []Finding{}}
	checks := slices.Clip(h.checks)
	h.mu.Unlock()

	now := time.Now()
	r.Ready = r.Started && !r.Stopping
	for _, c := range checks { // without the lock: a look may take time or report something itself
		f := c.look(now)
		r.Ready = r.Ready && (f.OK || !f.Needed)
		r.Checks = append(r.Checks, f)
	}
	return r
}

// Reasons says in words why the daemon is not ready; empty when it is.
func (r Report) Reasons() []string {
	var reasons []string
	if r.Stopping {
		reasons = append(reasons, "stopping")
	}
	if !r.Started {
		reasons = append(reasons, "starting")
	}
	for _, f := range r.Checks {
		if f.Needed && !f.OK {
			reasons = append(reasons, f.Name+": "+f.Words)
		}
	}
	return reasons
}

// Condition is met or not, as its owner says. Reasons must hold no secrets.
type Condition struct {
	name string

	mu    sync.Mutex
	ok    bool
	words string
	since time.Time
}

// OK tells that the condition is met.
func (c *Condition) OK() { c.set(true, "") }

// Fail tells that it is not, and why.
func (c *Condition) Fail(reason string) { c.set(false, reason) }

func (c *Condition) set(ok bool, words string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ok != ok {
		c.since = time.Now()
	}
	c.ok, c.words = ok, words
}

func (c *Condition) look(time.Time) Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.since
	return Finding{Name: c.name, OK: c.ok, Needed: true, Words: c.words, Since: &since}
}

// Beat is met as long as it beats. Reasons must hold no secrets.
type Beat struct {
	name string

	mu    sync.Mutex
	limit time.Duration
	last  time.Time
	miss  string
}

// Beat tells that the thing was done.
func (b *Beat) Beat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.miss = time.Now(), ""
}

// Within sets the limit anew.
func (b *Beat) Within(limit time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
}

// Miss tells why it was not done this time. That alone changes nothing until the limit is over.
func (b *Beat) Miss(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.miss = reason
}

func (b *Beat) look(now time.Time) Finding {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := Finding{Name: b.name, Needed: true, Words: "not yet"}
	if !b.last.IsZero() {
		ago := now.Sub(b.last)
		since := b.last
		f.OK, f.Since = ago < b.limit, &since
		f.Words = fmt.Sprintf("%s ago", ago.Round(time.Second))
		if !f.OK {
			f.Words += fmt.Sprintf(", which is longer than %s", b.limit)
		}
	}
	if b.miss != "" {
		f.Words += ": " + b.miss
	}
	return f
}

type shown struct {
	name string
	see  func() (ok bool, words string)
}

func (s shown) look(time.Time) Finding {
	ok, words := s.see()
	return Finding{Name: s.name, OK: ok, Words: words}
}
