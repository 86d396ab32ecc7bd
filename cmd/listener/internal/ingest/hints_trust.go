package ingest

import (
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

const (
	// SlowInterval is the time between two polls while events say what changes.
	SlowInterval = 30 * time.Second
	// busyFactor is how many times as long as usual it is while so much goes on that events may have been lost.
	busyFactor = 5
	// takesEffect is how long a websocket has to be open for a poll to be the one after which nothing is unheard.
	takesEffect = time.Second
	// eventLag is how long after its state an event may come.
	eventLag = 5 * time.Second
	// distrust is how long events are not relied on after a run that none of them named.
	distrust = time.Minute
	// maxUnnamed bounds the runs that were found without an event and for which one may still come.
	maxUnnamed = 1000
)

// trust says whether events can be relied on, so that polling may slow down. Nothing hangs on it but the time until a
// change is seen.
type trust struct {
	up      bool
	since   time.Time // when the websocket came up
	covered time.Time // the server's clock at the first poll after that; zero: there was none yet
	polling bool      // the last poll went well
	missed  time.Time // when a run was last found that no event had named
	again   bool      // events came since
	// unnamed are runs that polls found and no event has named, each with the time until which one may come.
	unnamed map[uuid.UUID]time.Time
}

func newTrust() trust { return trust{unnamed: map[uuid.UUID]time.Time{}} }

func (t *trust) connected(now time.Time) { t.up, t.since, t.covered = true, now, time.Time{} }

func (t *trust) lost() {
	t.up = false
	clear(t.unnamed)
}

// overrun makes the next polls the usual ones: more was named than is worth being read by id.
func (t *trust) overrun() { t.since, t.covered = time.Now(), time.Time{} }

func (t *trust) heard(id uuid.UUID) {
	t.again = true
	delete(t.unnamed, id)
}

// found is told of a run of which a poll had something to tell that no event had named.
func (t *trust) found(id uuid.UUID, stamp, now time.Time) {
	if !t.up || t.covered.IsZero() || stamp.Before(t.covered) || len(t.unnamed) >= maxUnnamed {
		return
	}
	if _, known := t.unnamed[id]; !known {
		t.unnamed[id] = time.Now().Add(min(max(0, eventLag-now.Sub(stamp)), eventLag)) // a worker's clock may be ahead
	}
}

// went is told of each poll that went well: when it began, and the server's clock then.
func (t *trust) went(began, server time.Time) {
	t.polling = true
	if t.up && t.covered.IsZero() && began.Sub(t.since) >= takesEffect {
		t.covered = server
	}
	now := time.Now()
	for id, until := range t.unnamed {
		if !until.After(now) {
			delete(t.unnamed, id)
			t.doubt(now)
		}
	}
}

func (t *trust) doubt(now time.Time) { t.missed, t.again = now, false }

// reliable says whether events say all that changes.
func (t *trust) reliable(now time.Time) bool {
	return t.up && !t.covered.IsZero() && (t.missed.IsZero() || t.again && now.Sub(t.missed) >= distrust)
}

// AssetsQuiet returns for how long it is certain that nothing happened to an asset; zero: it isn't.
func (h *Hints) AssetsQuiet() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if !h.trust.reliable(now) {
		return 0
	}
	return now.Sub(later(later(h.trust.since, h.trust.missed), h.asset))
}

// ReadUpTo returns before which time, of the server's, each end of a task run was told by an event and read since; zero: there
// is no such time.
func (h *Hints) ReadUpTo(now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.trust.reliable(time.Now()) {
		return time.Time{}
	}
	upTo := now.Add(-eventLag)
	for _, run := range h.runs {
		if run.task && run.at.Before(upTo) {
			upTo = run.at
		}
	}
	return upTo
}

// pollWent notes a poll that went well. Began is when it did, by our clock; server is the server's clock then.
func (h *Hints) pollWent(began, server time.Time) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trust.went(began, server)
	signal(h.more)
}

// pollFailed notes that Prefect can't be read, or nothing be stored: what events name waits as well.
func (h *Hints) pollFailed() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trust.polling = false
}

// lookFailed leaves it to the next poll, which is soon, to find out what is wrong.
func (h *Hints) lookFailed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trust.polling = false
	h.trust.doubt(time.Now())
	signal(h.hurry)
}

// pace returns the time between the starts of two polls: the usual one, or a longer one while events say what changes.
func (h *Hints) pace(usual time.Duration) time.Duration {
	if h == nil {
		return usual
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	reliable := h.trust.reliable(now)
	pace, slow := usual, max(usual, SlowInterval)
	switch {
	case reliable && h.busy.After(now):
		pace = min(busyFactor*usual, slow)
	case reliable:
		pace = slow
	}
	switch {
	case reliable == h.relied:
	case reliable:
		h.log.Info("events name the runs that change; polling slows down", zap.Duration("interval", slow))
	case h.trust.up && !h.trust.missed.IsZero():
		h.log.Info("runs change that no event names; polling at the usual interval until events come again", zap.Duration("interval", pace))
	}
	h.relied = reliable
	return pace
}

// hurried wakes the loop when the next poll may be due earlier than it was.
func (h *Hints) hurried() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.hurry
}

// maxRecent bounds the runs of which it is remembered what was heard and read last.
const maxRecent = 10_000

// recent remembers of the latest runs the timestamps of the newest states that were heard of and recorded.
type recent struct {
	young, old map[uuid.UUID]seen
}

type seen struct{ heard, read time.Time }

func (r *recent) get(id uuid.UUID) seen {
	if s, ok := r.young[id]; ok {
		return s
	}
	return r.old[id]
}

func (r *recent) set(id uuid.UUID, s seen) {
	if r.young == nil || len(r.young) >= maxRecent {
		r.young, r.old = make(map[uuid.UUID]seen), r.young
	}
	r.young[id] = s
}
