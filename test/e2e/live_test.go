package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// httpSink are the settings that deliver to a sink over HTTP.
func httpSink(url string) string { return "OPENLINEAGE_URL=" + url }

func taken(t *testing.T, sink *transporttest.Sink) []told.Event {
	t.Helper()
	var lines [][]byte
	for _, r := range sink.Taken() {
		lines = append(lines, r.Body)
	}
	return told.Decode(t, lines)
}

// A flow with 300 mapped tasks while the listener runs: every event, each once, in order, and soon.
func TestMappedLive(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	sink := transporttest.NewSink(t)
	l := rig.NewListener(t, p.URL, httpSink(sink.URL()))
	l.Start()
	bare := startWatch(t, p)
	p.RunFlows("mapped_300")
	want := told.Settled(t, p)
	rig.Eventually(t, time.Minute, "602 events have come", func() bool { return len(sink.Taken()) >= 602 })
	got := taken(t, sink)
	if len(got) != 602 || len(want) != 301 {
		t.Errorf("%d events of %d runs, not 602 of 301", len(got), len(want))
	}
	told.Judge(t, want, got, 0)

	var delays []time.Duration
	for i, r := range sink.Taken() {
		if at, ok := bare.readable(got[i]); ok {
			delays = append(delays, max(0, r.At.Sub(at)))
		}
	}
	if len(delays) < 500 {
		t.Fatalf("the bare poller saw only %d of the states (%v)", len(delays), bare.err)
	}
	slices.Sort(delays)
	median := delays[len(delays)/2]
	t.Logf("from the moment a bare poller can read a state to the sink: p50 %s, p99 %s, most %s",
		median, delays[len(delays)*99/100], delays[len(delays)-1])
	if median > 4*time.Second {
		t.Errorf("the median delay is %s, over 4 s", median)
	}
}

// Killed at twenty random moments while the sink fails one request in four: nothing is missing, nothing is out of order
// within a run, copies are identical.
func TestKilledTwentyTimes(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Flapping(7,
		transporttest.Chance{Share: 0.1, Reply: transporttest.Status(503)},
		transporttest.Chance{Share: 0.1, Reply: transporttest.Break(transporttest.ResetBefore)},
		transporttest.Chance{Share: 0.05, Reply: transporttest.Break(transporttest.ResetAfter)},
	))
	l := rig.NewListener(t, p.URL, httpSink(sink.URL()))
	flows := p.StartFlows("mapped", "plain", "subflows", "task_retries", "failing", "flow_artifacts", "mapped", "nested_tasks",
		"plain", "cache", "subflows", "mapped", "flow_retries", "plain", "mapped", "named_state")
	random := rand.New(rand.NewPCG(20, 26))
	for range 20 {
		l.Start()
		time.Sleep(time.Duration(200+random.IntN(1800)) * time.Millisecond) // the moment is the point
		l.Kill()
	}
	flows()
	l.Start()
	want := told.Settled(t, p)
	rig.Eventually(t, 3*time.Minute, "all events have come", func() bool { return len(told.Missing(want, taken(t, sink))) == 0 })
	// Live may tell more than the final rows show, such as the first end of a run that was tried again.
	told.Judge(t, want, taken(t, sink), len(sink.Taken()))
	t.Logf("%d events delivered of %d runs, %d requests", len(sink.Taken()), len(want), len(sink.Requests()))
}

const away = 2 * time.Minute

// Prefect is away for two minutes: the listener stays, catches up, and says so in one line each way.
func TestPrefectAway(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	sink := transporttest.NewSink(t)
	l := rig.NewListener(t, p.URL, httpSink(sink.URL()))
	l.Start()
	p.RunFlows("plain", "mapped")
	p.Stop()
	time.Sleep(away)
	p.Start()
	p.RunFlows("plain", "subflows")
	want := told.Settled(t, p)
	rig.Eventually(t, time.Minute, "all events have come", func() bool { return len(told.Missing(want, taken(t, sink))) == 0 })
	told.Judge(t, want, taken(t, sink), 0)
	oneLine(t, l, "Prefect cannot be read")
	oneLine(t, l, "Prefect can be read again")
}

// The consumer is away for two minutes: the listener stays, catches up, and says so in one line each way.
func TestSinkAway(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	sink := transporttest.NewSink(t)
	gate := rig.NewGate(t, hostOf(sink.URL()))
	l := rig.NewListener(t, p.URL, httpSink("http://"+gate.Addr()))
	l.Start()
	p.RunFlows("plain")
	rig.Eventually(t, time.Minute, "the first events have come", func() bool { return len(sink.Taken()) >= 2 })
	gate.Shut()
	p.RunFlows("plain", "mapped", "subflows")
	time.Sleep(away)
	gate.Open()
	want := told.Settled(t, p)
	rig.Eventually(t, time.Minute, "all events have come", func() bool { return len(told.Missing(want, taken(t, sink))) == 0 })
	told.Judge(t, want, taken(t, sink), 8) // those under way when the gate shut
	oneLine(t, l, `"destination down; events are kept`)
	oneLine(t, l, `"destination takes events again`)
}

func oneLine(t *testing.T, l *rig.Listener, text string) {
	t.Helper()
	if !l.Alive() {
		t.Errorf("the listener ended: %s", l.Log())
	}
	if lines := l.LogLines(text); len(lines) != 1 {
		t.Errorf("%d lines say %q, not one: %s", len(lines), text, l.Log())
	}
}

func hostOf(url string) string { return url[len("http://"):] }
