package deliver_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/transport/kafka"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

const topic = "lineage"

// kafkaRig is a rig with brokers behind it, all in one bubble.
type kafkaRig struct {
	*rig
	network *kafkatest.Network
	cluster *kafkatest.Cluster
	to      *sink
}

func newKafkaRig(t *testing.T, opts ...kfake.Opt) *kafkaRig {
	t.Helper()
	network := &kafkatest.Network{}
	cluster := kafkatest.New(t, append(opts, network.Listen())...)
	s := settings.New("transport", map[string]any{
		"topic": topic, "config": map[string]any{"bootstrap.servers": cluster.Addr(), "allow.auto.create.topics": false},
	})
	c := kafka.Parse(s)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	over := kafka.New(c, librdkafka.Build{UserAgent: "listener/1", Dial: network.Dial})
	t.Cleanup(func() {
		if err := over.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	to := &sink{name: "kafka", answer: func(ctx context.Context, a seen) error { return over.Emit(ctx, a.event) }}
	return &kafkaRig{newRigWith(t, kafka.Parallel, deliver.Options{}, to), network, cluster, to}
}

// wantTopic checks that the topic has all of the events, each run's in order; copies are counted.
func (r *kafkaRig) wantTopic(events []adapter.Event) (copies int) {
	r.t.Helper()
	want, got := map[string][]string{}, map[string][]string{}
	for _, e := range events {
		want[e.Run.String()] = append(want[e.Run.String()], string(e.Body))
	}
	for _, record := range r.cluster.Records(topic, kgo.Dialer(r.network.Dial)) {
		body := string(record.Value)
		run := strings.TrimPrefix(body, `{"run":"`)[:36]
		if slices.Contains(got[run], body) {
			copies++
			continue
		}
		got[run] = append(got[run], body)
	}
	if !maps.EqualFunc(want, got, slices.Equal) {
		r.t.Errorf("%d runs in the topic, want %d: one is missing or out of order", len(got), len(want))
	}
	return copies
}

// Brokers that are gone for ten minutes, and break connections with records under way: nothing is lost or dead, each
// run stays in order, and all of it is there within half a minute of their return.
func TestKafkaIsAwayForTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newKafkaRig(t, kfake.SeedTopics(3, topic))
		first, later := family(0, 60), family(100, 60)
		asked := 0
		r.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			if asked++; asked == 3 {
				r.cluster.DropControl()
				r.network.Break() // the brokers take the records, and nobody hears of it
			} else {
				r.cluster.KeepControl()
			}
			return nil, nil, false
		})
		r.outbox.add(first...)
		r.start()
		wait(time.Second)
		r.outbox.add(later...)
		wait(10 * time.Minute)
		if s := r.state("kafka"); s.State != deliver.Down {
			t.Errorf("the destination is %s", s.State)
		}
		if _, delivered, dead := r.outbox.counts("kafka"); delivered == 0 || delivered >= len(first) || dead != 0 {
			t.Errorf("%d delivered, %d dead while the brokers are away", delivered, dead)
		}
		r.network.Mend()
		wait(31 * time.Second)
		r.wantCounts("kafka", 0, len(first)+len(later), 0)
		r.stop()
		t.Logf("%d copies", r.wantTopic(append(first, later...)))
	})
}

// A topic that is missing holds the destination; nothing dies of it, and all goes on once somebody makes it.
func TestKafkaTopicIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newKafkaRig(t)
		events := separateRuns(10) // too few for the guard against consumers that refuse everything
		r.outbox.add(events...)
		r.start()
		wait(10 * time.Minute)
		r.wantCounts("kafka", len(events), 0, 0)
		if s := r.state("kafka"); s.State != deliver.Held {
			t.Errorf("the destination is %s", s.State)
		}
		client, err := kgo.NewClient(kgo.SeedBrokers(r.cluster.ListenAddrs()...), kgo.Dialer(r.network.Dial))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 3, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
		wait(time.Minute)
		r.wantCounts("kafka", 0, len(events), 0)
		r.stop()
		r.wantTopic(events)
	})
}

// One event that the brokers find too large is a dead letter that says so; its run's and all others go on.
func TestKafkaFindsOneEventTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newKafkaRig(t, kfake.SeedTopics(1, topic), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "3000"}))
		events := separateRuns(50)
		large := events[20]
		large.Body = append(large.Body, strings.Repeat(" ", 4000)...)
		events[20] = large
		r.outbox.add(events...)
		r.start()
		wait(time.Minute)
		r.wantCounts("kafka", 0, len(events)-1, 1)
		r.stop()
		if reason := r.outbox.row("kafka", 21).reason; reason != "too-large" {
			t.Errorf("the dead letter's reason is %q", reason)
		}
		r.wantTopic(slices.Delete(events, 20, 21))
	})
}

// A partition without a leader for minutes: the listener goes on trying, and keeps each run's order.
func TestKafkaHasNoLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newKafkaRig(t, kfake.SeedTopics(3, topic))
		back := time.Now().Add(5 * time.Minute)
		r.cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
			r.cluster.KeepControl()
			return notLeader(request.(*kmsg.ProduceRequest)), nil, time.Now().Before(back)
		})
		events := family(0, 8)
		r.outbox.add(events...)
		r.start()
		wait(4 * time.Minute)
		r.wantCounts("kafka", len(events), 0, 0)
		wait(2 * time.Minute)
		r.wantCounts("kafka", 0, len(events), 0)
		r.stop()
		if copies := r.wantTopic(events); copies != 0 {
			t.Errorf("%d copies of what no broker took before", copies)
		}
	})
}

// notLeader answers for all partitions that another broker leads them.
func notLeader(request *kmsg.ProduceRequest) kmsg.Response {
	response := request.ResponseKind().(*kmsg.ProduceResponse)
	for _, asked := range request.Topics {
		answer := kmsg.NewProduceResponseTopic()
		answer.Topic, answer.TopicID = asked.Topic, asked.TopicID
		for _, partition := range asked.Partitions {
			one := kmsg.NewProduceResponseTopicPartition()
			one.Partition, one.ErrorCode = partition.Partition, kerr.NotLeaderForPartition.Code
			answer.Partitions = append(answer.Partitions, one)
		}
		response.Topics = append(response.Topics, answer)
	}
	return response
}

// The end comes while brokers are silent: it does not wait for them, and nothing counts as delivered that is not.
func TestEndWhileKafkaIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const silence = 10 * time.Minute
		r := newKafkaRig(t, kfake.SeedTopics(1, topic))
		r.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			r.cluster.KeepControl()
			r.cluster.SleepControl(func() { time.Sleep(silence) })
			return nil, nil, false
		})
		events := separateRuns(10)
		r.outbox.add(events...)
		r.start()
		wait(5 * time.Second)
		began := time.Now()
		r.stop()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the end took %v", took)
		}
		r.wantCounts("kafka", len(events), 0, 0)
		wait(silence) // the brokers' own goroutines end with it
	})
}
