package kafka_test

import (
	"context"
	"errors"
	"strconv"
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
)

func TestDeliversInOrder(t *testing.T) {
	t.Parallel()
	broker, answers := newBroker(t), newRegistry(t)
	e := newEmitter(t, connection(addr(broker), answers.URL))
	const n = 500
	outcomes := newTally()
	for i := range n {
		e.Emit(t.Context(), proposal(i), outcomes.of(i))
	}
	flush(t, e)
	for i, err := range outcomes.outcomes(t, n) {
		if err != nil {
			t.Fatalf("proposal %d: %v", i, err)
		}
	}
	inOrder(t, addr(broker), n)
	if got := len(answers.requests()); got != 1 {
		t.Errorf("the registry was asked %d times for one id", got)
	}
	if records, bytes := e.Held(); records != 0 || bytes != 0 {
		t.Errorf("%d records with %d bytes are held", records, bytes)
	}
}

// inOrder checks that each proposal is in the topic once, under its id, and those of an entity in their order.
func inOrder(t *testing.T, broker string, n int) {
	t.Helper()
	last := map[string]int{}
	for i, r := range written(t, broker, n) {
		if id := r.Value[4]; id != 42 {
			t.Fatalf("record %d has the schema id %d", i, id)
		}
		k := numberOf(t, r)
		if before, seen := last[string(r.Key)]; seen && before >= k {
			t.Fatalf("%s: proposal %d came behind %d", r.Key, k, before)
		}
		last[string(r.Key)] = k
	}
}

// numberOf reads of a record which proposal it is.
func numberOf(t *testing.T, r *kgo.Record) int {
	t.Helper()
	aspect, _ := decode(t, r.Value)["aspect"].(map[string]any)
	text, _ := aspect["value"].([]byte)
	_, number, _ := strings.Cut(strings.TrimSuffix(string(text), "}"), `"n": `)
	k, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("%s: %s", r.Key, text)
	}
	return k
}

func TestDeliveryNamesThePlace(t *testing.T) {
	t.Parallel()
	e := newEmitter(t, connection(addr(newBroker(t)), newRegistry(t).URL))
	var places []kafka.Delivery
	for i := range 2 {
		e.Emit(t.Context(), proposal(i), func(d kafka.Delivery, err error) {
			if err != nil {
				t.Error(err)
			}
			places = append(places, d)
		})
	}
	flush(t, e)
	for i, d := range places {
		if d != (kafka.Delivery{Topic: kafka.DefaultTopic, Partition: 0, Offset: int64(i)}) {
			t.Errorf("proposal %d is at %+v", i, d)
		}
	}
}

func TestNothingIsLostWhileTheRegistryIsAway(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T, r *registry){
		"away":           nil,
		"overloaded":     func(_ *testing.T, r *registry) { r.answer(503, "busy") },
		"another server": func(_ *testing.T, r *registry) { r.answer(404, "<html>nothing here</html>") },
		"a login page":   func(_ *testing.T, r *registry) { r.answer(200, "<html>log in</html>") },
		"no id":          func(_ *testing.T, r *registry) { r.answer(200, "{}") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := "127.0.0.1:" + strconv.Itoa(freePort(t))
			broker := newBroker(t)
			var answers *registry
			if begin != nil {
				answers = newRegistry(t, address)
				begin(t, answers)
			}
			e := newEmitter(t, connection(addr(broker), "http://"+address))
			outcomes := newTally()
			const n = 200
			begun := time.Now()
			for i := range n {
				e.Emit(t.Context(), proposal(i), outcomes.of(i))
			}
			if took := time.Since(begun); took > soon {
				t.Errorf("emitting took %s", took)
			}
			if answers == nil {
				time.Sleep(150 * time.Millisecond) // at least one question finds nobody
				answers = newRegistry(t, address)
			} else {
				eventually(t, "the registry is asked twice", func() bool { return len(answers.requests()) > 1 })
			}
			if got := outcomes.count(); got != 0 {
				t.Errorf("%d proposals had an outcome while there was no id", got)
			}
			answers.answer(200, `{"id": 42}`)
			flush(t, e)
			for i, err := range outcomes.outcomes(t, n) {
				if err != nil {
					t.Fatalf("proposal %d: %v", i, err)
				}
			}
			inOrder(t, addr(broker), n)
		})
	}
}

func TestNothingIsLostWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	address := "127.0.0.1:" + strconv.Itoa(port)
	e := newEmitter(t, connection(address, newRegistry(t).URL))
	outcomes := newTally()
	const n = 200
	for i := range n {
		e.Emit(t.Context(), proposal(i), outcomes.of(i))
	}
	time.Sleep(300 * time.Millisecond) // some attempts find nobody
	if got := outcomes.count(); got != 0 {
		t.Errorf("%d proposals had an outcome without a broker", got)
	}
	newBroker(t, kfake.Ports(port))
	flush(t, e)
	for i, err := range outcomes.outcomes(t, n) {
		if err != nil {
			t.Fatalf("proposal %d: %v", i, err)
		}
	}
	inOrder(t, address, n)
}

func TestARefusalFailsAtOnceAndIsAskedForAgain(t *testing.T) {
	t.Parallel()
	broker, answers := newBroker(t), newRegistry(t)
	answers.answer(401, `{"error_code": 40101, "message": "no such user: secret-of-the-registry"}`)
	values := connection(addr(broker), strings.Replace(answers.URL, "http://", "http://user:secret-of-the-registry@", 1))
	e := newEmitter(t, values)
	got := make(chan error, 1)
	e.Emit(t.Context(), proposal(0), func(_ kafka.Delivery, err error) { got <- err })
	err := <-got
	refused, ok := errors.AsType[*kafka.RegistryError](err)
	if !ok || refused.StatusCode != 401 || refused.Code != 40101 || refused.Temporary() {
		t.Fatalf("%v", err)
	}
	want := "the schema registry at " + answers.URL + " answered with 401: no such user: ***"
	if err.Error() != want {
		t.Errorf("%q, want %q", err.Error(), want)
	}
	if user, password, _ := basicOf(answers.requests()[0]); user != "user" || password != "secret-of-the-registry" {
		t.Errorf("logged in as %s with %s", user, password)
	}
	answers.answer(200, `{"id": 42}`)
	e.Emit(t.Context(), proposal(1), func(_ kafka.Delivery, err error) { got <- err })
	if err := <-got; err != nil {
		t.Errorf("after the credentials were mended: %v", err)
	}
}

