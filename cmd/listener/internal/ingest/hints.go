package ingest

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/prefect"
)

const (
	// maxHints bounds the runs that wait to be read by id. Where there are more, a poll reads them in fewer requests.
	maxHints = 5000
	// gatherHints is how long the first event after a quiet time waits for others, so that one request reads them all.
	// A row can be read 0.1 to 0.4 s after its event, so that little is lost by it.
	gatherHints = 300 * time.Millisecond
	// LookEvery is the least time between two reads by id. Half of it is what an event waits on average, and two
	// requests in it are what reading costs while much goes on. After a read that brought fewer than fullLook runs it is
	// half as long again, so that a request is shared by enough of them.
	LookEvery = 400 * time.Millisecond
	fullLook  = 10
	// When less than one in behindLook of the runs that were looked for came, the server is behind with its own work: the
	// pause is twice as long then, so as not to keep it from that.
	behindLook = 4
	// A server that is busy for long is not to be kept busy by being watched: quickLooks can be made as fast as these allow, and
	// then one in steadyLook, which is also how fast the right to quick ones comes back. A burst brings burstLooks more, so that
	// one of some hundred runs is over before they are.
	quickLooks = 25
	burstLooks = 30
	steadyLook = 4 * time.Second
	// longestLook is the most time between two reads while rows are awaited that don't come.
	longestLook = 2 * time.Second
	// Servers keep 256 events for a connection and throw away without a word what is more. So after as many events as burst
	// over one of them within burstTime polls are not slow for as long as quiet. Where a server lost some of 300, it had sent 258
	// within two seconds.
	burst     = 100
	burstTime = 2 * time.Second
	quiet     = 30 * time.Second
	// hintPatience is how long a row is awaited as its event told it. The polls look further.
	hintPatience = time.Minute
)

// Hints are the runs that events named and that have not been read as their events told them. They are safe for use by
// several goroutines: the websocket adds to them, the follower reads them, and the loop learns from them how often it
// must poll. A nil *Hints is one that nothing is added to.
type Hints struct {
	every   time.Duration
	log     *zap.Logger
	metrics *HintMetrics
	more    chan struct{} // something may be due
	hurry   chan struct{} // the next poll may be due earlier

	mu        sync.Mutex
	runs      map[uuid.UUID]*awaited
	seen      recent
	trust     trust
	asset     time.Time     // when something was last heard of an asset
	first     time.Time     // when the first was named of those that were never looked for; zero: there is none
	looked    time.Time     // when runs were last read by id
	quick     float64       // how many such reads could be made at once after it
	full      bool          // that read brought many
	asked     int           // and it looked for so many
	behind    bool          // of which it brought few
	fresh     bool          // that read looked for runs that were named since the one before
	fruitless int           // reads in a row that brought nothing
	lagging   int           // reads in a row that looked for newly named runs and brought nothing
	relied    bool          // polls are slow
	tallies   map[int]tally // by stream
	busy      time.Time     // until when so much goes on that polls are not slow
}

// Stored says what came of the runs of one portion, once it is stored.
type Stored struct {
	Told []uuid.UUID // something new was told of them
	Left []uuid.UUID // they can't be told yet, and must be read again soon
}

// outcome says what came of the portion's runs.
func (p *portion) outcome() Stored {
	told := make(map[uuid.UUID]bool, len(p.events))
	for _, e := range p.events {
		told[e.Run] = true
	}
	return Stored{Told: sortedIDs(told), Left: p.left}
}

// awaited is a run that is to be read.
type awaited struct {
	task   bool
	at     time.Time // the timestamp of the state that is awaited; zero: any state will do
	since  time.Time // when it was named first
	looked time.Time // when it was read last; zero: not yet
}

var _ prefect.HintListener = (*Hints)(nil)

// NewHints returns hints whose runs are read no more often than every.
func NewHints(every time.Duration, log *zap.Logger, metrics *HintMetrics) *Hints {
	return &Hints{
		every: every, log: log, metrics: metrics, more: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		runs: map[uuid.UUID]*awaited{}, trust: newTrust(), tallies: map[int]tally{},
	}
}

// HintsUp implements prefect.HintListener.
func (h *Hints) HintsUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metrics.up(true)
	h.trust.connected(time.Now())
}

// HintsDown implements prefect.HintListener.
func (h *Hints) HintsDown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metrics.up(false)
	h.trust.lost()
	signal(h.hurry)
}

