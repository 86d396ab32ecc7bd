package deliver

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

// When failures with no success between mean that the destination is down.
const (
	downRuns   = 5  // failures of so many runs
	downSilent = 3  // tries that met with no answer at all; see silence
	maxProbed  = 64 // probes rotate over so many runs
)

// phase is how a destination may be used.
type phase uint8

const (
	open phase = iota // events go out
	down              // one probe at a time, with growing waits
	held              // one probe every holdWait
)

// attempt is what came of sending one event.
type attempt struct {
	run      uuid.UUID
	seq      int64
	attempts int // before this one
	probe    bool
	fault    *transport.Error // nil: delivered
}

// ruling is what follows from an attempt.
type ruling struct {
	settlement state.Settlement
	putBack    letters // dead letters that were none
	news       []news
}

// standing is what a destination's answers so far say about it. It decides and does nothing else: no I/O, no clock.
type standing struct {
	jitter   func() float64
	maxTries int // of an event that alone fails

	phase     phase
	breaking  bool      // everything is refused: until a success a refusal is no event's fault
	since     time.Time // of the phase, or of the first failure while open; zero: all is well
	failures  int       // since then
	fault     *transport.Error
	successes uint64

	// While open: what has failed since the last success.
	silent     int
	failedRuns map[uuid.UUID]struct{}
	// While not: when to probe, and with what not, since it was tried already.
	probeAt time.Time
	step    int
	probed  map[uuid.UUID]struct{}

	alone   aloneness
	breaker breaker
}

func newStanding(maxTries int, jitter func() float64) *standing {
	return &standing{
		jitter: jitter, maxTries: maxTries,
		failedRuns: make(map[uuid.UUID]struct{}), probed: make(map[uuid.UUID]struct{}),
	}
}

// judge decides what becomes of an attempted event and how the destination stands from now on.
func (s *standing) judge(a attempt, now time.Time) ruling {
	if a.fault == nil {
		return s.delivered(a, now)
	}
	switch a.fault.Outcome {
	case transport.Hold:
		return s.misconfigured(a, now)
	case transport.Permanent:
		return s.refused(a, now)
	default:
		return s.failed(a, now)
	}
}

func (s *standing) delivered(a attempt, now time.Time) ruling {
	s.successes++
	s.breaking = false
	s.alone.forget(a.seq)
	s.breaker.passed(a.seq)
	r := ruling{settlement: state.Settlement{Seq: a.seq, Verdict: state.Delivered}}
	s.answered(&r, a, now)
	return r
}

// answered ends a streak of failures, and a probe's answer the destination's bad phase.
func (s *standing) answered(r *ruling, a attempt, now time.Time) {
	if s.failures == 0 || s.phase != open && !a.probe {
		return
	}
	r.news = append(r.news, news{kind: recovered, phase: s.phase, count: s.failures, lasted: now.Sub(s.since)})
	s.phase, s.failures, s.fault, s.since = open, 0, nil, time.Time{}
	s.silent, s.step = 0, 0
	clear(s.failedRuns)
	clear(s.probed)
}

// misconfigured deals with an answer that no event can change.
func (s *standing) misconfigured(a attempt, now time.Time) ruling {
	r := ruling{settlement: again(a, now)}
	if s.phase == open || a.probe {
		s.alone.forget(a.seq)
		s.block(&r, held, a.fault, now)
	}
	return r
}

// failed deals with trouble that passes.
func (s *standing) failed(a attempt, now time.Time) ruling {
	r := ruling{settlement: again(a, now)}
	asked := min(a.fault.RetryAfter, maxRetryAfter)
	if s.phase != open {
		if a.probe {
			s.block(&r, down, a.fault, now)
		}
		s.postpone(asked, now)
		return r
	}
	tries, othersPass := s.alone.failed(a.seq, a.fault, s.successes)
	if othersPass && tries >= s.maxTries {
		s.alone.forget(a.seq)
		return s.dead(a, true)
	}
	s.silent += s.silence(a)
	s.failedRuns[a.run] = struct{}{}
	if asked > 0 || len(s.failedRuns) >= downRuns || s.silent >= downSilent {
		s.block(&r, down, a.fault, now)
		s.postpone(asked, now)
		r.settlement.Due = now.Add(asked)
		return r
	}
	s.fail(a.fault, now)
	r.news = append(r.news, news{
		kind: troubled, fault: a.fault, count: s.failures, alone: tries, lasted: now.Sub(s.since),
	})
	limit := maxProbeWait // as long as it may be the destination's fault
	if othersPass {
		limit = maxLaneWait
	}
	r.settlement.Due = now.Add(backoff(a.attempts, limit, s.jitter()))
	return r
}