func TestWhatIsRefusedWithinEmit(t *testing.T) {
	t.Parallel()
	invalid, large, latin := proposal(0), proposal(0), proposal(0)
	invalid.EntityType = "chart"
	large.Aspect = []byte(`{"text": "` + strings.Repeat("x", 5000) + `"}`)
	latin.SystemMetadata = &mcp.SystemMetadata{RunID: "\xe9"}
	e := newEmitter(t, connection("127.0.0.1:1", newRegistry(t).URL, map[string]any{"message.max.bytes": 5000}))
	for name, c := range map[string]struct {
		proposal mcp.Proposal
		is       func(error) bool
	}{
		"not valid": {invalid, func(err error) bool { _, ok := errors.AsType[*mcp.ValidationError](err); return ok }},
		"too large": {large, func(err error) bool { return errors.Is(err, kafka.ErrTooLarge) }},
		"not UTF-8": {latin, func(err error) bool { return strings.Contains(err.Error(), "runId is not UTF-8") }},
	} {
		ran := 0
		e.Emit(t.Context(), c.proposal, func(_ kafka.Delivery, err error) {
			if ran++; err == nil || !c.is(err) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if ran != 1 {
			t.Errorf("%s: the callback ran %d times within Emit", name, ran)
		}
	}
	if records, _ := e.Held(); records != 0 {
		t.Errorf("%d records are held", records)
	}
}

func TestAFullBuffer(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]map[string]any{
		"by count": {"queue.buffering.max.messages": 3},
		"by bytes": {"queue.buffering.max.kbytes": 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broker, answers := newBroker(t), newRegistry(t)
			answers.answer(503, "")
			e := newEmitter(t, connection(addr(broker), answers.URL, limit))
			outcomes := newTally()
			const n = 20
			taken := 0
			for i := range n {
				before := outcomes.count()
				e.Emit(t.Context(), proposal(i), outcomes.of(i))
				if outcomes.count() == before {
					taken++
				}
			}
			if taken == 0 || taken == n || (name == "by count" && taken != 3) {
				t.Fatalf("%d of %d were taken", taken, n)
			}
			answers.answer(200, `{"id": 42}`)
			flush(t, e)
			for i, err := range outcomes.outcomes(t, n) {
				full, isFull := errors.AsType[*kafka.BufferFullError](err)
				switch {
				case i < taken && err != nil:
					t.Errorf("proposal %d: %v", i, err)
				case i >= taken && (!isFull || !errors.Is(err, kafka.ErrBufferFull) || full.Records != taken):
					t.Errorf("proposal %d: %v", i, err)
				}
			}
			e.Emit(t.Context(), proposal(n), outcomes.of(n)) // there is room again
			flush(t, e)
			if err := outcomes.outcomes(t, n+1)[n]; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWaitingForRoom(t *testing.T) {
	t.Parallel()
	broker, answers := newBroker(t), newRegistry(t)
	answers.answer(503, "")
	values := connection(addr(broker), answers.URL, map[string]any{"queue.buffering.max.messages": 1})
	values["max_queue_full_block_seconds"] = 0.05
	e := newEmitter(t, values)
	e.Emit(t.Context(), proposal(0), nil)
	var full *kafka.BufferFullError
	e.Emit(t.Context(), proposal(1), func(_ kafka.Delivery, err error) { full, _ = errors.AsType[*kafka.BufferFullError](err) })
	if full == nil || full.Waited < 50*time.Millisecond || !strings.Contains(full.Error(), "no room within") {
		t.Fatalf("%v", full)
	}

	values["max_queue_full_block_seconds"] = 60
	patient := newEmitter(t, values)
	outcomes := newTally()
	patient.Emit(t.Context(), proposal(0), outcomes.of(0))
	gone, leave := context.WithCancelCause(t.Context())
	reason := errors.New("left")
	leave(reason)
	patient.Emit(gone, proposal(1), func(_ kafka.Delivery, err error) {
		if !errors.Is(err, reason) {
			t.Errorf("a caller that left: %v", err)
		}
	})
	var emitting sync.WaitGroup
	emitting.Go(func() { patient.Emit(t.Context(), proposal(1), outcomes.of(1)) })
	time.Sleep(20 * time.Millisecond)
	answers.answer(200, `{"id": 42}`)
	emitting.Wait()
	flush(t, patient)
	for _, err := range outcomes.outcomes(t, 2) {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestCallbacksMayEmit(t *testing.T) {
	t.Parallel()
	e := newEmitter(t, connection(addr(newBroker(t)), newRegistry(t).URL))
	done := make(chan error, 1)
	e.Emit(t.Context(), proposal(0), func(_ kafka.Delivery, err error) {
		if err != nil {
			t.Error(err)
		}
		e.Emit(t.Context(), proposal(1), func(_ kafka.Delivery, err error) { done <- err })
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTheTopicTakesLess(t *testing.T) {
	t.Parallel()
	broker := newBroker(t)
	broker.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		return produced(request, kerr.MessageTooLarge.Code), nil, true
	})
	e := newEmitter(t, connection(addr(broker), newRegistry(t).URL))
	for _, err := range e.EmitAll(t.Context(), []mcp.Proposal{proposal(0)}) {
		large, ok := errors.AsType[*kafka.TooLargeError](err)
		if !ok || !errors.Is(err, kerr.MessageTooLarge) || !strings.Contains(large.Error(), "max.message.bytes") {
			t.Errorf("%v", err)
		}
	}
}

// produced is an answer to a produce request with one code for all.
func produced(request kmsg.Request, code int16) kmsg.Response {
	asked := request.(*kmsg.ProduceRequest)
	answer := asked.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range asked.Topics {
		one := kmsg.NewProduceResponseTopic()
		one.Topic, one.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = partition.Partition, code
			one.Partitions = append(one.Partitions, p)
		}
		answer.Topics = append(answer.Topics, one)
	}
	return answer
}

func TestAMissingTopicIsSaid(t *testing.T) {
	t.Parallel()
	values := connection(addr(newBroker(t)), newRegistry(t).URL, map[string]any{"allow.auto.create.topics": false})
	values["topic_routes"] = map[string]any{"MetadataChangeProposal": "elsewhere"}
	for _, err := range newEmitter(t, values).EmitAll(t.Context(), []mcp.Proposal{proposal(0)}) {
		if !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.Contains(err.Error(), "elsewhere") {
			t.Errorf("%v", err)
		}
	}
}
