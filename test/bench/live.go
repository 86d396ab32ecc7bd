package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

const (
	liveTasks  = 300
	liveEvents = 2 * (liveTasks + 1) // a start and an end for each of the tasks and for the flow run
	flowsFile  = "test/bench/flows.py"
)

const (
	// warmUp is how long a listener that has just started polls before it is measured.
	warmUp = 5 * time.Second
	// quietFor is how long nothing may come before a reader that has not brought all counts as done with.
	quietFor = 45 * time.Second
)

// follower is a program that tells a sink what happens in Prefect.
type follower struct {
	name  string
	start func(prefectURL, sinkURL string) (stop func())
	// moments says which starts and ends a program's events are about, as the bare poller names them.
	moments func(*bench, []arrival, map[moment]sight) map[moment]time.Time
}

// live measures how long after a run's state could be read at all its event arrives: a deployment's run of 300 mapped
// tasks for each program in turn, on one server, while a bare poller asks every 50 ms and notes when it sees each state
// first. So no program has to share the server with another.
func (b *bench) live() {
	prefect := rig.StartPrefect(b, "PREFECT_RUNNER_POLL_FREQUENCY=1")
	deployment := b.serveDeployment(prefect)
	if !b.options.quick {
		// The first, because it would ask for what went before it too.
		b.follow(prefect, deployment, follower{"openlineage-prefect", b.pythonPackage, (*bench).byStamp}, liveTargets{})
	}
	b.follow(prefect, deployment, follower{"with hints", b.ours(), (*bench).byRun}, liveTargets{p50: atMost(0.4), p99: atMost(2), requests: atMost(0.2), events: atLeast(liveEvents)})
	b.follow(prefect, deployment, follower{"without hints", b.ours("LISTENER_HINTS=off"), (*bench).byRun}, liveTargets{requests: atMost(0.4), events: atLeast(liveEvents)})
}

type liveTargets struct{ p50, p99, requests, events *target }

// serveDeployment serves the flow of mapped tasks and returns its deployment's id.
func (b *bench) serveDeployment(prefect *rig.Prefect) string {
	serving := prefect.StartScript(flowsFile, "serve")
	b.Cleanup(serving.Stop)
	var id string
	rig.Eventually(b, time.Minute, "the deployment is there", func() bool {
		for _, row := range prefect.Filter("deployments", nil) {
			id, _ = row["id"].(string)
		}
		return id != ""
	})
	return id
}

// ours starts the listener.
func (b *bench) ours(env ...string) func(prefectURL, sinkURL string) func() {
	return func(prefectURL, sinkURL string) func() {
		return b.start(b.newPlace(), prefectURL, sinkURL, env, "run").stop
	}
}

// follow has one program follow one run and says what came, when, and what it asked Prefect for it.
func (b *bench) follow(prefect *rig.Prefect, deployment string, f follower, want liveTargets) {
	b.within(func() {
		through, sink := b.newProxy(prefect.URL), b.newSink(true)
		stop := f.start(through.url, sink.url)
		pause(b.Context(), 2*warmUp)
		sink.forget()

		watch := b.newWatch(prefect.URL)
		before := through.count()
		prefect.Post("/deployments/"+deployment+"/create_flow_run", map[string]any{"state": map[string]any{"type": "SCHEDULED"}}, nil)
		b.untilAll(sink)
		asked := through.count() - before
		b.untilSeen(watch)
		sights := watch.end()
		stop()
		b.Logf("%s: %s", f.name, through)

		arrivals := f.moments(b, sink.arrivals(), sights)
		var delays, lags []time.Duration // readable -> arrived, state's own time -> readable
		for what, arrived := range arrivals {
			if seen, ok := sights[what]; ok {
				delays, lags = append(delays, arrived.Sub(seen.at)), append(lags, seen.at.Sub(seen.stamp))
			}
		}
		b.Logf("%s: %d events compared of %d that came; the bare poller saw %d, and asked every %s",
			f.name, len(delays), sink.got(), len(sights), watch.pace().Round(time.Millisecond))
		b.compareRates("events delivered, "+f.name, float64(len(arrivals)), "", "there are", liveEvents, want.events)
		b.beside("... readable to delivered, p50", quantile(delays, 0.50), "s", "state's time to readable", quantile(lags, 0.50), want.p50)
		b.beside("... readable to delivered, p99", quantile(delays, 0.99), "s", "state's time to readable", quantile(lags, 0.99), want.p99)
		b.say("... requests to Prefect per event", float64(asked)/float64(max(len(arrivals), 1)), "", want.requests)
	})
}

// untilAll waits until all events have come, or nothing more does.
func (b *bench) untilAll(s *sink) {
	got, since := 0, time.Now()
	for got < liveEvents && time.Since(since) < quietFor {
		pause(b.Context(), 20*time.Millisecond)
		if now := s.got(); now != got {
			got, since = now, time.Now()
		}
		if b.Context().Err() != nil {
			return
		}
	}
}

// untilSeen waits until the bare poller has seen all as well: it may be the slower one.
func (b *bench) untilSeen(w *watch) {
	for began := time.Now(); w.seen() < liveEvents && time.Since(began) < quietFor; {
		pause(b.Context(), 20*time.Millisecond)
	}
}

// moment is a start or an end of a run.
type moment struct {
	run string
	end bool
}

// byRun takes the run ids of events for Prefect's, as the listener's are.
func (b *bench) byRun(taken []arrival, _ map[moment]sight) map[moment]time.Time {
	first := map[moment]time.Time{}
	b.eachEvent(taken, func(a arrival, event lineage) {
		note(first, moment{event.Run.ID, event.Type != "START"}, a.at)
	})
	return first
}

// byStamp knows runs by the times of their states, for events whose run ids are not Prefect's.
func (b *bench) byStamp(taken []arrival, sights map[moment]sight) map[moment]time.Time {
	type stamped struct {
		end bool
		at  int64
	}
	at := map[stamped]moment{}
	for what, seen := range sights {
		at[stamped{what.end, seen.stamp.UnixMicro()}] = what
	}
	first := map[moment]time.Time{}
	b.eachEvent(taken, func(a arrival, event lineage) {
		what, known := at[stamped{event.Type != "START", event.Time.UnixMicro()}]
		if !known { // it counts, though nothing can be said of its delay
			what = moment{event.Run.ID + fmt.Sprint(event.Time), event.Type != "START"}
		}
		note(first, what, a.at)
	})
	return first
}

func note(first map[moment]time.Time, what moment, at time.Time) {
	if _, again := first[what]; !again {
		first[what] = at
	}
}

func (b *bench) eachEvent(taken []arrival, do func(arrival, lineage)) {
	for _, a := range taken {
		event, err := a.event()
		if err != nil {
			b.Fatalf("the sink got an event that is none: %v", err)
		}
		do(a, event)
	}
}

// quantile returns the value below which a part of the durations lies, in seconds.
func quantile(of []time.Duration, part float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(part*float64(len(sorted)-1)+0.5)].Seconds()
}