// Hint implements prefect.HintListener.
func (h *Hints) Hint(hint prefect.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metrics.received.Inc()
	h.tally(hint.Stream, time.Now())
	if hint.Asset {
		h.asset = time.Now()
		return
	}
	seen := h.seen.get(hint.Run)
	if hint.At.After(seen.heard) {
		seen.heard = hint.At
		h.seen.set(hint.Run, seen)
	}
	h.trust.heard(hint.Run)
	if !hint.At.IsZero() && !hint.At.After(seen.read) {
		return // a late one, or one that was told before
	}
	h.await(hint.Run, hint.Task, hint.At)
}

// tally counts the events that came over one connection since a time.
type tally struct {
	since time.Time
	count int
}

// tally counts an event, and where a burst of them begins wakes the loop and grants the quick looks. The hints are locked.
func (h *Hints) tally(stream int, now time.Time) {
	t := h.tallies[stream]
	if now.Sub(t.since) > burstTime {
		t = tally{since: now}
	}
	t.count++
	h.tallies[stream] = t
	if t.count < burst {
		return
	}
	if h.hurryPolls(now) {
		h.quick = min(h.quick+burstLooks, quickLooks+burstLooks)
	}
}

// hurryPolls has polls come more often for a while, and says whether they did not before. The hints are locked.
func (h *Hints) hurryPolls(now time.Time) bool {
	quietSoFar := !h.busy.After(now)
	if quietSoFar {
		signal(h.hurry)
	}
	h.busy = now.Add(quiet)
	return quietSoFar
}

// await adds a run to those that are to be read. The hints are locked.
func (h *Hints) await(id uuid.UUID, task bool, at time.Time) {
	h.fruitless = 0
	if r := h.runs[id]; r != nil {
		if at.After(r.at) {
			r.at, r.looked = at, time.Time{}
			h.named()
		}
		return
	}
	if len(h.runs) >= maxHints {
		h.metrics.dropped.Add(float64(len(h.runs)))
		clear(h.runs)
		h.first = time.Time{}
		h.trust.overrun()
		signal(h.hurry)
	}
	h.runs[id] = &awaited{task: task, at: at, since: time.Now()}
	h.named()
}

// named wakes the follower, and notes when the first was named after a look.
func (h *Hints) named() {
	if h.first.IsZero() {
		h.first = time.Now()
	}
	signal(h.more)
}

// due returns the runs that are to be read now, or how long to wait for the next. It takes no more than a page of each
// kind: those first that were never looked for, then those that have waited longest.
func (h *Hints) due(now time.Time) (prefect.OpenRuns, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.runs) == 0 {
		h.first = time.Time{} // a poll has read them
	}
	if len(h.runs) == 0 || !h.trust.polling {
		return prefect.OpenRuns{}, time.Hour
	}
	if wait := h.next().Sub(now); wait > 0 {
		return prefect.OpenRuns{}, wait
	}
	h.quick = h.quickAt(now) - 1
	h.looked = now
	for id, r := range h.runs {
		if now.Sub(r.since) > hintPatience {
			delete(h.runs, id)
			h.metrics.dropped.Inc()
		}
	}
	return h.pick(now), 0
}

// quickAt is how many looks could be made one after the other at a time. What a burst left over stays. The hints are locked.
func (h *Hints) quickAt(now time.Time) float64 {
	return max(h.quick, min(h.quick+now.Sub(h.looked).Seconds()/steadyLook.Seconds(), quickLooks))
}

// next is when runs are to be read next.
func (h *Hints) next() time.Time {
	pause, vain := h.every, h.fruitless
	switch {
	case h.behind:
		pause = h.every * 2
	case !h.first.IsZero() && !h.full:
		pause = h.every * 3 / 2
	}
	if !h.first.IsZero() {
		vain = h.lagging - 1 // rows come later than their events by more than a look: asking as often brings nothing
	}
	if vain > 0 {
		pause = max(pause, min(longestLook, h.every<<min(vain, 10)))
	}
	pause = max(pause, time.Duration((1-h.quick)*float64(steadyLook)))
	if h.first.IsZero() {
		return h.looked.Add(pause)
	}
	return later(h.looked.Add(pause), h.first.Add(gatherHints))
}

