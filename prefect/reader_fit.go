package prefect

import (
	"math"
	"sync"
)

// fit finds out how many ids to ask for at once, so that the rows that belong to them fill a page but for a little: a
// page that is full has to be asked for what follows, and one that is half empty costs as much to begin with.
type fit struct {
	first, most int // ids in the first request, and in any
	page        int // rows

	mu   sync.Mutex
	each float64 // rows for one id, as far as is known; 0: nothing is
}

// fitting is the part of a page that rows should fill.
const fitting = 0.95

// next returns how many ids to ask for.
func (f *fit) next() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.each == 0 {
		return f.first
	}
	return min(max(int(fitting*float64(f.page)/f.each), 1), f.most)
}

// got is told how many rows belonged to some ids. What was seen last counts for most; a richer answer than was expected
// counts at once.
func (f *fit) got(ids, rows int) {
	if ids == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := max(float64(rows)/float64(ids), 1.0/float64(f.page))
	if f.each == 0 || seen > f.each {
		f.each = seen
		return
	}
	f.each = math.Max(0.7*f.each+0.3*seen, seen)
}
