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
			b.catchUpWith(b.serveFast(server), n, from, "backfill of "+size+", instant server", backfilling, "")
		})
		if b.options.real {
			b.within(func() { b.catchUpReal(n, size, from, until) })
		}
	}
}

func (b *bench) catchUpReal(n int, size string, from, until time.Time) {
	prefect := rig.StartPrefect(b)
	b.seed(prefect, n, from, until)
	b.catchUpWith(prefect.URL, n, from, "backfill of "+size+", real server", backfilling, catchUpTarget)
	b.catchUpWith(prefect.URL, n, from, "first start on "+size+", real server", firstStart, catchUpTarget)
}

// The two ways to catch up.
const (
	backfilling = iota
	firstStart
)

func (b *bench) catchUpWith(api string, n int, from time.Time, what string, way int, target string) {
	before := b.bareHistory(api, n, from)
	sink, through := b.newSink(false), b.newProxy(api)
	at := b.newPlace()
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
	if got := sink.got(); got != events(n) {
		b.Fatalf("%s: %d events were delivered, not %d; the listener's log:\n%s", what, got, events(n), at.log())
	}
	_, last := sink.times()
	took := last.Sub(l.began)
	bareTook := (before + b.bareHistory(api, n, from)) / 2 // what else the machine does changes all the time
	b.Logf("%s: %s", what, through)
	b.compare(what, took.Seconds(), "s", "bare reading", bareTook.Seconds(), target)
	b.say("... peak memory", l.mostMemory(), "MiB", memoryTarget)
	b.say("... CPU time per 1000 events", l.cpu().Seconds()*1000/float64(events(n)), "s", "")
	b.say("... requests to Prefect", float64(through.count()), "", "")
}

// bareHistory reads everything and says how long it took.
func (b *bench) bareHistory(api string, n int, from time.Time) time.Duration {
	reader := newBare(api)
	defer reader.close()
	began := time.Now()
	read, err := reader.history(b.Context(), from.Add(-time.Second))
	if err != nil {
		b.Fatalf("bare reading: %v", err)
	}
	took := time.Since(began)
	if read.flowRuns != n || read.taskRuns != n*tasksEach || read.artifacts != n*tasksEach {
		b.Fatalf("bare reading found %+v of %d flow runs", read, n)
	}
	return took
}
