package deliver_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport"
)

func TestDeliversEverythingInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a", answer: func(context.Context, seen) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		}}
		r := newRig(t, to)
		r.outbox.add(family(0, 200)...)
		r.outbox.add(separateRuns(300)[402:]...) // runs of their own, numbers 201 to 299
		r.start()
		wait(10 * time.Second)
		r.stop()

		r.wantCounts("a", 0, 402+198, 0)
		if got := len(to.seen()); got != 600 {
			t.Errorf("%d attempts for 600 events", got)
		}
		if to.most != 4 {
			t.Errorf("%d sends at once, want 4", to.most)
		}
	})
}

func TestWakesForNewEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a"})
		r.start()
		wait(time.Minute)
		r.outbox.add(separateRuns(3)...)
		r.deliverer.Wake()
		wait(50 * time.Millisecond)
		r.wantCounts("a", 0, 6, 0)
		r.stop()
	})
}

// Without a sign the outbox is looked at now and then, for what other commands put back, and no more than that.
func TestIdleIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &sink{name: "a"})
		r.start()
		wait(10 * time.Minute)
		if got := r.outbox.accessed("claim"); got > 602 {
			t.Errorf("%d claims in ten idle minutes", got)
		}
		r.outbox.add(separateRuns(1)...)
		wait(1100 * time.Millisecond)
		r.wantCounts("a", 0, 2, 0)
		r.stop()
	})
}

// Every event stays in its lane's order whatever the sink does: 30 % answer 503, 20 % cut the connection, half of these
// after they took the event.
func TestFlappingSinkKeepsOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		taken := map[string]int{}
		to := &sink{name: "a"}
		to.answer = func(_ context.Context, a seen) error {
			to.mu.Lock()
			luck := random.Float64()
			if luck >= 0.4 {
				taken[a.event.Key]++
			}
			to.mu.Unlock()
			time.Sleep(time.Millisecond)
			switch {
			case luck < 0.3:
				return unavailable()
			case luck < 0.5:
				return refused()
			default:
				return nil
			}
		}
		r := newRigWith(t, 4, deliver.Options{Jitter: rand.New(rand.NewPCG(3, 4)).Float64}, to)
		for flow := range 20 {
			r.outbox.add(family(flow*1000, 20)...)
		}
		r.start()
		wait(3 * time.Hour)
		r.stop()

		r.wantCounts("a", 0, 20*42, 0)
		for key, n := range taken {
			if n < 1 {
				t.Errorf("event %s never arrived", key)
			}
		}
		if lines := len(r.logs.All()); lines > 3*2*3600/30 {
			t.Errorf("%d log lines in three hours", lines)
		}
	})
}

func TestSlowSinkDoesNotHoldUpAFastOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &sink{name: "slow", answer: func(context.Context, seen) error {
			time.Sleep(5 * time.Second)
			return nil
		}}
		dead := &sink{name: "dead", answer: func(context.Context, seen) error { return refused() }}
		fast := &sink{name: "fast"}
		r := newRig(t, slow, dead, fast)
		r.start()
		wait(time.Second)
		r.outbox.add(separateRuns(100)...)
		r.deliverer.Wake()
		wait(time.Second)
		r.wantCounts("fast", 0, 200, 0)
		r.wantCounts("dead", 200, 0, 0)
		wait(5 * time.Minute)
		r.wantCounts("slow", 0, 200, 0)
		r.stop()
		for _, a := range fast.seen() {
			if a.try > 1 {
				t.Errorf("event %s was sent twice to the fast sink", a.event.Key)
			}
		}
	})
}

// What a crash repeats is bounded: however fast the sink and however slow the store, only so many events are sent and
// not settled.
func TestUnsettledEventsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &sink{name: "a"}
		r := newRig(t, to)
		stuck := make(chan struct{})
		r.outbox.fail = func(access string) error {
			if access == "settle" {
				<-stuck
			}
			return nil
		}
		r.outbox.add(separateRuns(1000)...)
		r.start()
		wait(time.Minute)
		if got := len(to.seen()); got < 1 || got > 4*16 {
			t.Errorf("%d events sent and not settled, want at most 64", got)
		}
		close(stuck)
		wait(time.Minute)
		r.wantCounts("a", 0, 2000, 0)
		r.stop()
	})
}

// A destination that gets an event only once another has it is woken by the other's success.
func TestFollowerIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, second := &sink{name: "first"}, &sink{name: "second"}
		outbox := newFakeOutbox("first", "second")
		first.outbox, second.outbox = outbox, outbox
		d, err := deliver.New(deliver.Options{Outbox: followingOutbox{outbox}, Destinations: []transport.Destination{
			{Name: "first", Transport: first, Parallel: 1},
			{Name: "second", Transport: second, Parallel: 1, After: "first"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Run(ctx) }()
		wait(time.Second)
		outbox.add(runEvents(runID(1), uuid.Nil, "job")...)
		d.Wake()
		wait(100 * time.Millisecond)
		if _, delivered, _ := outbox.counts("second"); delivered != 2 {
			t.Errorf("%d of 2 events delivered to the second", delivered)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// followingOutbox gives the second destination nothing that is pending at the first.
type followingOutbox struct{ *fakeOutbox }

func (o followingOutbox) Claim(ctx context.Context, destination string, now time.Time, limit int,
	busy func(uuid.UUID) bool) (due []state.Delivery, err error) {
	all, err := o.fakeOutbox.Claim(ctx, destination, now, limit, busy)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range all {
		if destination == "first" || !o.row("first", d.Seq).pending {
			due = append(due, d)
		}
	}
	return due, err
}

func TestTransportEvent(t *testing.T) {
	t.Parallel()
	events := runEvents(runID(7), uuid.Nil, "etl.load")
	start, end := deliver.TransportEvent(events[0]), deliver.TransportEvent(events[1])
	local := events[0]
	local.Time = local.Time.In(time.FixedZone("east", 3600))
	if again := deliver.TransportEvent(local); again.Key != start.Key {
		t.Errorf("the key depends on the time's zone: %s, %s", start.Key, again.Key)
	}
	if start.Key == end.Key {
		t.Error("two events of a run have one key")
	}
	if len(start.Key) != 36 {
		t.Errorf("key %q is not of 36 characters", start.Key)
	}
	if start.RunID != runID(7).String() || start.Type != "START" || start.Name != "etl.load" || start.Namespace != "default" ||
		string(start.Body) != string(events[0].Body) || !start.Time.Equal(events[0].Time) {
		t.Errorf("got %+v", start)
	}
}
