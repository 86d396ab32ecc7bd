package deliver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/state"
)

// judgeAll gives answers to runs, the places being the runs' numbers, and returns the rulings.
func judgeAll(s *standing, answer string, probe bool, runs ...int) []ruling {
	var rulings []ruling
	for _, n := range runs {
		rulings = append(rulings, s.judge(attempt{run: testRun(n), seq: int64(n), probe: probe, fault: faultFor(answer)}, epoch))
	}
	return rulings
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestBreakerTrips(t *testing.T) {
	t.Parallel()
	s := newStanding(12, func() float64 { return 1 })
	for _, r := range judgeAll(s, "400", false, upTo(19)...) {
		if r.settlement.Verdict != state.Dead || len(r.putBack.seqs) > 0 {
			t.Fatalf("got %+v", r)
		}
	}
	last := judgeAll(s, "400", false, 19)[0]
	var want []int64
	for i := range 19 {
		want = append(want, int64(i))
	}
	if diff := cmp.Diff(want, last.putBack.seqs); diff != "" || !last.putBack.since.Equal(epoch) {
		t.Errorf("put back since %s: %s", last.putBack.since, diff)
	}
	if last.settlement.Verdict != state.Again || s.phase != held {
		t.Errorf("verdict %d, phase %d", last.settlement.Verdict, s.phase)
	}
	// What was under way, and probes, are nobody's fault either, whatever comes between.
	for _, step := range []struct {
		answer string
		probe  bool
		phase  phase
	}{{"400", false, held}, {"400", true, held}, {"503", true, down}, {"400", true, held}, {"401", true, held}, {"400", true, held}} {
		if r := judgeAll(s, step.answer, step.probe, 30)[0]; r.settlement.Verdict != state.Again || s.phase != step.phase {
			t.Errorf("%s: verdict %d, phase %d", step.answer, r.settlement.Verdict, s.phase)
		}
	}
	// Once something has passed, refusals count again; those that were doubted are final and don't count.
	judgeAll(s, "ok", true, 31)
	if s.phase != open {
		t.Fatalf("phase %d after a success", s.phase)
	}
	for _, r := range judgeAll(s, "400", false, upTo(20)...) {
		if r.settlement.Verdict != state.Dead {
			t.Errorf("place %d: verdict %d", r.settlement.Seq, r.settlement.Verdict)
		}
	}
	if len(s.breaker.runs) != 0 || len(s.breaker.doubted) != 0 {
		t.Errorf("left: %d runs, %d doubted", len(s.breaker.runs), len(s.breaker.doubted))
	}
}

func TestBreakerStreakEndsWithASuccess(t *testing.T) {
	t.Parallel()
	s := newStanding(12, func() float64 { return 1 })
	judgeAll(s, "400", false, upTo(19)...)
	judgeAll(s, "ok", false, 100)
	judgeAll(s, "400", false, upTo(19)...)
	if s.phase != open {
		t.Error("held though something passed between")
	}
	for range 100 {
		judgeAll(s, "400", false, 18) // one run's many events are one run
	}
	if s.phase != open {
		t.Error("held for one run's events")
	}
}

// The probes of a destination that refuses everything begin with runs that it has not refused yet.
func TestBreakerProbesOthersFirst(t *testing.T) {
	t.Parallel()
	s := newStanding(12, func() float64 { return 1 })
	judgeAll(s, "400", false, upTo(20)...)
	for i := range 20 {
		if _, ok := s.probed[testRun(i)]; !ok {
			t.Errorf("run %d is free for a probe", i)
		}
	}
	for i := range 100 {
		s.probing(testRun(100 + i))
	}
	if len(s.probed) > maxProbed {
		t.Errorf("%d probed runs are remembered", len(s.probed))
	}
}

func TestAlone(t *testing.T) {
	t.Parallel()
	type try struct {
		answer    string
		successes uint64
		want      int
		pass      bool
	}
	tests := map[string][]try{
		"others pass": {{"503", 0, 1, false}, {"503", 1, 2, true}, {"500", 7, 3, true}},
		"an outage accuses nobody": {
			{"503", 5, 1, false}, {"503", 5, 1, false}, {"503", 5, 1, false}, {"503", 6, 2, true},
		},
		"silence counts by its kind": {
			{"timeout", 0, 1, false}, {"timeout", 1, 2, true}, {"connection", 2, 1, true}, {"503", 3, 1, true},
		},
		"later is no failure": {{"503", 0, 1, false}, {"503", 1, 2, true}, {"429", 2, 0, true}, {"503", 3, 1, false}},
	}
	for name, tries := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a aloneness
			for i, try := range tries {
				got, pass := a.failed(1, faultFor(try.answer), try.successes)
				if got != try.want || pass != try.pass {
					t.Errorf("try %d: %d, %v; want %d, %v", i, got, pass, try.want, try.pass)
				}
			}
		})
	}
}

func TestAloneRemembersOnlySoMany(t *testing.T) {
	t.Parallel()
	var a aloneness
	for seq := range int64(maxAlone + 100) {
		a.failed(seq, faultFor("503"), 0)
	}
	if len(a.events) != maxAlone {
		t.Errorf("%d events", len(a.events))
	}
	a.forget(1)
	if n, _ := a.failed(maxAlone+50, faultFor("503"), 0); n != 1 {
		t.Error("no room after one was forgotten")
	}
}

