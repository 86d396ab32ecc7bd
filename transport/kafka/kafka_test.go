package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/kafka"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type m = map[string]any

const topic = "lineage"

func parse(tb testing.TB, values m) kafka.Config {
	tb.Helper()
	s := settings.New("transport", values)
	c := kafka.Parse(s)
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	if warnings := s.Warnings(); len(warnings) > 0 {
		tb.Error(warnings)
	}
	return c
}

// values are settings for a cluster, which give up soon.
func values(cluster *kafkatest.Cluster, more m) m {
	all := m{"topic": topic, "config": m{"bootstrap.servers": cluster.Addr(), "message.timeout.ms": 20000, "message.max.bytes": 3_000_000}}
	maps.Copy(all, more)
	return all
}

func build(tb testing.TB, values m) *kafka.Transport {
	tb.Helper()
	t := kafka.New(parse(tb, values), librdkafka.Build{UserAgent: "listener/1"})
	tb.Cleanup(func() {
		if err := t.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return t
}

func newCluster(tb testing.TB, partitions int32) *kafkatest.Cluster {
	return kafkatest.New(tb, kfake.SeedTopics(partitions, topic), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "4000000"}))
}

func TestContract(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, func(tb testing.TB) (transport.Transport, func() [][]byte) {
		cluster := newCluster(tb, 1)
		return build(tb, values(cluster, nil)), func() [][]byte {
			var bodies [][]byte
			for _, record := range cluster.Records(topic) {
				bodies = append(bodies, record.Value)
			}
			return bodies
		}
	})
}

