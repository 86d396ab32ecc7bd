package prefect

import (
	lru "container/list"
	"sync"
	"time"

	"github.com/google/uuid"
)

// cache keeps rows by id for a while, the ones used last when there are too many. That a row isn't there is kept too,
// for a shorter while. It may be used by several goroutines.
type cache[T any] struct {
	most         int
	keep, absent time.Duration

	mu     sync.Mutex
	byID   map[uuid.UUID]*lru.Element
	recent *lru.List // of *cached[T], the one used last in front
}

type cached[T any] struct {
	id   uuid.UUID
	row  *T // nil: not there
	till time.Time
}

func newCache[T any](most int, keep, absent time.Duration) *cache[T] {
	return &cache[T]{most: most, keep: keep, absent: absent, byID: make(map[uuid.UUID]*lru.Element), recent: lru.New()}
}

// get returns the row, nil for one that isn't there, and whether this is known.
func (c *cache[T]) get(id uuid.UUID) (row *T, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	entry := entryOf[T](at)
	if !time.Now().Before(entry.till) {
		c.drop(at)
		return nil, false
	}
	c.recent.MoveToFront(at)
	return entry.row, true
}

// put keeps a row; nil: it isn't there.
func (c *cache[T]) put(id uuid.UUID, row *T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byID[id]; ok {
		c.drop(at)
	}
	keep := c.keep
	if row == nil {
		keep = c.absent
	}
	c.byID[id] = c.recent.PushFront(&cached[T]{id: id, row: row, till: time.Now().Add(keep)})
	if c.recent.Len() > c.most {
		c.drop(c.recent.Back())
	}
}

func (c *cache[T]) drop(at *lru.Element) {
	delete(c.byID, entryOf[T](at).id)
	c.recent.Remove(at)
}

func entryOf[T any](at *lru.Element) *cached[T] {
	entry, _ := at.Value.(*cached[T]) // nothing else is ever put in
	return entry
}
