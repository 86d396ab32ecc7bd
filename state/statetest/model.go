package statetest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
)

// model is a store as the contract describes it, in the plainest way: it looks through everything to answer anything.
type model struct {
	clock  *Clock
	seq    int64
	letter int64
	dests  []*modelDest
	rows   []*modelRow // in the outbox's order
	keys   map[adapter.Key]*modelKey
	told   map[uuid.UUID]modelTold
	cursor string
}

type modelDest struct {
	name, after string
	gone        bool
	parked      time.Time
}

func (d *modelDest) open() bool { return !d.gone && d.parked.IsZero() }

type rowState int

const (
	pending rowState = iota
	dead
	kept
	skipped
)

type modelRow struct {
	seq      int64
	event    adapter.Event
	dest     string
	state    rowState
	due      time.Time
	attempts int
	letter   int64
}

type modelKey struct {
	given map[string]bool
	said  time.Time
}

type modelTold struct {
	told    adapter.Told
	touched time.Time
}

func newModel(clock *Clock) *model {
	return &model{clock: clock, keys: map[adapter.Key]*modelKey{}, told: map[uuid.UUID]modelTold{}}
}

func (m *model) dest(name string) *modelDest {
	for _, d := range m.dests {
		if d.name == name {
			return d
		}
	}
	return nil
}

func (m *model) names() []string {
	var all []string
	for _, d := range m.dests {
		all = append(all, d.name)
	}
	return all
}

func (m *model) find(match func(r *modelRow) bool) *modelRow {
	if i := slices.IndexFunc(m.rows, match); i >= 0 {
		return m.rows[i]
	}
	return nil
}

func (m *model) row(seq int64, dest string) *modelRow {
	return m.find(func(r *modelRow) bool { return r.seq == seq && r.dest == dest })
}

func (m *model) register(list []state.Destination) {
	for _, d := range m.dests {
		d.gone = true
	}
	for _, d := range list {
		known := m.dest(d.Name)
		if known == nil {
			known = &modelDest{name: d.Name}
			m.dests = append(m.dests, known)
		}
		known.gone, known.after = false, d.After
	}
}

func (m *model) commit(batch state.Batch) (done state.Committed) {
	for _, told := range batch.Told {
		old, known := m.told[told.ID]
		next := modelTold{told: told, touched: m.clock.Now()}
		if known && old.told.Phase == told.Phase && old.told.EndType == told.EndType && old.told.End.Equal(told.End) {
			next.touched = old.touched
		}
		m.told[told.ID] = next
	}
	for _, event := range batch.Events {
		m.enqueue(event, batch, &done)
	}
	for _, value := range batch.Cursors {
		m.cursor = string(value)
	}
	return done
}

func (m *model) enqueue(event adapter.Event, batch state.Batch, done *state.Committed) {
	key, known := m.keys[event.Key()]
	if !known {
		key = &modelKey{given: map[string]bool{}, said: m.clock.Now()}
	}
	var targets []string
	for _, d := range m.dests {
		wanted := d.open()
		if batch.Destinations != nil {
			wanted = slices.Contains(batch.Destinations, d.name)
		}
		switch {
		case !wanted, known && batch.Destinations == nil && !batch.Resend:
		case key.given[d.name] && (!batch.Resend || m.find(func(r *modelRow) bool {
			return r.dest == d.name && r.state == pending && r.event.Key() == event.Key()
		}) != nil):
		default:
			targets = append(targets, d.name)
		}
	}
	if known && len(targets) == 0 {
		done.Repeated++
		return
	}
	m.keys[event.Key()] = key
	done.Enqueued++
	if len(targets) == 0 {
		return
	}
	m.seq++
	done.LastSeq = m.seq
	for _, name := range targets {
		key.given[name] = true
		m.rows = append(m.rows, &modelRow{seq: m.seq, event: event, dest: name})
	}
}

// blocked says whether the contract keeps a pending row from being sent.
func (m *model) blocked(r *modelRow) bool {
	return m.find(func(o *modelRow) bool {
		if o.state != pending {
			return false
		}
		older := o.dest == r.dest && o.event.Run == r.event.Run && o.seq < r.seq
		ancestor := o.dest == r.dest && o.event.First && r.event.Ancestor != uuid.Nil &&
			r.event.Ancestor != r.event.Run && o.event.Run == r.event.Ancestor
		before := o.seq == r.seq && o.dest == m.dest(r.dest).after
		return older || ancestor || before
	}) != nil
}

func (m *model) claim(name string) []*modelRow {
	var due []*modelRow
	if !m.dest(name).open() {
		return nil
	}
	now := m.clock.Now()
	for _, r := range m.rows {
		if r.dest != name || r.state != pending || m.blocked(r) {
			continue
		}
		if r.due.IsZero() || !r.due.After(now) || r.due.After(now.Add(15*time.Minute)) {
			due = append(due, r)
		}
	}
	return due
}

