package kafka_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
)

// nobody is an address where no server is.
const nobody = "127.0.0.1:1"

func TestGivingUpInTime(t *testing.T) {
	t.Parallel()
	second := map[string]any{"message.timeout.ms": 1000}
	for name, c := range map[string]struct {
		settings func(t *testing.T) map[string]any
		says     string
	}{
		"no registry": {func(t *testing.T) map[string]any {
			return connection(addr(newBroker(t)), "http://"+nobody, second)
		}, "connection refused"},
		"a registry that does not answer": {func(t *testing.T) map[string]any {
			return connection(addr(newBroker(t)), "http://"+silent(t), second)
		}, "deadline exceeded"},
		"no broker": {func(t *testing.T) map[string]any {
			return connection(nobody, newRegistry(t).URL, second)
		}, "did not acknowledge"},
		"a broker that does not answer what it was sent": {func(t *testing.T) map[string]any {
			broker := newBroker(t)
			broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
				broker.KeepControl()
				return nil, errors.New("the connection breaks"), true
			})
			return connection(addr(broker), newRegistry(t).URL, second)
		}, "did not acknowledge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEmitter(t, c.settings(t))
			begun := time.Now()
			for _, err := range e.EmitAll(t.Context(), []mcp.Proposal{proposal(0), proposal(1)}) {
				late, ok := errors.AsType[*kafka.TimeoutError](err)
				if !ok || !errors.Is(err, kafka.ErrTimeout) || late.After != time.Second || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v", err)
				}
			}
			if took := time.Since(begun); took < time.Second || took > soon {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestFlushSaysHowManyAreLeft(t *testing.T) {
	t.Parallel()
	answers := newRegistry(t)
	answers.answer(503, "")
	e := newEmitter(t, connection(addr(newBroker(t)), answers.URL))
	outcomes := newTally()
	for i := range 5 {
		e.Emit(t.Context(), proposal(i), outcomes.of(i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := e.Flush(ctx)
	left, ok := errors.AsType[*kafka.UnsettledError](err)
	if !ok || left.Left != 5 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	e.Emit(t.Context(), proposal(5), outcomes.of(5))
	if left, ok := errors.AsType[*kafka.UnsettledError](e.Flush(ctx)); !ok || left.Left != 6 {
		t.Errorf("%v", left)
	}
	answers.answer(200, `{"id": 42}`)
	flush(t, e)
	outcomes.outcomes(t, 6)
}

// A Flush waits for what was emitted before it, however much others emit meanwhile.
func TestFlushEndsWhileOthersEmit(t *testing.T) {
	t.Parallel()
	e := newEmitter(t, connection(addr(newBroker(t)), newRegistry(t).URL))
	stop := make(chan struct{})
	var emitting sync.WaitGroup
	emitting.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				e.EmitAll(context.Background(), []mcp.Proposal{proposal(i), proposal(i + 1)})
			}
		}
	})
	for range 20 {
		ran := false
		e.Emit(t.Context(), proposal(0), func(kafka.Delivery, error) { ran = true })
		if flush(t, e); !ran {
			t.Fatal("Flush returned before the callback ran")
		}
	}
	close(stop)
	emitting.Wait()
}

