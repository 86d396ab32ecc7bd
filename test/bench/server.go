package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

// serverLoad are the flows that a real server is measured with, and those that only a long measurement adds.
var (
	serverLoad = []string{"plain", "mapped", "subflows", "task_retries", "plain", "mapped", "nested_tasks", "mapped", "subflows"}
	longLoad   = []string{liveFlow}
)

// server measures how much longer a real Prefect server works when the listener reads from it. The flows are the same
// each time, with the listener and without by turns, so that what drifts hits both.
func (b *bench) server() {
	flows := &load{b: b, prefect: rig.StartPrefect(b), flows: serverLoad}
	if !b.options.quick {
		flows.flows = append(flows.flows, longLoad...)
	}
	flows.run() // what happens once happens now
	sink := b.newSink(false)
	at := b.newPlace()
	var with, without []time.Duration
	var lasted time.Duration
	for pair := range b.options.pairs {
		order := []bool{true, false}
		if pair%2 == 1 {
			order = []bool{false, true}
		}
		for _, listening := range order {
			b.within(func() {
				if !listening {
					without = append(without, flows.run())
					return
				}
				b.start(at, flows.prefect.URL, sink.url, nil, "run")
				pause(b.Context(), warmUp)
				began := time.Now()
				with = append(with, flows.run())
				lasted += time.Since(began) / time.Duration(b.options.pairs)
			})
		}
	}
	b.compare(fmt.Sprintf("Prefect's CPU time for a load, median of %d", len(with)), median(with), "s",
		"without the listener", median(without), "")
	b.say("... the difference, of a core", 100*(median(with)-median(without))/lasted.Seconds(), "%", "")
}

// load is work for a server.
type load struct {
	b        *bench
	prefect  *rig.Prefect
	flows    []string
	taskRuns int // that the flows make; 0: not known yet
}

// unchanged is how long no task run may have come before the first load counts as done.
const unchanged = 10 * time.Second

// run runs the flows and returns the server's CPU time until it has written all of their task runs, which it does late.
func (l *load) run() time.Duration {
	had := l.count()
	before := l.b.groupWork(l.prefect.Group())
	l.prefect.RunFlows(l.flows...)
	seen, since := l.count(), time.Now()
	for {
		pause(l.b.Context(), time.Second/2)
		if now := l.count(); now != seen {
			seen, since = now, time.Now()
		}
		made := seen - had
		switch {
		case l.taskRuns > 0 && made >= l.taskRuns:
			pause(l.b.Context(), 3*time.Second) // the listener's last polls
			return l.b.groupWork(l.prefect.Group()) - before
		case l.taskRuns == 0 && time.Since(since) > unchanged:
			l.taskRuns = made
			return l.b.groupWork(l.prefect.Group()) - before
		case time.Since(since) > patience:
			l.b.Fatalf("the flows made %d task runs at first and now %d", l.taskRuns, made)
		}
	}
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