// silence returns how much a failure adds to the signs that nobody is there. A time-out may be the event's own, one
// that takes the consumer too long, and so may what nobody knows: then the run's next tries say nothing new, and the
// events of others must not wait for it.
func (s *standing) silence(a attempt) int {
	if a.fault.Status != 0 {
		return 0
	}
	own := a.fault.Reason == transport.ReasonTimeout || a.fault.Reason == transport.ReasonOther
	if _, again := s.failedRuns[a.run]; own && again {
		return 0
	}
	return 1
}

// refused deals with an event that will never be taken.
func (s *standing) refused(a attempt, now time.Time) ruling {
	s.alone.forget(a.seq)
	if s.breaking {
		r := ruling{settlement: again(a, now)}
		if a.probe {
			s.block(&r, held, a.fault, now)
		}
		return r
	}
	if s.breaker.refused(a.run, a.seq, now) {
		return s.blameDestination(a, now)
	}
	r := s.dead(a, false)
	s.answered(&r, a, now)
	return r
}

// blameDestination holds a destination that refuses everything, and puts back what it has refused.
func (s *standing) blameDestination(a attempt, now time.Time) ruling {
	streak, runs := s.breaker.trip()
	streak.seqs = slices.DeleteFunc(streak.seqs, func(seq int64) bool { return seq == a.seq })
	r := ruling{settlement: again(a, now), putBack: streak}
	s.breaking = true
	s.block(&r, held, a.fault, now)
	r.news = append(r.news, news{kind: putBack, count: len(streak.seqs)})
	for _, run := range runs { // try something else before these
		s.probed[run] = struct{}{}
	}
	return r
}

// dead makes the event a dead letter.
func (s *standing) dead(a attempt, tired bool) ruling {
	settlement := again(a, time.Time{})
	settlement.Verdict = state.Dead
	return ruling{
		settlement: settlement,
		news:       []news{{kind: buried, fault: a.fault, tired: tired, count: a.attempts + 1}},
	}
}

// block puts the destination into a bad phase, or keeps it there after one more failed probe, and sets the next probe.
func (s *standing) block(r *ruling, to phase, fault *transport.Error, now time.Time) {
	changed := s.phase != to
	if changed && s.phase != open { // another trouble
		s.failures = 0
	}
	s.fail(fault, now)
	if changed {
		s.phase, s.step = to, 0
		r.news = append(r.news, news{kind: blocked, phase: to, fault: fault, count: s.failures})
	} else {
		s.step++
		r.news = append(r.news, news{kind: still, phase: to, fault: fault, count: s.failures, lasted: now.Sub(s.since)})
	}
	if to == held {
		s.probeAt = now.Add(holdWait)
		return
	}
	s.probeAt = now.Add(backoff(s.step, maxProbeWait, s.jitter()))
}

// fail counts a failure since the last success.
func (s *standing) fail(fault *transport.Error, now time.Time) {
	if s.failures == 0 {
		s.since = now
	}
	s.failures++
	s.fault = fault
}

// postpone moves the next probe behind the wait that the consumer asked for.
func (s *standing) postpone(asked time.Duration, now time.Time) {
	if at := now.Add(asked); asked > 0 && s.phase == down && at.After(s.probeAt) {
		s.probeAt = at
	}
}

// recheck makes the next probe of a held destination due at once.
func (s *standing) recheck(now time.Time) {
	if s.phase == held {
		s.probeAt = now
	}
}

// probing remembers the run that a probe was made with, so that the next is made with another.
func (s *standing) probing(run uuid.UUID) {
	if len(s.probed) >= maxProbed {
		clear(s.probed)
	}
	s.probed[run] = struct{}{}
}

// again leaves the event pending, due at once: where the whole destination waits, its lane need not.
func again(a attempt, due time.Time) state.Settlement {
	return state.Settlement{
		Seq: a.seq, Verdict: state.Again, Due: due,
		Reason: a.fault.Reason, Status: a.fault.Status, Answer: a.fault.Answer,
	}
}