func TestCloseDrains(t *testing.T) {
	t.Parallel()
	broker := newBroker(t)
	e := newEmitter(t, connection(addr(broker), newRegistry(t).URL))
	outcomes := newTally()
	const n = 300
	for i := range n {
		e.Emit(t.Context(), proposal(i), outcomes.of(i))
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, err := range outcomes.outcomes(t, n) {
		if err != nil {
			t.Fatalf("proposal %d: %v", i, err)
		}
	}
	inOrder(t, addr(broker), n)
	e.Emit(t.Context(), proposal(n), outcomes.of(n))
	if err := outcomes.outcomes(t, n+1)[n]; !errors.Is(err, kafka.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestCloseGivesUpWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]func(t *testing.T) map[string]any{
		"no registry":           func(t *testing.T) map[string]any { return connection(addr(newBroker(t)), "http://"+nobody) },
		"a registry that hangs": func(t *testing.T) map[string]any { return connection(addr(newBroker(t)), "http://"+silent(t)) },
		"no broker":             func(t *testing.T) map[string]any { return connection(nobody, newRegistry(t).URL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEmitter(t, settings(t))
			outcomes := newTally()
			for i := range 10 {
				e.Emit(t.Context(), proposal(i), outcomes.of(i))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			left, ok := errors.AsType[*kafka.UnsettledError](e.Close(ctx))
			if !ok || left.Left != 10 {
				t.Errorf("%v", left)
			}
			for _, err := range outcomes.outcomes(t, 10) {
				if !errors.Is(err, kafka.ErrClosed) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// Whatever happens at once, each proposal has one outcome.
func TestEachCallbackRunsOnce(t *testing.T) {
	t.Parallel()
	broker, answers := newBroker(t), newRegistry(t)
	values := connection(addr(broker), answers.URL, map[string]any{
		"queue.buffering.max.messages": 50, "message.timeout.ms": 1000,
	})
	values["max_queue_full_block_seconds"] = 0.01
	e := newEmitter(t, values)
	outcomes := newTally()
	const writers, each = 8, 200
	var emitting sync.WaitGroup
	for w := range writers {
		emitting.Go(func() {
			for i := range each {
				n := w*each + i
				p := proposal(n)
				if n%17 == 0 {
					p.AspectName = "" // not valid
				}
				e.Emit(t.Context(), p, outcomes.of(n))
			}
		})
	}
	emitting.Go(func() {
		for range 20 {
			status := []int{200, 503, 401}[rand.IntN(3)]
			answers.answer(status, `{"id": 42}`)
			time.Sleep(2 * time.Millisecond)
		}
		answers.answer(200, `{"id": 42}`)
	})
	emitting.Go(func() {
		time.Sleep(30 * time.Millisecond)
		_ = e.Close(t.Context()) // while others emit
	})
	emitting.Wait()
	delivered := 0
	for _, err := range outcomes.outcomes(t, writers*each) {
		if err == nil {
			delivered++
		}
	}
	t.Logf("%d of %d delivered", delivered, writers*each)
	if delivered > 0 {
		written(t, addr(broker), delivered)
	}
}

func TestWithoutACallbackTheLoggerIsTold(t *testing.T) {
	t.Parallel()
	config, _, err := kafka.NewConfig(connection(nobody, "http://"+nobody))
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.WarnLevel)
	e, err := kafka.New(config, kafka.Options{Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	e.Emit(t.Context(), proposal(0), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(ctx); err == nil {
		t.Error("what was given up is not said")
	}
	if got := logs.All(); len(got) != 1 || got[0].ContextMap()["aspect"] != "status" {
		t.Errorf("%v", got)
	}
}

// What was given up under way has taken a number that the broker knows. What comes later must not be taken for a copy of it.
func TestNothingIsSwallowedAfterGivingUp(t *testing.T) {
	t.Parallel()
	var cutter kafkatest.Cutter
	broker := newBroker(t, cutter.Listen())
	e := newEmitter(t, connection(addr(broker), newRegistry(t).URL, map[string]any{"message.timeout.ms": 1000}))
	one := func(i int) error { return e.EmitAll(t.Context(), []mcp.Proposal{proposal(i)})[0] }
	if err := one(0); err != nil {
		t.Fatal(err)
	}
	var answering atomic.Bool
	broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		if !answering.Load() {
			cutter.Cut(1) // what is written is not acknowledged
		}
		return nil, nil, false
	})
	if err := one(1); !errors.Is(err, kafka.ErrTimeout) {
		t.Fatalf("without answers: %v", err)
	}
	answering.Store(true)
	cutter.Cut(0)
	for i := 2; i < 5; i++ {
		if err := one(i); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]bool{}
	for _, r := range written(t, addr(broker), 5) {
		aspect, _ := decode(t, r.Value)["aspect"].(map[string]any)
		text, _ := aspect["value"].([]byte)
		got[string(text)] = true
	}
	for _, i := range []int{0, 1, 2, 3, 4} {
		if !got[string(proposal(i).Aspect)] {
			t.Errorf("proposal %d is not in the topic", i)
		}
	}
}
