package kafka_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
)

// gate is a load balancer: while it is shut it takes connections and closes them at once.
type gate struct {
	net.Listener
	resets bool // it closes them unread
	mu     sync.Mutex
	shut   bool
	closed int
	conns  []net.Conn
}

// listen makes a broker listen behind the gate.
func (g *gate) listen() kfake.Opt {
	return kfake.ListenFn(func(network, address string) (net.Listener, error) {
		var config net.ListenConfig
		var err error
		g.Listener, err = config.Listen(context.Background(), network, address)
		return g, err
	})
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g.mu.Lock()
		shut := g.shut
		if shut {
			g.closed++
			if !g.resets { // who closes with something unread resets the connection
				_ = conn.SetReadDeadline(time.Now().Add(time.Second))
				_, _ = conn.Read(make([]byte, 4096))
			}
			_ = conn.Close()
		} else {
			g.conns = append(g.conns, conn)
		}
		g.mu.Unlock()
		if !shut {
			return conn, nil
		}
	}
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut = shut; shut {
		for _, conn := range g.conns {
			_ = conn.Close()
		}
		g.conns = nil
	}
}

func (g *gate) turnedAway() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// A broker is away behind a load balancer that closes connections at once: that only delays.
func TestConnectionsThatAreClosedAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before int
		resets bool
	}{
		"from the start": {0, false}, "after a while": {3, false},
		"from the start, unread": {0, true}, "after a while, unread": {3, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			door := gate{resets: c.resets}
			broker := newBroker(t, door.listen())
			e := newEmitter(t, connection(addr(broker), newRegistry(t).URL))
			outcomes := newTally()
			const n = 100
			for i := range n {
				if i == c.before {
					flush(t, e)
					door.set(true)
				}
				e.Emit(t.Context(), proposal(i), outcomes.of(i))
			}
			eventually(t, "the broker is tried again and again", func() bool { return door.turnedAway() > 8 })
			if got := outcomes.count(); got != c.before {
				t.Errorf("%d proposals had an outcome while there was no broker", got-c.before)
			}
			door.set(false)
			flush(t, e)
			for i, err := range outcomes.outcomes(t, n) {
				if err != nil {
					t.Fatalf("proposal %d: %v", i, err)
				}
			}
			if got := len(kafkatest.Records(t, addr(broker), kafka.DefaultTopic)); got != n {
				t.Errorf("%d records", got)
			}
			inOrder(t, addr(broker), n)
		})
	}
}

// It is given up in its time, and the guess of what may be wrong is in the error.
func TestConnectionsThatAreClosedForGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before int
		says   string
	}{"from the start": {0, "is TLS missing"}, "after a while": {1, "not delivered within 1s"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var door gate
			e := newEmitter(t, connection(addr(newBroker(t, door.listen())), newRegistry(t).URL, map[string]any{"message.timeout.ms": 1000}))
			for i := range c.before {
				if err := e.EmitAll(t.Context(), []mcp.Proposal{proposal(i)})[0]; err != nil {
					t.Fatal(err)
				}
			}
			door.set(true)
			if err := e.TestConnection(t.Context()); err == nil || !strings.Contains(err.Error(), "is TLS missing") {
				t.Errorf("asking: %v", err)
			}
			begun := time.Now()
			for _, err := range e.EmitAll(t.Context(), []mcp.Proposal{proposal(7), proposal(8)}) {
				if !errors.Is(err, kafka.ErrTimeout) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v", err)
				}
			}
			if took := time.Since(begun); took < time.Second || took > soon {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// Who bounds the tries is not made to wait for the time.
func TestABoundOfTries(t *testing.T) {
	t.Parallel()
	var door gate
	e := newEmitter(t, connection(addr(newBroker(t, door.listen())), newRegistry(t).URL, map[string]any{"retries": 2}))
	if err := e.EmitAll(t.Context(), []mcp.Proposal{proposal(0)})[0]; err != nil {
		t.Fatal(err)
	}
	door.set(true)
	begun := time.Now()
	for _, err := range e.EmitAll(t.Context(), []mcp.Proposal{proposal(1), proposal(2)}) {
		if err == nil || errors.Is(err, kafka.ErrTimeout) {
			t.Errorf("%v", err)
		}
	}
	if took := time.Since(begun); took > soon {
		t.Errorf("it took %s", took)
	}
}

// Each proposal has its own time: one that is emitted late is not given up with those that have waited for long.
func TestTheTimeOfEachProposal(t *testing.T) {
	t.Parallel()
	const limit, every, n, open = 2 * time.Second, 50 * time.Millisecond, 80, 60
	for name, before := range map[string]bool{"from the start": false, "after a while": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var door gate
			broker := newBroker(t, door.listen())
			e := newEmitter(t, connection(addr(broker), newRegistry(t).URL, map[string]any{"message.timeout.ms": limit.Milliseconds()}))
			outcomes := newTally()
			if before {
				e.Emit(t.Context(), proposal(n), nil)
				flush(t, e)
			}
			door.set(true)
			var opened time.Time
			var emitted [n]time.Time
			for i := range n {
				if i == open {
					door.set(false)
					opened = time.Now()
				}
				emitted[i] = time.Now()
				outcome := outcomes.of(i)
				e.Emit(t.Context(), proposal(i), func(d kafka.Delivery, err error) {
					if took := time.Since(emitted[i]); err != nil && took < limit-time.Millisecond { // the client cuts fractions off
						t.Errorf("proposal %d had %s only: %v", i, took, err)
					}
					outcome(d, err)
				})
				time.Sleep(every)
			}
			flush(t, e)
			late := 0
			for i, err := range outcomes.outcomes(t, n) {
				switch {
				case err == nil:
				case !errors.Is(err, kafka.ErrTimeout):
					t.Errorf("proposal %d: %v", i, err)
				case opened.Sub(emitted[i]) < limit/4:
					t.Errorf("proposal %d had most of its time with a broker: %v", i, err)
				default:
					late++
				}
			}
			if late == 0 {
				t.Error("none was given up; the test is too slow")
			}
			last := map[string]int{}
			for _, r := range kafkatest.Records(t, addr(broker), kafka.DefaultTopic) {
				k := numberOf(t, r)
				if k == n {
					continue
				}
				if k < last[string(r.Key)] {
					t.Errorf("proposal %d came behind %d", k, last[string(r.Key)])
				}
				last[string(r.Key)] = k
			}
		})
	}
}

// Those that are left when an older one is given up have no more time for that.
func TestTheTimeRunsOnWhileNoBrokerWasSeen(t *testing.T) {
	t.Parallel()
	const limit, every, n = time.Second, 50 * time.Millisecond, 20
	var door gate
	door.set(true)
	e := newEmitter(t, connection(addr(newBroker(t, door.listen())), newRegistry(t).URL, map[string]any{"message.timeout.ms": limit.Milliseconds()}))
	outcomes := newTally()
	for i := range n {
		e.Emit(t.Context(), proposal(i), outcomes.of(i))
		time.Sleep(every)
	}
	begun := time.Now()
	flush(t, e)
	if took := time.Since(begun); took > 3*limit {
		t.Errorf("the last was given up after %s", took)
	}
	for i, err := range outcomes.outcomes(t, n) {
		if !errors.Is(err, kafka.ErrTimeout) {
			t.Errorf("proposal %d: %v", i, err)
		}
	}
}
