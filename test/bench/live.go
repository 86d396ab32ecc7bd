package main

import (
	"slices"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

// What the flow mapped_300 of test/flows/kinds.py leaves.
const (
	liveFlow   = "mapped_300"
	liveEvents = 2 * (300 + 1) // a start and an end for each of the tasks and for the flow run
)

// warmUp is how long a listener that has just started polls before it is measured.
const warmUp = 5 * time.Second

// live measures how long after a run's state could be read at all its event arrives: while the flow runs, a bare poller
// asks every 50 ms beside the listener and notes when it sees each state first.
func (b *bench) live() {
	prefect := rig.StartPrefect(b)
	through := b.newProxy(prefect.URL)
	sink := b.newSink(true)
	l := b.start(b.newPlace(), through.url, sink.url, nil, "run")
	pause(b.Context(), warmUp)

	watch := b.newWatch(prefect.URL)
	before := through.count()
	prefect.RunFlows(liveFlow)
	deadline := time.Now().Add(time.Minute)
	for sink.got() < liveEvents && time.Now().Before(deadline) {
		pause(b.Context(), 20*time.Millisecond)
	}
	asked := through.count() - before
	sights := watch.end()
	l.stop()

	arrivals := b.firstArrivals(sink)
	var delays, lags []time.Duration // readable -> arrived, state's own time -> readable
	for what, arrived := range arrivals {
		if seen, ok := sights[what]; ok {
			delays = append(delays, arrived.Sub(seen.at))
			lags = append(lags, seen.at.Sub(seen.stamp))
		}
	}
	if len(delays) < liveEvents/2 {
		b.Fatalf("of %d events only %d were seen by the bare poller too", len(arrivals), len(delays))
	}
	b.Logf("%d events compared of %d; the bare poller asked every %s", len(delays), len(arrivals), watch.pace().Round(time.Millisecond))
	b.compare("events delivered", float64(len(arrivals)), "", "there are", liveEvents, "all")
	b.beside("readable to delivered, p50", quantile(delays, 0.50), "s", "state's time to readable", quantile(lags, 0.50),
		"< 2.5 s polling every 2 s; 0.4 s with hints")
	b.beside("readable to delivered, p99", quantile(delays, 0.99), "s", "state's time to readable", quantile(lags, 0.99), "2 s with hints")
	b.say("requests to Prefect per event", float64(asked)/float64(max(len(arrivals), 1)), "", "<= 0.4")
}

// moment is a start or an end of a run.
type moment struct {
	run string
	end bool
}

// firstArrivals says when each start and end came first.
func (b *bench) firstArrivals(s *sink) map[moment]time.Time {
	first := map[moment]time.Time{}
	for _, a := range s.arrivals() {
		event, err := a.event()
		if err != nil {
			b.Fatalf("the sink got an event that is none: %v", err)
		}
		what := moment{event.Run.ID, event.Type != "START"}
		if _, again := first[what]; !again {
			first[what] = a.at
		}
	}
	return first
}

// quantile returns the value below which a part of the durations lies, in seconds.
func quantile(of []time.Duration, part float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(part*float64(len(sorted)-1)+0.5)].Seconds()
}
