package judge

import (
	"bytes"
	"fmt"
	"strings"
)

// Case is what one consumer is judged by.
type Case struct {
	// Want are the events that have to come; those of a run stand in the run's order.
	Want []Event
	// Got is what came, in the order in which it came.
	Got []Arrival
	// Dead are the dead letters that the listener has for this consumer, WantDead those that it should have.
	Dead, WantDead []Key
	// Copies is how many more copies than events there may be.
	Copies int
	// Replayed are the ids of runs of which an older event may come again after a later one, as long as that follows.
	Replayed map[string]bool
}

// Verdict holds what is wrong, a line for each.
type Verdict struct {
	Missing, Spurious, Wrong, Different, Disorder, Orphans, Dead, Copies []string
	// Repeats are the copies that came beside the first ones, wrong or not.
	Repeats int
}

// Clean says whether nothing is wrong.
func (v Verdict) Clean() bool {
	for _, f := range v.findings() {
		if len(f.lines) > 0 {
			return false
		}
	}
	return true
}

type finding struct {
	word  string
	lines []string
}

func (v Verdict) findings() []finding {
	return []finding{
		{"missing", v.Missing}, {"spurious", v.Spurious}, {"wrong", v.Wrong}, {"different", v.Different},
		{"disorder", v.Disorder}, {"orphans", v.Orphans}, {"dead", v.Dead}, {"copies", v.Copies},
	}
}

// linesShown bounds what a verdict says about one rule: thousands of events may be missing.
const linesShown = 5

// String says what is wrong, rule by rule.
func (v Verdict) String() string {
	var text strings.Builder
	for _, f := range v.findings() {
		if len(f.lines) == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s: %d\n", f.word, len(f.lines))
		for _, line := range f.lines[:min(len(f.lines), linesShown)] {
			fmt.Fprintf(&text, "    %s\n", line)
		}
		if more := len(f.lines) - linesShown; more > 0 {
			fmt.Fprintf(&text, "    and %d more\n", more)
		}
	}
	if text.Len() == 0 {
		return "clean"
	}
	return text.String()
}

// Verdict judges the case.
func (c Case) Verdict() Verdict {
	t := newTrial(c)
	for i, arrival := range c.Got {
		t.hear(i, arrival)
	}
	t.close(c)
	return t.verdict
}

// expected is an event that has to come, and what has come of it.
type expected struct {
	Event
	place int    // among the events of its run
	body  []byte // of its first copy; nil: none came
}

// trial is a judgement under way.
type trial struct {
	verdict  Verdict
	events   map[Key]*expected
	length   map[string]int  // events of each run
	latest   map[string]int  // by run: the place of the last copy that came
	furthest map[string]int  // by run: the highest place that came
	heard    map[string]bool // runs of which anything came
	dead     map[Key]bool    // dead letters that are to be expected
	replayed map[string]bool
}

func newTrial(c Case) *trial {
	t := &trial{
		events: make(map[Key]*expected, len(c.Want)), length: map[string]int{}, latest: map[string]int{},
		furthest: map[string]int{}, heard: map[string]bool{}, dead: map[Key]bool{}, replayed: c.Replayed,
	}
	for _, e := range c.Want {
		t.events[e.Key()] = &expected{Event: e, place: t.length[e.Run.ID]}
		t.length[e.Run.ID]++
	}
	for _, key := range c.WantDead {
		t.dead[key] = true
	}
	return t
}

