package ingest

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// maxHeld bounds what is remembered of ends that are held back.
const maxHeld = 20_000

// holds are the ends that wait for something, each with the server's time from which on it is looked at again. They spare
// work only, and nothing rests on them: an end that is not told leaves its run open in the ledger, and open runs are read
// by id until they end.
type holds struct {
	mu    sync.Mutex // a portion is looked through ahead while another one is recorded
	until map[uuid.UUID]time.Time
}

func newHolds() *holds { return &holds{until: map[uuid.UUID]time.Time{}} }

func (h *holds) set(id uuid.UUID, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.until) < maxHeld {
		h.until[id] = until
	}
}

// resting says whether a run's end waits for a moment that has not come.
func (h *holds) resting(id uuid.UUID, ended bool, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, ok := h.until[id]
	if ok && (!ended || !now.Before(until)) {
		delete(h.until, id)
		return false
	}
	return ok
}

// hold keeps a run's end back until a moment, while what belongs to it comes in. Its START is told.
func (p *portion) hold(id uuid.UUID, until time.Time) {
	p.held[id] = true
	p.holds.set(id, until)
}

// resting says whether a live run's end waits for a moment that has not come.
func (p *portion) resting(id uuid.UUID, s *prefect.State) bool {
	if !p.mode.Live || !p.holds.resting(id, s != nil && s.Type.Terminal(), p.changes.Now) {
		return false
	}
	p.leave(id)
	return true
}

// leave notes that a run can't be told yet, or not wholly.
func (p *portion) leave(id uuid.UUID) { p.left = append(p.left, id) }