// What a record is: value, key and the header by which copies are known.
func TestRecord(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t, 4)
	event := transporttest.Event(1, 0)
	for _, key := range []string{"", "one-for-all"} {
		if err := build(t, values(cluster, m{"messageKey": key})).Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, record := range cluster.Records(topic) {
		got[string(record.Key)] = fmt.Sprintf("%s %s=%s", record.Value, record.Headers[0].Key, record.Headers[0].Value)
	}
	want := string(event.Body) + " Idempotency-Key=" + event.Key
	if diff := cmp.Diff(map[string]string{"run:prefect/" + event.Name: want, "one-for-all": want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whose job a key names.
func TestMessageKeys(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t, 1)
	to := build(t, values(cluster, nil))
	var want []string
	for _, test := range []struct{ body, key string }{
		{`{"run":{"facets":{"parent":{"job":{"namespace":"p","name":"P"},"root":{"job":{"namespace":"r","name":"R"}}}}},"job":{"namespace":"n","name":"N"}}`, "run:r/R"},
		{`{"run":{"facets":{"parent":{"job":{"namespace":"p","name":"P"}}}},"job":{"namespace":"n","name":"N"}}`, "run:p/P"},
		{`{"run":{"facets":{"parent":{"job":{"namespace":"p","name":"P"},"root":null}}},"job":{"namespace":"n","name":"N"}}`, "run:p/P"},
		{`{"run":{"facets":{"parent":{"job":{"namespace":"p","name":"P"},"root":{"job":{"namespace":"r","name":""}}}}},"job":{"namespace":"n","name":"N"}}`, "run:n/N"},
		{`{"run":{"facets":{"parent":{}}},"job":{"namespace":"n","name":"N"}}`, "run:n/N"},
		{`{"run":{"facets":{}},"job":{"namespace":"n","name":"é\u00e9/x"}}`, "run:n/éé/x"},
		{`{"run":{},"job":{"namespace":"n","name":"N"}}`, "run:n/N"},
		{`{"job":{"namespace":"n","name":"N"}}`, "job:n/N"},
		{`{"dataset":{"namespace":"n","name":"N"}}`, "dataset:n/N"},
		{`{"odd":1}`, "run:given/Given"},
		{`no JSON`, "run:given/Given"},
	} {
		event := transporttest.Event(1, 0)
		event.Body, event.Namespace, event.Name = []byte(test.body), "given", "Given"
		if err := to.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		want = append(want, test.key)
	}
	var got []string
	for _, record := range cluster.Records(topic) {
		got = append(got, string(record.Key))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What does not fit into the topic is made smaller, whoever says so.
func TestTooLargeIsMadeSmaller(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]m{"the settings": {"message.max.bytes": 2000}, "the brokers": {}} {
		cluster := kafkatest.New(t, kfake.SeedTopics(1, topic), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "2000"}))
		limit["bootstrap.servers"] = cluster.Addr()
		c := parse(t, m{"topic": topic, "config": limit})
		inner := kafka.New(c, librdkafka.Build{})
		var left fit.Left
		to := fit.New(inner, c.MaxBytes(), func(_ transport.Event, l fit.Left) { left = l })
		event := transporttest.Event(1, 0)
		text := `"facets":{"long":{"a":"` + strings.Repeat("x", 3000) + `"}},"runId"`
		event.Body = []byte(strings.Replace(string(event.Body), `"facets":{},"runId"`, text, 1))
		if err := to.Emit(t.Context(), event); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := cluster.Records(topic); len(got) != 1 || len(left.Parts) != 1 || left.Parts[0] != "run.facets.long" {
			t.Errorf("%s: %d records, without %v", name, len(got), left.Parts)
		}
		if err := to.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	whole := m{"bootstrap.servers": "a:1"}
	for _, test := range []struct {
		values m
		want   []string
	}{
		{m{}, []string{"transport.topic: is missing", "transport.config: is missing"}},
		{m{"topic": "t", "config": "x"}, []string{"transport.config: must be a map"}},
		{m{"topic": "t", "config": m{"x": 1}}, []string{"transport.config.bootstrap.servers: is missing"}},
		{m{"topic": "a b", "config": whole}, []string{"transport.topic: is no name of a topic"}},
		{m{"topic": "..", "config": whole}, []string{"transport.topic: is no name of a topic"}},
		{m{"topic": strings.Repeat("x", 250), "config": whole}, []string{"transport.topic: is no name of a topic"}},
		{m{"topic": "t", "config": whole, "flush": "often"}, []string{"transport.flush: must be true or false"}},
	} {
		s := settings.New("transport", test.values)
		kafka.Parse(s)
		var got []string
		if joined, ok := s.Err().(interface{ Unwrap() []error }); ok {
			for _, err := range joined.Unwrap() {
				if wrong, ok := errors.AsType[*transport.ConfigError](err); ok {
					got = append(got, wrong.Path+": "+wrong.Problem)
				}
			}
		}
		for i := range min(len(got), len(test.want)) {
			got[i] = got[i][:min(len(got[i]), len(test.want[i]))]
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.values, diff)
		}
	}
}

func TestDescription(t *testing.T) {
	t.Parallel()
	c := parse(t, m{"topic": 5, "message_key": "k", "config": m{
		"bootstrap.servers": "a:1,b", "security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "me",
		"sasl.password": "s3cr3t", "ssl.key.pem": "-----BEGIN s3cr3t", "ssl.certificate.location": "/c", "ssl.key.password": "s3cr3t",
	}})
	if c.Target() != "a:1,b:9092/5" || c.MaxBytes() != 1_000_000-512-1 || c.Producer.Linger != 0 {
		t.Errorf("%s %d %v", c.Target(), c.MaxBytes(), c.Producer.Linger)
	}
	shown := fmt.Sprint(c.Settings())
	if strings.Contains(shown, "s3cr3t") || !strings.Contains(shown, "sasl.password:***") || !strings.Contains(shown, "security.protocol:sasl_ssl") {
		t.Error(shown)
	}
}

func TestFlush(t *testing.T) {
	t.Parallel()
	c := parse(t, m{"topic": "t", "flush": false, "config": m{"bootstrap.servers": "a"}})
	if c.Producer.Linger != librdkafka.DefaultLinger {
		t.Error(c.Producer.Linger)
	}
}

func TestMSK(t *testing.T) {
	t.Parallel()
	const broker = "b-1.lineage.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"
	for _, test := range []struct {
		name     string
		values   m
		env      string
		region   string
		warnings int
	}{
		{"its key", m{"region": "us-east-1"}, "eu-north-1", "us-east-1", 0},
		{"the environment", m{}, "eu-north-1", "eu-north-1", 0},
		{"the brokers' names", m{}, "", "eu-west-1", 0},
		{"nowhere", m{"config": m{"bootstrap.servers": "kafka.local"}}, "", "", 0},
		{"a role beside a profile", m{"aws_profile": "p", "role_arn": "arn:x"}, "", "eu-west-1", 1},
		{"debugging", m{"aws_debug_creds": true}, "", "eu-west-1", 1},
	} {
		all := m{"topic": topic, "config": m{"bootstrap.servers": broker, "security.protocol": "PLAINTEXT"}}
		maps.Copy(all, test.values)
		s := settings.New("transport", all)
		c := kafka.ParseMSK(s, test.env)
		if s.Err() != nil || c.AWS.Region != test.region || len(s.Warnings()) != test.warnings || c.Producer.TLS == nil || c.Producer.SASL == nil {
			t.Errorf("%s: %v %q %v", test.name, s.Err(), c.AWS.Region, s.Warnings())
		}
	}
}
