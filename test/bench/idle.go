package main

import (
	"os"
	"strconv"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// idleRuns is how many ended runs the server has that the listener has to leave alone.
const idleRuns = 10_000

// idle measures what the listener costs while nothing happens.
func (b *bench) idle() {
	n := idleRuns / (1 + tasksEach)
	server := prefecttest.NewServer()
	historyOf(server, n, time.Now().Add(-48*time.Hour), time.Now())
	sink := b.newSink(false)
	l := b.start(b.newPlace(), b.serveInstant(server).url, sink.url, nil, "run")
	b.settle(sink, l)

	worked, err := processCPU(l.pid())
	if err != nil {
		b.Fatal(err)
	}
	asked, began := server.Count(""), time.Now()
	pause(b.Context(), b.options.idle)
	after, err := processCPU(l.pid())
	if err != nil {
		b.Fatal(err)
	}
	took, requests := time.Since(began), server.Count("")-asked
	now, most, err := residentMemory(l.pid())
	if err != nil {
		b.Fatal(err)
	}
	l.stop()
	b.say("CPU of a core", 100*(after-worked).Seconds()/took.Seconds(), "%", "<= 0.3 %")
	b.say("memory", now, "MiB", "<= 35 MiB")
	b.say("... at most, since the start", most, "MiB", "")
	b.say("requests to Prefect", float64(requests)/took.Seconds(), "/s", "")
}

// settle waits until a listener that has just started has caught up.
func (b *bench) settle(s *sink, l *listener) {
	quiet := time.Now()
	got := s.got()
	l.until("it had caught up", time.Minute, func() bool {
		if now := s.got(); now != got {
			got, quiet = now, time.Now()
		}
		return time.Since(quiet) > warmUp
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