// hear takes the next arrival.
func (t *trial) hear(i int, arrival Arrival) {
	got, err := Decode(arrival.Body)
	if err != nil {
		t.verdict.Spurious = append(t.verdict.Spurious, fmt.Sprintf("arrival %d: %v: %.200s", i, err, arrival.Body))
		return
	}
	key := got.Key()
	want, known := t.events[key]
	if !known {
		t.verdict.Spurious = append(t.verdict.Spurious, fmt.Sprintf("arrival %d: %s, job %v", i, key, got.Run.Job))
		return
	}
	if want.body == nil {
		want.body = arrival.Body
		if difference := differs(want.Event, got); difference != "" {
			t.verdict.Wrong = append(t.verdict.Wrong, fmt.Sprintf("%s: %s", key, difference))
		}
	} else {
		t.verdict.Repeats++
		if !bytes.Equal(want.body, arrival.Body) {
			t.verdict.Different = append(t.verdict.Different, fmt.Sprintf("%s: %s and %s", key, want.body, arrival.Body))
		}
	}
	t.order(i, want)
	t.heard[key.Run] = true
}

// order judges an arrival by what came before it.
func (t *trial) order(i int, e *expected) {
	run := e.Run.ID
	if last, any := t.latest[run]; any && e.place < last && !t.replayed[run] {
		t.verdict.Disorder = append(t.verdict.Disorder,
			fmt.Sprintf("arrival %d: %s came after a later event of the run", i, e.Key()))
	}
	t.latest[run] = e.place
	t.furthest[run] = max(t.furthest[run], e.place)
	if e.Parent != nil && !t.heard[e.Parent.ID] && !t.excused(*e.Parent) {
		t.verdict.Orphans = append(t.verdict.Orphans,
			fmt.Sprintf("arrival %d: %s came before the first event of its parent %v", i, e.Key(), *e.Parent))
	}
}

// excused says whether nothing had to come of a run before its children: it was not to be told to this consumer, or all
// of it may be dead letters.
func (t *trial) excused(parent Run) bool {
	for key := range t.dead {
		if key.Run == parent.ID {
			return true
		}
	}
	return t.length[parent.ID] == 0
}

// close judges what can be said only when all has come.
func (t *trial) close(c Case) {
	for _, e := range c.Want {
		if t.events[e.Key()].body == nil && !t.dead[e.Key()] {
			t.verdict.Missing = append(t.verdict.Missing, fmt.Sprintf("%s, job %v", e.Key(), e.Run.Job))
		}
	}
	for run := range t.replayed {
		if t.latest[run] < t.furthest[run] {
			t.verdict.Disorder = append(t.verdict.Disorder, fmt.Sprintf("the last copy of run %s is not of its last event", run))
		}
	}
	t.letters(c)
	if t.verdict.Repeats > c.Copies {
		t.verdict.Copies = append(t.verdict.Copies, fmt.Sprintf("%d repeats, at most %d may be", t.verdict.Repeats, c.Copies))
	}
}

// letters compares the dead letters.
func (t *trial) letters(c Case) {
	have := map[Key]bool{}
	for _, key := range c.Dead {
		switch {
		case !t.dead[key]:
			t.verdict.Dead = append(t.verdict.Dead, fmt.Sprintf("%s is a dead letter and should not be", key))
		case have[key]:
			t.verdict.Dead = append(t.verdict.Dead, fmt.Sprintf("%s is a dead letter twice", key))
		}
		have[key] = true
	}
	for _, key := range c.WantDead {
		if !have[key] {
			t.verdict.Dead = append(t.verdict.Dead, fmt.Sprintf("%s should be a dead letter", key))
		}
	}
}

// Same compares what two consumers got: an event is the same bytes wherever it goes. It returns a line for each that is
// not.
func Same(a, b []Arrival) []string {
	bodies := map[Key][]byte{}
	for _, arrival := range a {
		if e, err := Decode(arrival.Body); err == nil {
			bodies[e.Key()] = arrival.Body
		}
	}
	var lines []string
	for _, arrival := range b {
		e, err := Decode(arrival.Body)
		if err != nil {
			continue
		}
		if body, both := bodies[e.Key()]; both && !bytes.Equal(body, arrival.Body) {
			lines = append(lines, fmt.Sprintf("%s: %s and %s", e.Key(), body, arrival.Body))
		}
	}
	return lines
}
