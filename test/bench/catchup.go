package main

import (
	"fmt"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
)

const (
	catchUpTarget = "<= 1.15 x bare"
	memoryTarget  = "<= 120 MiB"
)

// catchUp measures how long it takes until all of a history is delivered, beside a bare loop that reads the same rows.
func (b *bench) catchUp() {
	for _, n := range b.options.sizes {
		from, until := time.Now().Add(-20*time.Hour), time.Now().Add(-2*time.Hour)
		server := prefecttest.NewServer()
		historyOf(server, n, from, until)
		size := fmt.Sprintf("%d x %d", n, tasksEach)
		// At a real server's pace the ratio is what it will be there. With a server that takes no time it shows the
		// listener's own work, which nothing hides.
		b.within(func() {
			b.catchUpWith(b.servePaced(server), n, from, "backfill of "+size+", paced server", backfilling, catchUpTarget)
		})
		if n == b.options.sizes[0] {
			b.within(func() {
				b.catchUpWith(b.servePaced(server), n, from, "first start on "+size+", paced server", firstStart, catchUpTarget)
			})
		}
		b.within(func() {
			b.catchUpWith(b.serveInstant(server), n, from, "backfill of "+size+", instant server", backfilling, "")
		})
		if b.options.real {
			b.within(func() { b.catchUpReal(n, size, from, until) })
		}
	}
}

func (b *bench) catchUpReal(n int, size string, from, until time.Time) {
	prefect := rig.StartPrefect(b)
	b.seed(prefect, n, from, until)
	api := source{url: prefect.URL, work: func() time.Duration { return b.groupWork(prefect.Group()) }}
	b.catchUpWith(api, n, from, "backfill of "+size+", real server", backfilling, catchUpTarget)
	b.catchUpWith(api, n, from, "first start on "+size+", real server", firstStart, catchUpTarget)
}

// The two ways to catch up.
const (
	backfilling = iota
	firstStart
)

func (b *bench) catchUpWith(api source, n int, from time.Time, what string, way int, target string) {
	before := b.bareHistory(api, n, from)
	sink, through := b.newSink(false), b.newProxy(api.url)
	at := b.newPlace()
	worked := api.worked()
	var l *listener
	if way == backfilling {
		l = b.start(at, through.url, sink.url, nil, "backfill", "--since", from.Add(-time.Second).Format(time.RFC3339Nano))
		l.delivers(sink, events(n))
		l.finish(patience)
	} else {
		l = b.start(at, through.url, sink.url, []string{"LISTENER_LOOKBACK=24h"}, "run")
		l.delivers(sink, events(n))
		pause(b.Context(), time.Second) // if more come, they should not have
		l.stop()
	}
	worked = api.worked() - worked
	if got := sink.got(); got != events(n) {
		b.Fatalf("%s: %d events were delivered, not %d; the listener's log:\n%s", what, got, events(n), at.log())
	}
	_, last := sink.times()
	bare := before.mean(b.bareHistory(api, n, from)) // before and after: what else the machine does changes all the time
	b.Logf("%s: %s", what, through)
	b.compare(what, last.Sub(l.began).Seconds(), "s", "bare reading", bare.took.Seconds(), target)
	if api.work != nil {
		b.compare("... work of the server", worked.Seconds(), "s", "bare reading", bare.worked.Seconds(), "")
	}
	b.compare("... requests to Prefect", float64(through.count()), "", "bare reading", float64(bare.requests), "")
	b.say("... CPU time per 1000 events", l.cpu().Seconds()*1000/float64(events(n)), "s", "")
	b.say("... peak memory", l.mostMemory(), "MiB", memoryTarget)
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
