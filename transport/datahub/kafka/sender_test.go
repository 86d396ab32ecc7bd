package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
)

// padded is a proposal of about so many bytes more.
func padded(i, bytes int) mcp.Proposal {
	p := proposal(i)
	p.Aspect = fmt.Appendf(nil, `{"text": "%s", "n": %d}`, strings.Repeat("x", bytes), i)
	return p
}

// smallTopic starts a broker whose topic takes batches of at most 3000 bytes.
func smallTopic(t *testing.T) *kfake.Cluster {
	t.Helper()
	return newBroker(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "3000"}))
}

// A batch is refused as a whole. What travelled in it with what is too large is delivered all the same, in its order.
func TestOnlyTheLargeProposalIsRefused(t *testing.T) {
	t.Parallel()
	for name, large := range map[string]map[int]bool{
		"one": {40: true}, "the first and the last": {0: true, 99: true}, "some in a row": {30: true, 31: true, 32: true, 60: true},
		"none, only their batches": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broker := smallTopic(t)
			e := newEmitter(t, connection(addr(broker), newRegistry(t).URL, map[string]any{"linger.ms": 50}))
			outcomes := newTally()
			const n = 100
			for i := range n {
				size := 300
				if large[i] {
					size = 4000
				}
				e.Emit(t.Context(), padded(i, size), outcomes.of(i))
			}
			flush(t, e)
			for i, err := range outcomes.outcomes(t, n) {
				refused, ok := errors.AsType[*kafka.TooLargeError](err)
				switch {
				case !large[i] && err != nil:
					t.Errorf("proposal %d: %v", i, err)
				case large[i] && (!ok || !errors.Is(refused, kerr.MessageTooLarge)):
					t.Errorf("proposal %d: %v", i, err)
				}
			}
			if got := len(kafkatest.Records(t, addr(broker), kafka.DefaultTopic)); got != n-len(large) {
				t.Errorf("%d records", got)
			}
			inOrder(t, addr(broker), n-len(large))
			if records, bytes := e.Held(); records != 0 || bytes != 0 {
				t.Errorf("%d records with %d bytes are held", records, bytes)
			}
		})
	}
}

// Others go on emitting meanwhile: each proposal has one outcome, and the last word about an entity stays last.
func TestRefusalsWhileOthersEmit(t *testing.T) {
	t.Parallel()
	broker := smallTopic(t)
	e := newEmitter(t, connection(addr(broker), newRegistry(t).URL))
	outcomes := newTally()
	const writers, each = 4, 250
	isLarge := func(n int) bool { return n%41 == 0 }
	var emitting sync.WaitGroup
	for w := range writers {
		emitting.Go(func() {
			for i := range each {
				n := w*each + i
				p := padded(n, map[bool]int{false: 100, true: 4000}[isLarge(n)])
				p.EntityURN = fmt.Sprintf("urn:li:dataset:(urn:li:dataPlatform:hive,w%d.t%d,PROD)", w, i%3)
				e.Emit(t.Context(), p, outcomes.of(n))
			}
		})
	}
	emitting.Wait()
	flush(t, e)
	for n, err := range outcomes.outcomes(t, writers*each) {
		if isLarge(n) != errors.Is(err, kafka.ErrTooLarge) || !isLarge(n) && err != nil {
			t.Errorf("proposal %d: %v", n, err)
		}
	}
	seen, last := map[int]bool{}, map[string]int{}
	records := kafkatest.Records(t, addr(broker), kafka.DefaultTopic)
	for _, r := range records {
		n := numberOf(t, r)
		seen[n], last[string(r.Key)] = true, n
	}
	t.Logf("%d records of %d proposals", len(records), len(seen))
	for n := range writers * each {
		urn := fmt.Sprintf("urn:li:dataset:(urn:li:dataPlatform:hive,w%d.t%d,PROD)", n/each, n%each%3)
		if !isLarge(n) && (!seen[n] || n > last[urn]) {
			t.Errorf("proposal %d of %s: written %v, the last word is %d", n, urn, seen[n], last[urn])
		}
	}
}

// whileRefused runs once, when the client has refused a record and has not said so yet.
type whileRefused struct {
	once sync.Once
	run  func()
}

func (h *whileRefused) OnProduceRecordUnbuffered(_ *kgo.Record, err error) {
	if err != nil {
		h.once.Do(h.run)
	}
}

// What overtook a refused proposal of its entity is sent again behind it.
func TestTheLastWordStaysLast(t *testing.T) {
	t.Parallel()
	broker := newBroker(t)
	requests, overtaken := 0, make(chan struct{})
	broker.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		switch requests++; requests {
		case 1:
			return produced(request, kerr.MessageTooLarge.Code), nil, true
		case 2:
			close(overtaken)
		}
		return nil, nil, false
	})
	config, _, err := kafka.NewConfig(connection(addr(broker), newRegistry(t).URL))
	if err != nil {
		t.Fatal(err)
	}
	var hook whileRefused
	e, err := kafka.New(config, kafka.Options{Kafka: []kgo.Opt{kgo.WithHooks(&hook)}})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := newTally()
	hook.run = func() {
		e.Emit(t.Context(), proposal(7), outcomes.of(1)) // the entity of proposal 0
		<-overtaken
	}
	e.Emit(t.Context(), proposal(0), outcomes.of(0))
	eventually(t, "both have an outcome", func() bool { return outcomes.count() == 2 })
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, err := range outcomes.outcomes(t, 2) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	var got []int
	for _, r := range kafkatest.Records(t, addr(broker), kafka.DefaultTopic) {
		got = append(got, numberOf(t, r))
	}
	if !slices.Equal(got, []int{7, 0, 7}) {
		t.Errorf("%v", got)
	}
}

// Closing while refused proposals are sent again leaves nobody without an outcome.
func TestCloseWhileRefusedOnesAreSentAgain(t *testing.T) {
	t.Parallel()
	var door gate
	e := newEmitter(t, connection(addr(newBroker(t, door.listen(), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "3000"}))),
		newRegistry(t).URL, map[string]any{"linger.ms": 20}))
	outcomes := newTally()
	const n = 2000
	for i := range n {
		e.Emit(t.Context(), padded(i, 1000), outcomes.of(i))
	}
	eventually(t, "some are delivered", func() bool { return outcomes.count() > 3 })
	door.set(true)
	for i := range 10 {
		e.Emit(t.Context(), padded(n+i, 1000), outcomes.of(n+i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	left, ok := errors.AsType[*kafka.UnsettledError](e.Close(ctx))
	if !ok {
		t.Fatal("all was delivered; the test is too slow")
	}
	given := 0
	for i, err := range outcomes.outcomes(t, n+10) {
		if errors.Is(err, kafka.ErrClosed) {
			given++
		} else if err != nil {
			t.Errorf("proposal %d: %v", i, err)
		}
	}
	if given == 0 || given > left.Left {
		t.Errorf("%d were given up, %d were left", given, left.Left)
	}
}