// An event that alone fails is buried at the last of its tries and not before.
func TestTiredEvent(t *testing.T) {
	t.Parallel()
	s := newStanding(3, func() float64 { return 1 })
	for i, want := range []state.Verdict{state.Again, state.Again, state.Dead, state.Again} {
		got := judgeAll(s, "503", false, 1)[0]
		if got.settlement.Verdict != want {
			t.Errorf("try %d: verdict %d, want %d", i, got.settlement.Verdict, want)
		}
		if want == state.Dead && (len(got.news) != 1 || !got.news[0].tired) {
			t.Errorf("news %+v", got.news)
		}
		judgeAll(s, "ok", false, 2)
	}
	// A hold or a refusal between ends the count.
	judgeAll(s, "503", false, 1)
	judgeAll(s, "401", false, 1)
	if len(s.alone.events) != 0 {
		t.Error("still counted")
	}
}

func TestPortion(t *testing.T) {
	t.Parallel()
	claim := func(n, size int) []state.Delivery {
		deliveries := make([]state.Delivery, n)
		for i := range deliveries {
			deliveries[i].Event.Body = make([]byte, size)
		}
		return deliveries
	}
	p := portion{limit: firstPortion}
	for range 10 {
		p.claimed(claim(p.limit, 3000))
	}
	if p.limit != maxPortion {
		t.Errorf("small events: %d", p.limit)
	}
	p.claimed(claim(10, 3000))
	if p.limit != maxPortion {
		t.Errorf("few events: %d", p.limit)
	}
	p.claimed(claim(p.limit, 64<<10))
	if p.limit != 64 {
		t.Errorf("big events: %d", p.limit)
	}
	p.claimed(claim(2, 20<<20))
	if p.limit != 1 {
		t.Errorf("huge events: %d", p.limit)
	}
	p.claimed(claim(1, 100))
	if p.limit != 2 {
		t.Errorf("small events again: %d", p.limit)
	}
}

func TestReporterIsNotTalkative(t *testing.T) {
	t.Parallel()
	r, logs := observed()
	now := epoch
	for range 600 { // down and up again, twice a second
		r.report(news{kind: blocked, phase: down, fault: faultFor("503"), count: 5}, nil, now)
		now = now.Add(250 * time.Millisecond)
		r.report(news{kind: recovered, phase: down, count: 5}, nil, now)
		now = now.Add(250 * time.Millisecond)
	}
	if got := logs.Len(); got != 2*10 {
		t.Errorf("%d lines in five minutes", got)
	}
}

func TestReporterTellsNewReasons(t *testing.T) {
	t.Parallel()
	r, logs := observed()
	now := epoch
	say := func(kind newsKind, reason string, after time.Duration) {
		now = now.Add(after)
		r.report(news{kind: kind, phase: down, fault: faultFor(reason)}, nil, now)
	}
	say(blocked, "connection", 0)
	say(still, "connection", time.Minute)
	say(still, "503", time.Second)        // new: a minute after the last line
	say(still, "timeout", 10*time.Second) // new, but too soon
	say(still, "timeout", 20*time.Second)
	say(still, "timeout", 5*time.Minute)
	say(still, "timeout", 5*time.Minute) // a reminder
	var reasons []string
	for _, entry := range logs.All() {
		reasons = append(reasons, entry.ContextMap()["reason"].(string))
	}
	if diff := cmp.Diff([]string{"connection", "503", "timeout", "timeout"}, reasons); diff != "" {
		t.Error(diff)
	}
}

func TestSettledEventsAreForgotten(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"ok", "400", "401"} {
		s := newStanding(12, func() float64 { return 1 })
		judgeAll(s, "503", false, 1)
		judgeAll(s, last, false, 1)
		if len(s.alone.events) != 0 {
			t.Errorf("after %s the event is still remembered", last)
		}
	}
}

func TestAnotherTroubleBeginsAnew(t *testing.T) {
	t.Parallel()
	s := newStanding(12, func() float64 { return 1 })
	s.judge(attempt{run: testRun(1), fault: faultFor("connection")}, epoch)
	s.judge(attempt{run: testRun(1), fault: faultFor("connection")}, epoch.Add(time.Second))
	s.judge(attempt{run: testRun(1), fault: faultFor("connection")}, epoch.Add(2*time.Second))
	if s.failures != 3 || !s.since.Equal(epoch) {
		t.Errorf("down: %d failures since %s", s.failures, s.since)
	}
	later := epoch.Add(time.Hour)
	r := s.judge(attempt{run: testRun(1), probe: true, fault: faultFor("401")}, later)
	if s.failures != 1 || !s.since.Equal(later) || len(r.news) != 1 || r.news[0].kind != blocked || r.news[0].phase != held {
		t.Errorf("held: %d failures since %s, news %+v", s.failures, s.since, r.news)
	}
	r = s.judge(attempt{run: testRun(1), probe: true}, later.Add(time.Minute))
	if len(r.news) != 1 || r.news[0].kind != recovered || r.news[0].lasted != time.Minute || r.news[0].count != 1 {
		t.Errorf("news %+v", r.news)
	}
}

// A run that alone waits does not make its destination look down, but a long time without a success is told of.
func TestReporterRemindsOfAStreak(t *testing.T) {
	t.Parallel()
	r, logs := observed()
	now := epoch
	d := &state.Delivery{}
	for n := range 60 { // half an hour
		r.report(news{kind: troubled, fault: faultFor("503"), count: n + 1, lasted: now.Sub(epoch)}, d, now)
		now = now.Add(30 * time.Second)
	}
	r.report(news{kind: recovered, phase: open, count: 60, lasted: now.Sub(epoch)}, d, now)
	var lines []string
	for _, entry := range logs.All() {
		lines = append(lines, entry.Message)
	}
	want := []string{
		"an event could not be delivered, trying again", "still nothing could be delivered", "still nothing could be delivered",
		"destination takes events again",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