func (m *model) settle(name string, settlement state.Settlement) {
	r := m.row(settlement.Seq, name)
	if r == nil || r.state != pending {
		return
	}
	switch settlement.Verdict {
	case state.Delivered:
		if m.olderOf(r, pending) {
			return
		}
		if m.olderOf(r, dead) || m.olderOf(r, skipped) {
			r.state, r.due = kept, time.Time{}
		} else {
			m.remove(r)
		}
	case state.Again:
		r.due, r.attempts = settlement.Due, r.attempts+1
	case state.Dead:
		m.letter++
		r.state, r.letter, r.attempts, r.due = dead, m.letter, r.attempts+1, time.Time{}
		m.skipAfter(r, true)
	case state.Skipped:
		m.remove(r)
		m.skipAfter(r, false)
	}
}

func (m *model) olderOf(r *modelRow, in rowState) bool {
	return m.find(func(o *modelRow) bool {
		return o.dest == r.dest && o.event.Run == r.event.Run && o.seq < r.seq && o.state == in
	}) != nil
}

func (m *model) remove(r *modelRow) {
	m.rows = slices.DeleteFunc(m.rows, func(o *modelRow) bool { return o == r })
}

func (m *model) after(name string) []string {
	var next []string
	for _, d := range m.dests {
		if d.after == name {
			next = append(next, d.name)
		}
	}
	return next
}

func (m *model) skipAfter(r *modelRow, keep bool) {
	for _, name := range m.after(r.dest) {
		below := m.row(r.seq, name)
		if below == nil || below.state != pending {
			continue
		}
		if keep {
			below.state, below.due = skipped, time.Time{}
		} else {
			m.remove(below)
		}
		m.skipAfter(below, keep)
	}
}

func (m *model) letters() []*modelRow {
	var all []*modelRow
	for _, r := range m.rows {
		if r.state == dead {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *modelRow) int { return cmp.Compare(a.letter, b.letter) })
	return all
}

func (m *model) replay(id int64) int {
	r := m.find(func(r *modelRow) bool { return r.state == dead && r.letter == id })
	if r == nil {
		return 0
	}
	return m.revive(r)
}

// revive brings a settled row and its run's later ones at that destination back.
func (m *model) revive(from *modelRow) int {
	n := 0
	for _, r := range slices.Clone(m.rows) {
		if r.dest != from.dest || r.event.Run != from.event.Run || r.seq < from.seq || r.state == pending {
			continue
		}
		r.state, r.attempts, r.letter, r.due = pending, 0, 0, time.Time{}
		n++
		for _, name := range m.after(r.dest) {
			if below := m.row(r.seq, name); below != nil && below.state == skipped {
				n += m.revive(below)
			}
		}
	}
	return n
}

func (m *model) drop(id int64) int {
	r := m.find(func(r *modelRow) bool { return r.state == dead && r.letter == id })
	if r == nil {
		return 0
	}
	m.discard(r)
	return 1
}

func (m *model) discard(r *modelRow) {
	m.remove(r)
	for _, o := range slices.Clone(m.rows) {
		if o.dest == r.dest && o.event.Run == r.event.Run && o.state == kept && !m.olderOf(o, dead) && !m.olderOf(o, skipped) {
			m.remove(o)
		}
	}
	for _, name := range m.after(r.dest) {
		if below := m.row(r.seq, name); below != nil && below.state == skipped {
			m.discard(below)
		}
	}
}

func (m *model) purge(before time.Time) (runs int) {
	for id, entry := range m.told {
		lately := !entry.told.End.IsZero() && !entry.told.End.Before(before)
		if entry.told.Phase != adapter.Open && entry.touched.Before(before) && !lately {
			delete(m.told, id)
			runs++
		}
	}
	maps.DeleteFunc(m.keys, func(key adapter.Key, k *modelKey) bool {
		_, told := m.told[key.Run]
		inOutbox := m.find(func(r *modelRow) bool { return r.event.Run == key.Run }) != nil
		return !told && !inOutbox && k.said.Before(before)
	})
	return runs
}

// status is what Status says of a destination, without the times.
func (m *model) status(d *modelDest) (s state.DestinationStatus) {
	s.Name, s.After, s.Gone, s.ParkedSince, s.Parked = d.name, d.after, d.gone, d.parked, !d.open()
	for _, r := range m.rows {
		switch {
		case r.dest != d.name:
		case r.state == pending:
			if s.Pending++; s.OldestSeq == 0 {
				s.OldestSeq = r.seq
			}
		case r.state == dead:
			s.Dead++
		}
	}
	return s
}

func (m *model) events() int64 {
	seqs := map[int64]bool{}
	for _, r := range m.rows {
		seqs[r.seq] = true
	}
	return int64(len(seqs))
}
