package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
	"github.com/prefect-openlineage/listener/transport"
)

var _ deliver.Outbox = (*sqlite.Store)(nil)

// The tests in this file run on the real store and on the real clock.

func openStore(t testing.TB, path string, destinations ...string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Daemon: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	var all []state.Destination
	for _, name := range destinations {
		all = append(all, state.Destination{Name: name, Kind: "fake"})
	}
	if err := store.Register(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return store
}

func commit(t testing.TB, store *sqlite.Store, events []adapter.Event) {
	t.Helper()
	for some := range slices.Chunk(events, 1000) {
		if _, err := store.Commit(t.Context(), state.Batch{Events: some}); err != nil {
			t.Fatal(err)
		}
	}
}

// judge is a consumer that checks the order of what it is given.
type judge struct {
	answer func(event transport.Event) error
	parent map[string]string // runs' ancestors

	mu       sync.Mutex
	times    map[string]int // deliveries, by key
	started  map[string]bool
	ended    map[string]bool
	problems []string
}

func newJudge(events []adapter.Event, answer func(event transport.Event) error) *judge {
	j := &judge{answer: answer, parent: map[string]string{}, times: map[string]int{},
		started: map[string]bool{}, ended: map[string]bool{}}
	for _, e := range events {
		if e.Ancestor != uuid.Nil {
			j.parent[e.Job.RunID.String()] = e.Ancestor.String()
		}
	}
	return j
}

func (j *judge) Emit(_ context.Context, e transport.Event) error {
	if j.answer != nil {
		if err := j.answer(e); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.times[e.Key]++
	parent := j.parent[e.RunID]
	switch {
	case parent != "" && !j.started[parent]:
		j.problems = append(j.problems, fmt.Sprintf("%s of %s before its ancestor's first event", e.Type, e.RunID))
	case e.Type == "START" && j.ended[e.RunID]:
		j.problems = append(j.problems, fmt.Sprintf("START of %s after its end", e.RunID))
	case e.Type == "COMPLETE" && !j.started[e.RunID]:
		j.problems = append(j.problems, fmt.Sprintf("end of %s before its START", e.RunID))
	}
	j.started[e.RunID] = j.started[e.RunID] || e.Type == "START"
	j.ended[e.RunID] = j.ended[e.RunID] || e.Type == "COMPLETE"
	return nil
}

func (j *judge) Close(context.Context) error { return nil }

// verdict returns how many events arrived and how many copies too many, and fails the test on a wrong order.
func (j *judge) verdict(t testing.TB) (events, repeats int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.problems) > 0 {
		t.Errorf("%d events out of order, the first: %s", len(j.problems), j.problems[0])
	}
	for _, n := range j.times {
		repeats += n - 1
	}
	return len(j.times), repeats
}

func startOn(t testing.TB, outbox deliver.Outbox, sinks map[string]transport.Transport) (d *deliver.Deliverer, stop func()) {
	t.Helper()
	options := deliver.Options{Outbox: outbox, Jitter: func() float64 { return 0.1 }}
	for name, to := range sinks {
		options.Destinations = append(options.Destinations, transport.Destination{Name: name, Transport: to, Parallel: 4})
	}
	d, err := deliver.New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	return d, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// drained waits until nothing is pending at any destination.
func drained(t testing.TB, store *sqlite.Store, limit time.Duration) {
	t.Helper()
	until := time.Now().Add(limit)
	for {
		all, err := store.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var pending int64
		for _, s := range all {
			pending += s.Pending
		}
		if pending == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d deliveries are still pending after %s", pending, limit)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func families(n, tasks int) []adapter.Event {
	var events []adapter.Event
	for i := range n {
		events = append(events, family(i*1000, tasks)...)
	}
	return events
}

func TestStoreDrainsIntoUnlikeSinks(t *testing.T) {
	t.Parallel()
	events := families(4, 8)
	store := openStore(t, filepath.Join(t.TempDir(), "state.db"), "fast", "flapping", "picky")
	var luck sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	sinks := map[string]*judge{
		"fast": newJudge(events, nil),
		"flapping": newJudge(events, func(transport.Event) error {
			luck.Lock()
			defer luck.Unlock()
			if random.Float64() < 0.2 {
				return unavailable()
			}
			return nil
		}),
		"picky": newJudge(events, func(e transport.Event) error {
			if e.RunID == runID(2003).String() {
				return badRequest()
			}
			return nil
		}),
	}
	d, stop := startOn(t, store, map[string]transport.Transport{
		"fast": sinks["fast"], "flapping": sinks["flapping"], "picky": sinks["picky"],
	})
	commit(t, store, events)
	d.Wake()
	drained(t, store, time.Minute)
	stop()
	for name, want := range map[string]int{"fast": 72, "flapping": 72, "picky": 70} {
		if got, repeats := sinks[name].verdict(t); got != want || repeats != 0 {
			t.Errorf("%s: %d events and %d repeats, want %d and none", name, got, repeats, want)
		}
	}
	letters, err := store.DeadLetters(t.Context(), state.DeadFilter{})
	if err != nil || len(letters) != 2 || letters[0].Destination != "picky" || letters[0].Status != 400 ||
		string(letters[0].Answer) != "no such facet" {
		t.Errorf("dead letters %+v, %v", letters, err)
	}
}

// crashingOutbox takes no settlement any more from a certain one on: what was sent after that the store does not know,
// as after a crash.
type crashingOutbox struct {
	*sqlite.Store
	left    atomic.Int64 // settlements until the crash
	crashed chan struct{}
	once    sync.Once
}

func (o *crashingOutbox) Settle(ctx context.Context, destination string, settlements []state.Settlement) error {
	if o.left.Add(-1) < 0 {
		o.once.Do(func() { close(o.crashed) })
		return errors.New("crashed")
	}
	return o.Store.Settle(ctx, destination, settlements)
}

func TestCrashBetweenAnswerAndSettlement(t *testing.T) {
	t.Parallel()
	const crashes = 5
	events := families(3, 50)
	store := openStore(t, filepath.Join(t.TempDir(), "state.db"), "a")
	commit(t, store, events)
	to := newJudge(events, nil)
	for i := range crashes {
		outbox := &crashingOutbox{Store: store, crashed: make(chan struct{})}
		outbox.left.Store(int64(min(i, 1))) // so that there is something left for each crash
		d, stop := startOn(t, outbox, map[string]transport.Transport{"a": to})
		<-outbox.crashed
		d.Hurry()
		stop()
	}
	_, stop := startOn(t, store, map[string]transport.Transport{"a": to})
	drained(t, store, time.Minute)
	stop()
	got, repeats := to.verdict(t)
	if got != len(events) {
		t.Errorf("%d events arrived, want %d", got, len(events))
	}
	if bound := crashes * 4 * 16; repeats > bound || repeats < crashes {
		t.Errorf("%d repeats, want some at each crash and at most %d", repeats, bound)
	}
}

// A dead letter that another process replays goes out once more, and its run's later event after it.
func TestReplayBesideTheDeliverer(t *testing.T) {
	t.Parallel()
	events := separateRuns(10)
	path := filepath.Join(t.TempDir(), "state.db")
	store := openStore(t, path, "a")
	commit(t, store, events)
	var mended atomic.Bool
	to := newJudge(nil, func(e transport.Event) error {
		if e.RunID == runID(3).String() && !mended.Load() {
			return badRequest()
		}
		return nil
	})
	d, stop := startOn(t, store, map[string]transport.Transport{"a": to})
	drained(t, store, time.Minute)
	mended.Store(true)

	beside, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	letters, err := beside.DeadLetters(t.Context(), state.DeadFilter{})
	if err != nil || len(letters) != 2 {
		t.Fatalf("%d dead letters, %v", len(letters), err)
	}
	for range 2 { // the second finds nothing to replay
		if _, err := beside.Replay(t.Context(), []int64{letters[0].ID, letters[1].ID}); err != nil {
			t.Fatal(err)
		}
		d.Wake()
		drained(t, store, time.Minute)
	}
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if got, repeats := to.verdict(t); got != 20 || repeats != 0 {
		t.Errorf("%d events and %d repeats, want 20 and none", got, repeats)
	}
}

// BenchmarkBurst delivers a burst to a fast sink. The rate that must hold is 2,500 events a second on two cores.
func BenchmarkBurst(b *testing.B) {
	events := families(200, 99)
	var took time.Duration
	for b.Loop() {
		store := openStore(b, filepath.Join(b.TempDir(), "state.db"), "a")
		commit(b, store, events)
		to := newJudge(events, func(transport.Event) error {
			time.Sleep(500 * time.Microsecond)
			return nil
		})
		began := time.Now()
		_, stop := startOn(b, store, map[string]transport.Transport{"a": to})
		drained(b, store, 5*time.Minute)
		took += time.Since(began)
		stop()
	}
	b.ReportMetric(float64(len(events)*b.N)/took.Seconds(), "events/s")
}
