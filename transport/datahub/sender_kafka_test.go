package datahub_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// registry is a schema registry that has the schema under a number.
func registry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":42,"version":1}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func openKafka(t *testing.T, broker, registry string) *datahub.Transport {
	t.Helper()
	c := parsed(t, m{"kafka": m{"connection": m{
		"bootstrap": broker, "schema_registry_url": registry, "producer_config": m{"message.timeout.ms": 2000, "linger.ms": 0},
	}}}, nil)
	tr, err := datahub.Open(c, datahub.Options{UserAgent: "test/1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = tr.Close(ctx) // what is left has had its error
	})
	return tr
}

// All proposals of an event are in the topic once Emit has returned, those of the run in their order.
func TestKafkaHasTheEvent(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, kafka.DefaultTopic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	broker := cluster.ListenAddrs()[0]
	tr := openKafka(t, broker, registry(t))
	if seen, err := tr.Probe(t.Context()); err != nil || !strings.Contains(seen, "the brokers have the topic") {
		t.Errorf("%q, %v", seen, err)
	}
	event := transporttest.Event(1, 0)
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(kafka.DefaultTopic))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	want := len(tr.Review(event).Copies)
	got, ofRun := 0, []string{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for got < want && ctx.Err() == nil {
		consumer.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			got++
			if string(r.Key) == "urn:li:dataProcessInstance:"+event.RunID {
				ofRun = append(ofRun, string(r.Value))
			}
		})
	}
	if got != want || len(ofRun) != 3 || !strings.Contains(ofRun[2], "dataProcessInstanceRunEvent") {
		t.Errorf("%d proposals of %d, of the run %d", got, want, len(ofRun))
	}
}

// An event is not under way for longer than is set when nobody is there.
func TestKafkaIsAway(t *testing.T) {
	t.Parallel()
	tr := openKafka(t, "127.0.0.1:1", registry(t))
	begin := time.Now()
	e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0)))
	if took := time.Since(begin); e.Outcome != transport.Retry || took > 15*time.Second {
		t.Errorf("%v after %v: %v", e.Outcome, took, e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if e := transporttest.RequireError(t, tr.Emit(ctx, transporttest.Event(2, 0))); e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled {
		t.Errorf("cancelled: %v %q: %v", e.Outcome, e.Reason, e)
	}
}
