package main

import (
	"os"
	"strconv"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

// idleRuns is how many ended runs the server has that the listener has to leave alone.
const idleRuns = 10_000

// idle measures what the listener costs while nothing happens, with a real server.
func (b *bench) idle() {
	prefect := rig.StartPrefect(b)
	b.seed(prefect, idleRuns/(1+tasksEach), time.Now().Add(-48*time.Hour), time.Now())
	b.idleWith(prefect, "with hints", atMost(0.3))
	b.idleWith(prefect, "without hints", none, "LISTENER_HINTS=off")
}

func (b *bench) idleWith(prefect *rig.Prefect, how string, requests *target, env ...string) {
	b.within(func() {
		sink, through := b.newSink(false), b.newProxy(prefect.URL)
		l := b.start(b.newPlace(), through.url, sink.url, env, "run")
		b.settle(sink, l)

		worked, err := processCPU(l.pid())
		if err != nil {
			b.Fatal(err)
		}
		served, asked, began := b.groupWork(prefect.Group()), through.count(), time.Now()
		pause(b.Context(), b.options.idle)
		after, err := processCPU(l.pid())
		if err != nil {
			b.Fatal(err)
		}
		took, count := time.Since(began), through.count()-asked
		served = b.groupWork(prefect.Group()) - served
		now, most, err := residentMemory(l.pid())
		if err != nil {
			b.Fatal(err)
		}
		l.stop()
		b.Logf("%s: %s", how, through)
		b.say("CPU of a core, "+how, 100*(after-worked).Seconds()/took.Seconds(), "%", atMost(0.3))
		b.say("... memory", now, "MiB", atMost(35))
		b.say("... memory at most, since the start", most, "MiB", none)
		b.say("... requests to Prefect", float64(count)/took.Seconds(), "/s", requests)
		b.say("... the server's CPU of a core meanwhile", 100*served.Seconds()/took.Seconds(), "%", none)
	})
}

// settle waits until a listener that has just started has caught up.
func (b *bench) settle(s *sink, l *listener) {
	quiet := time.Now()
	got := s.got()
	l.until("it had caught up", time.Minute, func() bool {
		if now := s.got(); now != got {
			got, quiet = now, time.Now()
		}
		return time.Since(quiet) > 2*warmUp
	})
}

func processCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	s, err := parseStat(string(text))
	return s.cpu, err
}
