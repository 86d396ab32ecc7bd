package prefect

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// censusKept is how long after its end a task run stays in the census: as long as the look back over ten minutes
	// reaches, and what a slow poll adds.
	censusKept = Overlap10m + 2*Every10m
	// censusMost bounds the task runs in a census. What finds no place is only read again.
	censusMost = 50_000
	// censusFew is for how many known ends a stretch of time is read rather than counted: two counts cost a server about as
	// much as twenty rows.
	censusFew = 20
)

// census are the task runs that ended lately and are stored as they ended, so that they need not be read again. One that is
// missing here costs a read and no more. It is safe for use by several goroutines.
type census struct {
	few int // usually censusFew

	mu     sync.Mutex
	ends   map[uuid.UUID]ending
	pruned time.Time
}

// ending is an end that is stored.
type ending struct {
	id   uuid.UUID
	at   time.Time // the end time by which servers filter
	good bool      // it completed
}

// note takes in rows that are stored, but for the runs that were left for later and those that can't be understood.
func (c *census) note(changes Changes, left []uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends == nil {
		c.ends = make(map[uuid.UUID]ending)
	}
	for _, row := range changes.TaskRuns {
		_, known := c.ends[row.ID]
		switch {
		case row.EndTime == nil, row.State == nil, !row.State.Type.Terminal():
			delete(c.ends, row.ID)
		case changes.Now.Sub(*row.EndTime) < censusKept && (known || len(c.ends) < censusMost):
			c.ends[row.ID] = ending{id: row.ID, at: *row.EndTime, good: row.State.Type == Completed}
		}
	}
	for _, id := range left {
		delete(c.ends, id)
	}
	for _, row := range changes.Bad {
		if id, err := uuid.Parse(row.ID); err == nil {
			delete(c.ends, id)
		}
	}
	c.prune(changes.Now)
}

// has says whether the end of a task run is stored.
func (c *census) has(id uuid.UUID, at *time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	end, known := c.ends[id]
	return known && at != nil && end.at.Equal(*at)
}

// forget makes the census an empty one.
func (c *census) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.ends)
}

// prune forgets what ended long ago.
func (c *census) prune(now time.Time) {
	if since := now.Sub(c.pruned); since >= 0 && since < Every10m {
		return
	}
	c.pruned = now
	for id, end := range c.ends {
		if now.Sub(end.at) >= censusKept {
			delete(c.ends, id)
		}
	}
}

// within returns the ends in a span, both of its own ends included, the oldest first.
func (c *census) within(in span) []ending {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ends []ending
	for _, end := range c.ends {
		if !end.at.Before(in.from) && (in.to.IsZero() || !end.at.After(in.to)) {
			ends = append(ends, end)
		}
	}
	sortEndings(ends)
	return ends
}

func sortEndings(ends []ending) {
	slices.SortFunc(ends, func(a, b ending) int { return a.at.Compare(b.at) })
}

// between returns those of sorted ends that lie in a span, both of its own ends included.
func between(ends []ending, in span) []ending {
	from, _ := slices.BinarySearchFunc(ends, in.from, func(e ending, t time.Time) int { return e.at.Compare(t) })
	to, _ := slices.BinarySearchFunc(ends, in.to.Add(1), func(e ending, t time.Time) int { return e.at.Compare(t) })
	return ends[from:max(from, to)]
}

// Stored is told of rows that are stored, so that polls need not read them again: of what Poll or Read gave, and of the
// runs among it that were left for later. It may be called at any time.
func (p *Poller) Stored(changes Changes, left []uuid.UUID) { p.census.note(changes, left) }
