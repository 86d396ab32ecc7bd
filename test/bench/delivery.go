package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
)

// parallel is how many events the http transport has under way at once by default.
const parallel = 8

// delivery measures how fast a full outbox empties into a sink that takes everything at once, beside bare posts of the
// same bodies, as many at once.
func (b *bench) delivery() {
	n := b.options.sizes[0] / 2
	server := prefecttest.NewServer()
	from, until := time.Now().Add(-20*time.Hour), time.Now().Add(-2*time.Hour)
	historyOf(server, n, from, until)
	api := b.serveInstant(server).url
	sink := b.newSink(true)
	gate := rig.NewGate(b, sink.url[len("http://"):])
	at := b.newPlace()

	gate.Shut()
	b.fillOutbox(at, api, "http://"+gate.Addr(), n, from)
	gate.Open()
	// Nothing ran within the lookback, so there is nothing to read.
	l := b.start(at, api, "http://"+gate.Addr(), []string{"LISTENER_LOOKBACK=1m"}, "run")
	l.delivers(sink, events(n))
	l.stop()
	if got := sink.got(); got != events(n) {
		b.Fatalf("%d events were delivered, not %d", got, events(n))
	}
	rate := sink.rate()
	bodies := sink.arrivals()
	var size int
	for _, a := range bodies {
		size += len(a.body)
	}
	// The same way, through the gate.
	bareRate := b.post(sink, "http://"+gate.Addr(), bodies)
	b.Logf("%d events of %d bytes on average", len(bodies), size/len(bodies))
	b.compareRates("events delivered from a full outbox", rate, "/s", "bare posts, 8 at once", bareRate, none)
	b.say("... CPU time per 1000 events", l.cpu().Seconds()*1000/float64(events(n)), "s", none)
	b.say("... peak memory", l.mostMemory(), "MiB", atMost(mostMemoryMiB))
}

// rate is how many events came a second, between the first and the last.
func (s *sink) rate() float64 {
	first, last := s.times()
	return float64(s.got()) / max(last.Sub(first).Seconds(), 1e-3)
}

// fillOutbox has a backfill read everything while nobody takes the events.
func (b *bench) fillOutbox(at place, api, sinkURL string, n int, from time.Time) {
	l := b.start(at, api, sinkURL, []string{"LISTENER_MAX_REQUESTS_PER_SECOND=1000"},
		"backfill", "--since", from.Add(-time.Second).Format(time.RFC3339Nano))
	l.until("all events were in the outbox", 2*time.Minute, func() bool {
		pause(b.Context(), 500*time.Millisecond)
		return b.pending(at, api, sinkURL) >= events(n)
	})
	l.stop()
}

// pending is how many events wait in a store.
func (b *bench) pending(at place, api, sinkURL string) int {
	out, err := b.command(at, api, sinkURL, nil, "status", "-o", "json").Output()
	if err != nil {
		return 0 // there is no store yet
	}
	var status struct {
		Events int `json:"outbox_events"`
	}
	if err := json.Unmarshal(out, &status); err != nil {
		b.Fatalf("reading the listener's status: %v\n%s", err, out)
	}
	return status.Events
}

// post posts bodies to the sink and returns how many it got a second.
func (b *bench) post(to *sink, url string, bodies []arrival) float64 {
	to.forget()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: parallel}}
	defer client.CloseIdleConnections()
	next := make(chan []byte)
	var posting sync.WaitGroup
	var once sync.Once
	var failed error
	for range parallel {
		posting.Go(func() {
			for body := range next {
				if err := postOne(client, url+"/api/v1/lineage", body); err != nil {
					once.Do(func() { failed = err })
				}
			}
		})
	}
	for _, a := range bodies {
		next <- a.body
	}
	close(next)
	posting.Wait()
	if failed != nil {
		b.Fatalf("bare posting: %v", failed)
	}
	return to.rate()
}

func postOne(client *http.Client, url string, body []byte) error {
	answer, err := client.Post(url, "application/json", bytes.NewReader(body)) //nolint:noctx // the sink ends before this could hang
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
