package prefect

import (
	"time"

	"github.com/google/uuid"
)

const (
	// lagRemembered is for how long rows are expected to show as late as one has shown. Over that time, too, it is known
	// which runs were seen.
	lagRemembered = Overlap10m
	// lagHarmless is a lateness that the look back of each poll finds with time to spare.
	lagHarmless = Overlap * 2 / 3
	// lagPage is the time that each page of a look back for late rows buys it: it may take as many polls as it likes
	// while little ran, and when much did, it does not weigh on a server that can't keep up as it is.
	lagPage = time.Second
	// lagMost bounds the runs that are remembered as seen.
	lagMost = 50_000
)

// lag follows how late rows show after the ends that they tell. Task runs are written by a recorder which falls behind
// under load, and a worker's clock may be slow; both last for a while. What is later than the look back of each poll is
// then looked for more often than once in Every10m.
type lag struct {
	seen  map[uuid.UUID]time.Time // runs that were seen ended, by the end
	asked time.Time               // the server's clock when the last poll that passed began
	since time.Time               // all that ended from then on would have been seen, had it been there
	worst time.Duration           // how late a row has shown
	until time.Time               // for so long worst counts
	next  time.Time               // when the next look back is due
}

// note takes an ended run that a poll shows. A run that is new, though the last poll could have shown it, was late.
func (l *lag) note(id uuid.UUID, end *time.Time, now time.Time) {
	if end == nil || now.Sub(*end) > lagRemembered {
		return
	}
	if l.seen == nil {
		l.seen = make(map[uuid.UUID]time.Time)
	}
	before, seen := l.seen[id]
	if len(l.seen) < lagMost || seen {
		l.seen[id] = *end
	}
	if l.asked.IsZero() || end.Before(l.since) || seen && before.Equal(*end) || len(l.seen) >= lagMost {
		return
	}
	if late := l.asked.Sub(*end); late > lagHarmless {
		l.worst, l.until = max(l.worst, late), now.Add(lagRemembered)
	}
}

// due returns the look back for late rows that is due, or nil: half as far again as the latest row was late.
func (l *lag) due(now, from time.Time) *sweep {
	if now.After(l.until) {
		l.worst = 0
	}
	if l.worst == 0 || now.Before(l.next) {
		return nil
	}
	reach := min(l.worst*3/2, Overlap10m)
	return &sweep{left: span{from: now.Add(-reach), to: from}, began: now}
}

// looked is told that the look back was taken, and of how many pages it had.
func (l *lag) looked(now time.Time, pages int) {
	l.next = now.Add(min(time.Duration(pages)*lagPage, Every10m))
}

// passed is told that a poll has passed, when it began and from where on it read.
func (l *lag) passed(began, from time.Time) {
	if l.asked.IsZero() {
		l.since = from
	}
	l.asked = began
	for id, end := range l.seen {
		if began.Sub(end) > lagRemembered {
			delete(l.seen, id)
		}
	}
}
