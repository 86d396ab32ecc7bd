package main

import (
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
)

const (
	catchUpFactor = 1.15
	mostMemoryMiB = 120
)

// catchUp measures how long it takes until all of a history is delivered, beside a bare loop that reads the same rows
// from the same real server.
func (b *bench) catchUp() {
	for _, n := range b.options.sizes {
		b.within(func() {
			from, until := time.Now().Add(-20*time.Hour), time.Now().Add(-2*time.Hour)
			prefect := rig.StartPrefect(b)
			b.seed(prefect, n, from, until)
			api := source{url: prefect.URL, work: func() time.Duration { return b.groupWork(prefect.Group()) }}
			for _, way := range ways {
				b.catchUpWith(api, n, from, fmt.Sprintf("%s, %d x %d", way.name, n, tasksEach), way, timesBare(catchUpFactor))
			}
		})
	}
}

// catchUpInMemory does the same with servers in memory: at a real server's pace the ratio is what it will be there, and
// with one that takes no time it shows the listener's own work, which nothing hides.
func (b *bench) catchUpInMemory() {
	for _, n := range b.options.sizes[:1] {
		from, until := time.Now().Add(-20*time.Hour), time.Now().Add(-2*time.Hour)
		server := prefecttest.NewServer()
		historyOf(server, n, from, until)
		for _, way := range ways {
			what := fmt.Sprintf("%s, %d x %d", way.name, n, tasksEach)
			b.within(func() { b.catchUpWith(b.servePaced(server), n, from, what+", paced", way, timesBare(catchUpFactor)) })
			b.within(func() { b.catchUpWith(b.serveInstant(server), n, from, what+", instant", way, none) })
		}
	}
}

// catchUpWay is a way to catch up.
type catchUpWay struct {
	name string
	// play runs the listener until all is delivered and returns it once it has ended.
	play func(b *bench, at place, prefectURL string, to *sink, n int, from time.Time) *listener
}

var ways = []catchUpWay{
	{"backfill", func(b *bench, at place, prefectURL string, to *sink, n int, from time.Time) *listener {
		l := b.start(at, prefectURL, to.url, nil, "backfill", "--since", from.Add(-time.Second).Format(time.RFC3339Nano))
		l.delivers(to, events(n))
		l.finish(patience)
		return l
	}},
	{"first start", func(b *bench, at place, prefectURL string, to *sink, n int, _ time.Time) *listener {
		l := b.start(at, prefectURL, to.url, []string{"LISTENER_LOOKBACK=24h"}, "run")
		l.delivers(to, events(n))
		pause(b.Context(), time.Second) // if more come, they should not have
		l.stop()
		return l
	}},
}

func (b *bench) catchUpWith(api source, n int, from time.Time, what string, way catchUpWay, want *target) {
	before := b.bareHistory(api, n, from)
	sink, through := b.newSink(false), b.newProxy(api.url)
	at := b.newPlace()
	worked := api.worked()
	l := way.play(b, at, through.url, sink, n, from)
	worked = api.worked() - worked
	if got := sink.got(); got != events(n) {
		b.Fatalf("%s: %d events were delivered, not %d; the listener's log:\n%s", what, got, events(n), at.log())
	}
	_, last := sink.times()
	bare := before.mean(b.bareHistory(api, n, from)) // before and after: what else the machine does changes all the time
	b.Logf("%s: %s", what, through)
	b.compare(what, last.Sub(l.began).Seconds(), "s", "bare reading", bare.took.Seconds(), want)
	if api.work != nil {
		b.compare("... work of the server", worked.Seconds(), "s", "bare reading", bare.worked.Seconds(), none)
	}
	b.compare("... requests to Prefect", float64(through.count()), "", "bare reading", float64(bare.requests), none)
	b.say("... CPU time per 1000 events", l.cpu().Seconds()*1000/float64(events(n)), "s", none)
	b.say("... peak memory", l.mostMemory(), "MiB", atMost(mostMemoryMiB))
}

func (s source) worked() time.Duration {
	if s.work == nil {
		return 0
	}
	return s.work()
}

// groupWork is the CPU time of a process group so far.
func (b *bench) groupWork(group int) time.Duration {
	worked, err := groupCPU(group)
	if err != nil {
		b.Fatal(err)
	}
	return worked
}

// reading is what reading everything took.
type reading struct {
	took, worked time.Duration
	requests     int
}

func (r reading) mean(other reading) reading {
	return reading{(r.took + other.took) / 2, (r.worked + other.worked) / 2, r.requests}
}

// bareHistory reads everything and says what it took.
func (b *bench) bareHistory(api source, n int, from time.Time) reading {
	reader := newBare(b.newProxy(api.url).url) // the listener's way
	defer reader.close()
	began, worked := time.Now(), api.worked()
	read, err := reader.history(b.Context(), from.Add(-time.Second))
	if err != nil {
		b.Fatalf("bare reading: %v", err)
	}
	took := time.Since(began)
	if read.flowRuns != n || read.taskRuns != n*tasksEach || read.artifacts != n*tasksEach {
		b.Fatalf("bare reading found %+v of %d flow runs", read, n)
	}
	return reading{took, api.worked() - worked, read.requests}
}
