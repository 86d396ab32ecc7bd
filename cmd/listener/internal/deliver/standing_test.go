package deliver

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// Faults by the words that the tables below use.
func faultFor(word string) *transport.Error {
	f := &transport.Error{Reason: word, Err: errors.New(word)}
	switch word {
	case "ok":
		return nil
	case "503", "500":
		f.Status = 500
	case "429":
		f.Status = 429
	case "429 in 2m":
		f.Status, f.RetryAfter = 429, 2*time.Minute
	case "503 in a day":
		f.Status, f.RetryAfter = 503, 24*time.Hour
	case "401":
		f.Status, f.Outcome = 401, transport.Hold
	case "400":
		f.Status, f.Outcome = 400, transport.Permanent
	}
	return f
}

// step is one attempt: with the event of run n, whose place is n too unless seq says so.
type step struct {
	run      int
	answer   string
	probe    bool
	attempts int
	after    time.Duration // since the step before

	want  state.Verdict
	due   time.Duration // from now, for Again
	phase phase
	next  time.Duration // the next probe, from now, where the destination is down or held
}

func TestStanding(t *testing.T) {
	t.Parallel()
	const (
		delivered = state.Delivered
		again     = state.Again
		dead      = state.Dead
		s         = time.Second
	)
	tests := map[string][]step{
		"delivered": {
			{run: 1, answer: "ok", want: delivered},
		},
		"a failure waits in its lane": {
			{run: 1, answer: "503", want: again, due: s},
			{run: 1, answer: "503", attempts: 1, want: again, due: 2 * s},
			{run: 1, answer: "503", attempts: 2, want: again, due: 4 * s},
			{run: 1, answer: "503", attempts: 4, want: again, due: 16 * s},
			{run: 1, answer: "503", attempts: 5, want: again, due: 30 * s},
			{run: 1, answer: "503", attempts: 500, want: again, due: 30 * s},
		},
		"longer once others pass": {
			{run: 1, answer: "503", attempts: 10, want: again, due: 30 * s},
			{run: 2, answer: "ok", want: delivered},
			{run: 1, answer: "503", attempts: 11, want: again, due: 300 * s},
			{run: 1, answer: "503", attempts: 12, want: again, due: 30 * s},
		},
		"one run alone does not make a destination down by 5xx": {
			{run: 1, answer: "503", want: again, due: s},
			{run: 1, answer: "503", want: again, due: s},
			{run: 1, answer: "503", want: again, due: s},
			{run: 1, answer: "503", want: again, due: s},
			{run: 1, answer: "503", want: again, due: s},
			{run: 1, answer: "503", want: again, due: s},
		},
		"five runs do": {
			{run: 1, answer: "503", want: again, due: s},
			{run: 2, answer: "503", want: again, due: s},
			{run: 3, answer: "429", want: again, due: s},
			{run: 4, answer: "503", want: again, due: s},
			{run: 5, answer: "503", want: again, phase: down, next: s},
			{run: 6, answer: "503", want: again, phase: down, next: s},
		},
		"a success between": {
			{run: 1, answer: "503", want: again, due: s},
			{run: 2, answer: "503", want: again, due: s},
			{run: 3, answer: "503", want: again, due: s},
			{run: 4, answer: "503", want: again, due: s},
			{run: 6, answer: "ok", want: delivered},
			{run: 5, answer: "503", want: again, due: s},
		},
		"a refusal between shows that it lives": {
			{run: 1, answer: "timeout", want: again, due: s},
			{run: 2, answer: "timeout", want: again, due: s},
			{run: 3, answer: "400", want: dead},
			{run: 4, answer: "timeout", want: again, due: s},
		},
		"silence three times, of one run too": {
			{run: 1, answer: "timeout", want: again, due: s},
			{run: 1, answer: "connection", want: again, due: s},
			{run: 1, answer: "connection", want: again, phase: down, next: s},
		},
		"time-outs of one run alone are its own": {
			{run: 1, answer: "timeout", want: again, due: s},
			{run: 1, answer: "timeout", attempts: 1, want: again, due: 2 * s},
			{run: 1, answer: "timeout", attempts: 2, want: again, due: 4 * s},
			{run: 1, answer: "timeout", attempts: 9, want: again, due: 30 * s},
			{run: 2, answer: "timeout", want: again, due: s},
			{run: 1, answer: "timeout", attempts: 10, want: again, due: 30 * s},
			{run: 3, answer: "timeout", want: again, phase: down, next: s},
		},
		"what nobody knows too": {
			{run: 1, answer: "other", want: again, due: s},
			{run: 1, answer: "other", want: again, due: s},
			{run: 1, answer: "other", want: again, due: s},
			{run: 1, answer: "other", want: again, due: s},
		},
		"a proxy's trouble is nobody's own": {
			{run: 1, answer: "proxy", want: again, due: s},
			{run: 1, answer: "proxy", want: again, due: s},
			{run: 1, answer: "proxy", want: again, phase: down, next: s},
		},
		"probes wait longer and longer, up to half a minute": {
			{run: 1, answer: "connection", want: again, due: s},
			{run: 2, answer: "connection", want: again, due: s},
			{run: 3, answer: "connection", want: again, phase: down, next: s},
			{run: 1, answer: "connection", probe: true, after: s, want: again, phase: down, next: 2 * s},
			{run: 2, answer: "503", probe: true, after: 2 * s, want: again, phase: down, next: 4 * s},
			{run: 3, answer: "503", probe: true, after: 4 * s, want: again, phase: down, next: 8 * s},
			{run: 4, answer: "503", probe: true, after: 8 * s, want: again, phase: down, next: 16 * s},
			{run: 5, answer: "503", probe: true, after: 16 * s, want: again, phase: down, next: 30 * s},
			{run: 6, answer: "503", probe: true, after: 30 * s, want: again, phase: down, next: 30 * s},
			{run: 7, answer: "ok", probe: true, after: 30 * s, want: delivered},
			{run: 8, answer: "connection", want: again, due: s},
		},
		"only a probe ends it": {
			{run: 1, answer: "connection", want: again, due: s},
			{run: 2, answer: "connection", want: again, due: s},
			{run: 3, answer: "connection", want: again, phase: down, next: s},
			{run: 4, answer: "ok", want: delivered, phase: down, next: s},
			{run: 5, answer: "401", want: again, phase: down, next: s},
			{run: 6, answer: "400", want: dead, phase: down, next: s},
			{run: 7, answer: "400", probe: true, want: dead},
		},
		"come later": {
			{run: 1, answer: "429 in 2m", want: again, due: 120 * s, phase: down, next: 120 * s},
			{run: 2, answer: "429 in 2m", after: s, want: again, phase: down, next: 120 * s},
			{run: 3, answer: "503", after: s, want: again, phase: down, next: 119 * s},
			{run: 1, answer: "ok", probe: true, after: 119 * s, want: delivered},
		},
		"not a day later": {
			{run: 1, answer: "503 in a day", want: again, due: 900 * s, phase: down, next: 900 * s},
		},
		"a probe is told to come later": {
			{run: 1, answer: "429 in 2m", want: again, due: 120 * s, phase: down, next: 120 * s},
			{run: 2, answer: "429 in 2m", probe: true, after: 120 * s, want: again, phase: down, next: 120 * s},
		},
		"held": {
			{run: 1, answer: "401", want: again, phase: held, next: 30 * s},
			{run: 2, answer: "401", after: s, want: again, phase: held, next: 29 * s},
			{run: 3, answer: "ok", want: delivered, phase: held, next: 29 * s},
			{run: 4, answer: "401", probe: true, after: 29 * s, want: again, phase: held, next: 30 * s},
			{run: 5, answer: "ok", probe: true, after: 30 * s, want: delivered},
		},
		"held, then down": {
			{run: 1, answer: "401", want: again, phase: held, next: 30 * s},
			{run: 2, answer: "connection", probe: true, after: 30 * s, want: again, phase: down, next: s},
			{run: 2, answer: "401", probe: true, after: s, want: again, phase: held, next: 30 * s},
		},
		"refused": {
			{run: 1, answer: "400", want: dead},
			{run: 1, answer: "400", want: dead},
			{run: 2, answer: "ok", want: delivered},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			standing := newStanding(12, func() float64 { return 1 })
			now := epoch
			for i, step := range steps {
				now = now.Add(step.after)
				got := standing.judge(attempt{
					run: testRun(step.run), seq: int64(step.run), attempts: step.attempts, probe: step.probe,
					fault: faultFor(step.answer),
				}, now).settlement
				if got.Verdict != step.want || got.Verdict == again && got.Due.Sub(now) != step.due {
					t.Errorf("step %d: verdict %d due in %s, want %d in %s", i, got.Verdict, got.Due.Sub(now), step.want, step.due)
				}
				if standing.phase != step.phase {
					t.Errorf("step %d: phase %d, want %d", i, standing.phase, step.phase)
				}
				if next := standing.probeAt.Sub(now); step.phase != open && next != step.next {
					t.Errorf("step %d: next probe in %s, want %s", i, next, step.next)
				}
			}
		})
	}
}

