package kafka_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/kafka"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

type m = map[string]any

// build makes a transport with properties beside those that give up soon.
func build(t *testing.T, topic string, properties m) (*kafka.Transport, kafka.Config) {
	t.Helper()
	all := m{"message.timeout.ms": 15000}
	maps.Copy(all, properties)
	s := settings.New("transport", m{"topic": topic, "config": all})
	c := kafka.Parse(s)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	to := kafka.New(c, librdkafka.Build{UserAgent: "listener/1"})
	t.Cleanup(func() {
		if err := to.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return to, c
}

// What brokers say to who comes in each way, and to what each wants.
func TestWaysIn(t *testing.T) {
	b := start(t)
	at := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	ca := filepath.Join(b.dir, "ca.pem")
	login := func(mechanism, word string) m {
		return m{
			"bootstrap.servers": at(b.login), "security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism,
			"sasl.username": user, "sasl.password": word,
		}
	}
	secure := login("SCRAM-SHA-512", password)
	maps.Copy(secure, m{"bootstrap.servers": at(b.secure), "security.protocol": "sasl_ssl", "ssl.ca.location": ca})
	stranger := maps.Clone(secure)
	delete(stranger, "ssl.ca.location")
	mutual := m{"bootstrap.servers": at(b.mutual), "security.protocol": "ssl", "ssl.ca.location": ca}
	shown := maps.Clone(mutual)
	shown["ssl.certificate.location"] = filepath.Join(b.dir, "client.pem")
	plain := m{"bootstrap.servers": b.address()}
	token := m{
		"bootstrap.servers": at(b.login), "security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER",
		"enable.sasl.oauthbearer.unsecure.jwt": true, "sasl.oauthbearer.config": "principal=" + user,
	}
	for _, test := range []struct {
		name, topic string
		properties  m
		outcome     transport.Outcome
		reason      string // empty: delivered
	}{
		{"plaintext", lineage, plain, 0, ""},
		{"PLAIN", lineage, login("PLAIN", password), 0, ""},
		{"SCRAM-SHA-256", lineage, login("SCRAM-SHA-256", password), 0, ""},
		{"SCRAM-SHA-512", lineage, login("SCRAM-SHA-512", password), 0, ""},
		{"OAUTHBEARER", lineage, token, 0, ""},
		{"TLS and a login", lineage, secure, 0, ""},
		{"a client certificate", lineage, shown, 0, ""},
		{"a wrong password, PLAIN", lineage, login("PLAIN", "wr0ng-pass"), transport.Hold, "auth"},
		{"a wrong password, SCRAM", lineage, login("SCRAM-SHA-256", "wr0ng-pass"), transport.Hold, "auth"},
		{"no client certificate", lineage, mutual, transport.Hold, "tls"},
		{"nobody vouches for the broker", lineage, stranger, transport.Hold, "tls"},
		{"no login where one is wanted", lineage, m{"bootstrap.servers": at(b.login)}, transport.Hold, "tls"},
		{"TLS where none is spoken", lineage, m{"bootstrap.servers": b.address(), "security.protocol": "ssl"}, transport.Hold, "tls"},
		{"no TLS where it is spoken", lineage, m{"bootstrap.servers": at(b.mutual)}, transport.Hold, "tls"},
		{"no right", "closed", login("PLAIN", password), transport.Hold, "auth"},
		{"no topic", "missing", plain, transport.Hold, "topic"},
		{"no broker", lineage, m{"bootstrap.servers": kafkatest.Unused(t)}, transport.Retry, "connection"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			to, _ := build(t, test.topic, test.properties)
			said, probed := to.Probe(t.Context())
			err := to.Emit(t.Context(), transporttest.Event(1, 0))
			t.Log(said, probed, err)
			if test.reason == "" {
				if err != nil || probed != nil || !strings.Contains(said, "12 partitions") {
					t.Errorf("%q %v %v", said, probed, err)
				}
				return
			}
			e := transporttest.RequireError(t, err)
			if e.Outcome != test.outcome || e.Reason != test.reason || strings.Contains(e.Error(), "wr0ng") {
				t.Errorf("%v %s: %v", e.Outcome, e.Reason, e)
			}
			if test.topic != "missing" && transport.ClassifyError(probed).Outcome != test.outcome {
				t.Errorf("probing: %v", probed)
			}
		})
	}
}

// An event that the topic does not take goes out with less in it.
func TestTooLarge(t *testing.T) {
	b := start(t)
	to, c := build(t, "tiny", m{"bootstrap.servers": b.address()})
	var left fit.Left
	event := transporttest.Event(1, 0)
	facets := `"facets":{"long":{"a":"` + strings.Repeat("x", 3000) + `"}},"runId"`
	event.Body = []byte(strings.Replace(string(event.Body), `"facets":{},"runId"`, facets, 1))
	err := fit.New(to, c.MaxBytes(), func(_ transport.Event, l fit.Left) { left = l }).Emit(t.Context(), event)
	if err != nil || len(left.Parts) != 1 {
		t.Fatalf("%v, without %v", err, left.Parts)
	}
	if got := kafkatest.Records(t, b.address(), "tiny"); len(got) != 1 || len(got[0].Value) != left.To {
		t.Errorf("%d records", len(got))
	}
}
