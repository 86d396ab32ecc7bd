package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

// What one load is: so many runs of so many tasks.
const (
	loadRuns  = 40
	loadTasks = 25
)

// server measures how much longer a real Prefect server works when the listener reads from it. The flows are the same
// each time, with the listener and without by turns, so that what drifts hits both.
func (b *bench) server() {
	flows := &load{b: b, prefect: rig.StartPrefect(b), runs: loadRuns}
	if b.options.quick {
		flows.runs /= 4
	}
	flows.run() // what happens once happens now
	sink := b.newSink(false)
	at := b.newPlace()
	var with, without, more []time.Duration
	var lasted time.Duration
	for pair := range b.options.pairs {
		var of [2]time.Duration // without, with
		for i := range 2 {
			listening := (i + pair) % 2
			b.within(func() {
				if listening == 1 {
					b.settle(sink, b.start(at, flows.prefect.URL, sink.url, nil, "run")) // what it did not hear of is no part of this
				}
				began := time.Now()
				of[listening] = flows.run()
				lasted += time.Since(began) / time.Duration(2*b.options.pairs)
			})
		}
		b.Logf("pair %d: %.2f s with the listener, %.2f s without: %+.1f %%", pair+1, of[1].Seconds(), of[0].Seconds(), percentMore(of[1], of[0]))
		without, with, more = append(without, of[0]), append(with, of[1]), append(more, of[1]-of[0])
	}
	b.compare(fmt.Sprintf("Prefect's CPU time for %d runs of %d tasks, median of %d", flows.runs, loadTasks, len(with)), median(with), "s",
		"without the listener", median(without), timesBare(1.05))
	b.say("... the difference of a pair, median", 100*median(more)/median(without), "%", none)
	b.say("... at least", 100*slices.Min(more).Seconds()/median(without), "%", none)
	b.say("... at most", 100*slices.Max(more).Seconds()/median(without), "%", none)
	b.say("... of a core, while it lasts", 100*median(more)/lasted.Seconds(), "%", none)
}

func percentMore(a, b time.Duration) float64 { return 100 * (a - b).Seconds() / b.Seconds() }

// load is work for a server.
type load struct {
	b       *bench
	prefect *rig.Prefect
	runs    int
}

// run runs the flows and returns the server's CPU time until it has written all of their task runs, which it does late.
func (l *load) run() time.Duration {
	want := l.count() + l.runs*loadTasks
	before := l.b.groupWork(l.prefect.Group())
	l.prefect.StartScript(flowsFile, "load", strconv.Itoa(l.runs), strconv.Itoa(loadTasks)).Wait()
	seen, since := l.count(), time.Now()
	for seen < want {
		pause(l.b.Context(), time.Second)
		if now := l.count(); now != seen {
			seen, since = now, time.Now()
		}
		if time.Since(since) > patience {
			l.b.Fatalf("the server has written %d task runs of %d", seen, want)
		}
	}
	pause(l.b.Context(), 5*time.Second) // the listener's last polls
	return l.b.groupWork(l.prefect.Group()) - before
}

// count is how many task runs have ended.
func (l *load) count() int {
	var n int
	l.prefect.Post("/task_runs/count", map[string]any{
		"task_runs": map[string]any{"state": map[string]any{"type": map[string]any{"any_": []string{"COMPLETED", "FAILED"}}}},
	}, &n)
	return n
}

func median(of []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(of))
	if n := len(sorted); n%2 == 0 && n > 0 {
		return (sorted[n/2-1] + sorted[n/2]).Seconds() / 2
	}
	return quantile(sorted, 0.5)
}