func testRun(n int) uuid.UUID { return uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n)) }

func TestSettlementTellsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, outcome := range []transport.Outcome{transport.Retry, transport.Hold, transport.Permanent} {
		standing := newStanding(12, func() float64 { return 1 })
		got := standing.judge(attempt{seq: 7, fault: &transport.Error{
			Outcome: outcome, Reason: "why", Status: 418, Answer: []byte("teapot"),
		}}, epoch).settlement
		got.Due, got.Verdict = time.Time{}, 0
		want := state.Settlement{Seq: 7, Reason: "why", Status: 418, Answer: []byte("teapot")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", outcome, diff)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tries  int
		limit  time.Duration
		jitter float64
		want   time.Duration
	}{
		{0, maxLaneWait, 1, time.Second},
		{0, maxLaneWait, 0.5, 500 * time.Millisecond},
		{0, maxLaneWait, 0, minWait},
		{3, maxLaneWait, 1, 8 * time.Second},
		{8, maxLaneWait, 1, 256 * time.Second},
		{9, maxLaneWait, 1, 5 * time.Minute},
		{29, maxLaneWait, 1, 5 * time.Minute},
		{1 << 40, maxLaneWait, 1, 5 * time.Minute},
		{-1, maxLaneWait, 1, time.Second},
		{5, maxProbeWait, 1, 30 * time.Second},
		{5, maxProbeWait, 0.1, 3 * time.Second},
	}
	for _, tt := range tests {
		if got := backoff(tt.tries, tt.limit, tt.jitter); got != tt.want {
			t.Errorf("backoff(%d, %s, %v) = %s, want %s", tt.tries, tt.limit, tt.jitter, got, tt.want)
		}
	}
}

func TestReached(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ahead time.Duration
		want  bool
	}{
		{-time.Second, true}, {0, true}, {time.Nanosecond, false}, {15 * time.Minute, false},
		{15*time.Minute + 1, true}, // no wait is as long: the clock went back
	}
	for _, tt := range tests {
		if got := reached(epoch.Add(tt.ahead), epoch); got != tt.want {
			t.Errorf("%s ahead: %v", tt.ahead, got)
		}
	}
}

func TestDues(t *testing.T) {
	t.Parallel()
	var d dues
	if _, ok := d.next(); ok || d.pop(epoch) {
		t.Error("something is due in nothing")
	}
	for _, n := range []int{3, 1, 2} {
		d.add(epoch.Add(time.Duration(n) * time.Second))
	}
	if at, _ := d.next(); !at.Equal(epoch.Add(time.Second)) {
		t.Errorf("next at %s", at)
	}
	if d.pop(epoch) {
		t.Error("due too early")
	}
	if !d.pop(epoch.Add(2 * time.Second)) {
		t.Error("not due")
	}
	if at, _ := d.next(); !at.Equal(epoch.Add(3 * time.Second)) {
		t.Errorf("next at %s", at)
	}
}
