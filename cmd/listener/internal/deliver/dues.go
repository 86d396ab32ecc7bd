package deliver

import (
	"container/heap"
	"time"
)

// dues are the moments at which lanes may be tried again, the earliest first. They only say when to look into the
// outbox; what is due there the outbox knows.
type dues struct{ moments moments }

func (d *dues) add(at time.Time) { heap.Push(&d.moments, at) }

// pop removes the moments that have come and says whether there was one.
func (d *dues) pop(now time.Time) bool {
	var any bool
	for len(d.moments) > 0 && reached(d.moments[0], now) {
		heap.Pop(&d.moments)
		any = true
	}
	return any
}

func (d *dues) next() (time.Time, bool) {
	if len(d.moments) == 0 {
		return time.Time{}, false
	}
	return d.moments[0], true
}

type moments []time.Time

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i].Before(m[j]) }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)        { *m = append(*m, x.(time.Time)) }
func (m *moments) Pop() any {
	last := len(*m) - 1
	at := (*m)[last]
	*m = (*m)[:last]
	return at
}