func (h *Hints) pick(now time.Time) prefect.OpenRuns {
	h.fresh = false
	var all [2][]uuid.UUID // flow runs and task runs
	for id, r := range h.runs {
		kind := 0
		if r.task {
			kind = 1
		}
		all[kind] = append(all[kind], id)
	}
	for kind, ids := range all {
		slices.SortFunc(ids, func(a, b uuid.UUID) int {
			x, y := h.runs[a], h.runs[b]
			if c := x.looked.Compare(y.looked); c != 0 {
				return c
			}
			return x.since.Compare(y.since)
		})
		all[kind] = ids[:min(len(ids), prefect.MaxPage)]
		for _, id := range all[kind] {
			h.fresh = h.fresh || h.runs[id].looked.IsZero()
			h.runs[id].looked = now
		}
	}
	h.asked = len(all[0]) + len(all[1])
	h.first = time.Time{}
	for _, r := range h.runs {
		if r.looked.IsZero() {
			h.first = now     // those that found no place have waited long enough
			h.hurryPolls(now) // and a poll reads more of them at once
			break
		}
	}
	return prefect.OpenRuns{FlowRuns: all[0], TaskRuns: all[1]}
}

// unread leaves of rows that were read by id those that show what was not recorded before.
func (h *Hints) unread(c prefect.Changes) prefect.Changes {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh := func(id uuid.UUID, s *prefect.State) bool { return s.Timestamp.After(h.seen.get(id).read) }
	c.FlowRuns = slices.DeleteFunc(slices.Clone(c.FlowRuns), func(r prefect.FlowRun) bool { return !fresh(r.ID, r.State) })
	c.TaskRuns = slices.DeleteFunc(slices.Clone(c.TaskRuns), func(r prefect.TaskRun) bool { return !fresh(r.ID, r.State) })
	return c
}

// followed notes that rows which were read by id are stored, and forgets those that can't be understood: the polls keep
// them in quarantine.
func (h *Hints) followed(c prefect.Changes, bad []prefect.BadRow, stored Stored) {
	h.mu.Lock()
	defer h.mu.Unlock()
	settled := h.settle(c, stored)
	for _, row := range bad {
		if id, err := uuid.Parse(row.ID); err == nil {
			delete(h.runs, id)
		}
	}
	h.fruitless++
	if h.fresh {
		h.lagging++
	}
	h.full, h.behind = settled >= fullLook, settled*behindLook < h.asked
	if settled > 0 {
		h.fruitless, h.lagging = 0, 0
	}
	for id, at := range states(c) {
		seen := h.seen.get(id)
		if at.After(seen.read) && !slices.Contains(stored.Left, id) {
			seen.read = at
			h.seen.set(id, seen)
		}
	}
}

// polled notes what a poll has stored.
func (h *Hints) polled(c prefect.Changes, stored Stored) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settle(c, stored)
	at := states(c)
	for _, id := range stored.Told {
		stamp, seen := at[id], h.seen.get(id)
		if stamp.IsZero() {
			continue // an ancestor, or an end that was inferred: no event is awaited
		}
		if seen.heard.Before(stamp) {
			h.trust.found(id, stamp, c.Now)
		}
		if stamp.After(seen.read) {
			seen.read = stamp
			h.seen.set(id, seen)
		}
	}
}

// settle forgets the runs that were read as their events told them, and returns how many. Runs that were left for later
// are looked for again soon, whether an event named them or not. The hints are locked.
func (h *Hints) settle(c prefect.Changes, stored Stored) int {
	settled, now := 0, time.Now()
	for id, at := range states(c) {
		r := h.runs[id]
		if r == nil || r.at.After(at) || slices.Contains(stored.Left, id) {
			continue
		}
		delete(h.runs, id)
		h.metrics.latency.Observe(now.Sub(r.since).Seconds())
		settled++
	}
	if len(stored.Left) > 0 {
		at, tasks := states(c), map[uuid.UUID]bool{}
		for _, row := range c.TaskRuns {
			tasks[row.ID] = true
		}
		for _, id := range stored.Left {
			if h.runs[id] == nil && h.trust.up {
				h.await(id, tasks[id], at[id])
			}
		}
	}
	return settled
}

// states are the timestamps of the states in which rows were read.
func states(c prefect.Changes) map[uuid.UUID]time.Time {
	at := make(map[uuid.UUID]time.Time, len(c.FlowRuns)+len(c.TaskRuns))
	for _, r := range c.FlowRuns {
		if r.State != nil {
			at[r.ID] = r.State.Timestamp
		}
	}
	for _, r := range c.TaskRuns {
		if r.State != nil {
			at[r.ID] = r.State.Timestamp
		}
	}
	return at
}

// signal wakes whoever waits on a channel of one place.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
