package producer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/kafka/producer"
	"github.com/prefect-openlineage/listener/transport/settings"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type m = map[string]any

const topic = "lineage"

// config are a producer's properties that give up soon.
func config(tb testing.TB, brokers string, more m) librdkafka.Config {
	tb.Helper()
	all := m{"bootstrap.servers": brokers, "linger.ms": 0, "message.timeout.ms": 4000}
	maps.Copy(all, more)
	s := settings.New("config", all)
	c := librdkafka.Parse(s)
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	return c
}

func start(tb testing.TB, c librdkafka.Config) *producer.Producer {
	tb.Helper()
	p := producer.New(c, librdkafka.Build{UserAgent: "listener/1.0"}, 16)
	tb.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func record(key, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}
}

func send(tb testing.TB, p *producer.Producer, r *kgo.Record) {
	tb.Helper()
	if err := p.Send(context.Background(), r); err != nil {
		tb.Fatal(err)
	}
}

// values are what a topic holds, in order.
func values(cluster *kafkatest.Cluster) string {
	var all []string
	for _, r := range cluster.Records(topic) {
		all = append(all, string(r.Value))
	}
	return strings.Join(all, " ")
}

// produced answers a request to produce with one error code for all partitions.
func produced(request kmsg.Request, code *kerr.Error) kmsg.Response {
	req := request.(*kmsg.ProduceRequest)
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		one := kmsg.NewProduceResponseTopic()
		one.Topic, one.TopicID = t.Topic, t.TopicID
		for _, part := range t.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = part.Partition, code.Code
			one.Partitions = append(one.Partitions, p)
		}
		resp.Topics = append(resp.Topics, one)
	}
	return resp
}

// always answers every request to produce with an error code, until over is called.
func always(cluster *kafkatest.Cluster, code *kerr.Error) (over func()) {
	var done atomic.Bool
	cluster.ControlKey(produceKey, func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return produced(request, code), nil, !done.Load()
	})
	return func() { done.Store(true) }
}

const produceKey = int16(kmsg.Produce)

func TestDelivered(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.SeedTopics(3, topic))
	p := start(t, config(t, cluster.Addr(), m{"compression.type": "gzip", "client.id": "me"}))
	for i := range 3 {
		send(t, p, record("same", fmt.Sprint(i)))
	}
	if got := values(cluster); got != "0 1 2" {
		t.Error(got)
	}
}

// What the brokers' codes mean. Each code is all that they answer.
func TestCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code    *kerr.Error
		outcome transport.Outcome
		reason  string
	}{
		{kerr.TopicAuthorizationFailed, transport.Hold, "auth"},
		{kerr.ClusterAuthorizationFailed, transport.Hold, "auth"},
		{kerr.UnknownTopicOrPartition, transport.Hold, "topic"},
		{kerr.InvalidTopicException, transport.Hold, "topic"},
		{kerr.UnsupportedForMessageFormat, transport.Hold, "version"},
		{kerr.InvalidRequiredAcks, transport.Hold, "version"},
		{kerr.UnsupportedCompressionType, transport.Hold, "version"},
		{kerr.InvalidTimestamp, transport.Hold, "clock"},
		{kerr.PolicyViolation, transport.Hold, "broker"},
		{kerr.MessageTooLarge, transport.Permanent, "too-large"},
		{kerr.RecordListTooLarge, transport.Permanent, "too-large"},
		{kerr.InvalidRecord, transport.Permanent, "refused"},
		{kerr.NotEnoughReplicas, transport.Retry, "replicas"},
		{kerr.NotLeaderForPartition, transport.Retry, "leader"},
		{kerr.LeaderNotAvailable, transport.Retry, "leader"},
		{kerr.KafkaStorageError, transport.Retry, "broker"},
		{kerr.UnknownServerError, transport.Retry, "broker"},
		{kerr.CorruptMessage, transport.Retry, "broker"},
		{kerr.ThrottlingQuotaExceeded, transport.Retry, "broker"},
		// Nobody knows whether the record was written, so the client goes on until the time is over.
		{kerr.NotEnoughReplicasAfterAppend, transport.Retry, "timeout"},
		{kerr.RequestTimedOut, transport.Retry, "timeout"},
	} {
		t.Run(test.code.Message, func(t *testing.T) {
			t.Parallel()
			cluster := kafkatest.New(t, kfake.SeedTopics(1, topic))
			always(cluster, test.code)
			p := start(t, config(t, cluster.Addr(), m{"sasl.password": "s3cr3t"}))
			e := transporttest.RequireError(t, p.Send(t.Context(), record("k", "v")))
			if e.Outcome != test.outcome || e.Reason != test.reason {
				t.Errorf("%v %s: %v", e.Outcome, e.Reason, e)
			}
			if test.reason != "timeout" && !errors.Is(e, test.code) {
				t.Errorf("the cause is lost: %v", e)
			}
		})
	}
}

func TestMissingTopic(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.SeedTopics(1, "other"))
	p := start(t, config(t, cluster.Addr(), nil))
	e := transporttest.RequireError(t, p.Send(t.Context(), record("k", "v")))
	if e.Outcome != transport.Hold || e.Reason != "topic" || !strings.Contains(e.Error(), topic) {
		t.Errorf("%v %s: %v", e.Outcome, e.Reason, e)
	}
}

func TestTopicMadeOnDemand(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(2))
	send(t, start(t, config(t, cluster.Addr(), nil)), record("k", "v"))
	if got := values(cluster); got != "v" {
		t.Error(got)
	}
	e := transporttest.RequireError(t, start(t, config(t, cluster.Addr(), m{"allow.auto.create.topics": false})).
		Send(t.Context(), &kgo.Record{Topic: "second"}))
	if e.Outcome != transport.Hold {
		t.Error(e)
	}
}

// Nobody there: it is said soon, and all is well once somebody is.
func TestBrokersAway(t *testing.T) {
	t.Parallel()
	address := kafkatest.Unused(t)
	p := start(t, config(t, address, m{"message.timeout.ms": 20000}))
	began := time.Now()
	e := transporttest.RequireError(t, p.Send(t.Context(), record("k", "v")))
	if e.Outcome != transport.Retry || e.Reason != "connection" || time.Since(began) > 15*time.Second {
		t.Errorf("%v %s after %v: %v", e.Outcome, e.Reason, time.Since(began), e)
	}
	var port int
	if _, err := fmt.Sscanf(address, "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	cluster := kafkatest.New(t, kfake.Ports(port), kfake.SeedTopics(1, topic))
	send(t, p, record("k", "v"))
	if got := values(cluster); got != "v" {
		t.Error(got)
	}
}

// A broker takes the record and closes the connection without a word: the retry makes no copy.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	var cutter kafkatest.Cutter
	cluster := kafkatest.New(t, cutter.Listen(), kfake.SeedTopics(1, topic))
	p := start(t, config(t, cluster.Addr(), m{"message.timeout.ms": 30000}))
	send(t, p, record("k", "a"))
	cluster.ControlKey(produceKey, func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.DropControl()
		cutter.Cut(1) // the brokers go on and write the record
		return nil, nil, false
	})
	send(t, p, record("k", "b"))
	send(t, p, record("k", "c"))
	if got := values(cluster); got != "a b c" {
		t.Error(got)
	}
}

// The worst there is: the record is written, its acknowledgement is lost, and the caller gives up. What comes next must
// not be taken for a copy of it and be dropped.
func TestNothingIsDroppedAfterARecordWasGivenUp(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]*kerr.Error{
		"a leader that moves": kerr.NotLeaderForPartition, "replicas that lag": kerr.NotEnoughReplicasAfterAppend,
		"a broker that is slow": kerr.RequestTimedOut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cutter kafkatest.Cutter
			cluster := kafkatest.New(t, cutter.Listen(), kfake.SeedTopics(1, topic))
			p := start(t, config(t, cluster.Addr(), nil))
			send(t, p, record("k", "a"))
			var over func()
			cluster.ControlKey(produceKey, func(kmsg.Request) (kmsg.Response, error, bool) {
				cluster.DropControl()
				cutter.Cut(1)
				over = always(cluster, later)
				return nil, nil, false
			})
			e := transporttest.RequireError(t, p.Send(t.Context(), record("k", "b")))
			if e.Outcome != transport.Retry {
				t.Errorf("%v: %v", e.Outcome, e)
			}
			over()
			for _, value := range []string{"c", "b", "d"} {
				send(t, p, record("k", value))
			}
			if got := values(cluster); got != "a b c b d" {
				t.Error(got)
			}
		})
	}
}

// Whoever gives up does not wait, and what is given up is not tried any more.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.SeedTopics(1, topic), kfake.SleepOutOfOrder())
	p := start(t, config(t, cluster.Addr(), m{"message.timeout.ms": 0}))
	send(t, p, record("k", "a"))
	var asked sync.WaitGroup
	asked.Add(1)
	once := sync.OnceFunc(asked.Done)
	var cutting atomic.Bool
	cutting.Store(true)
	cluster.ControlKey(produceKey, func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		once()
		return nil, errors.New("cut"), cutting.Load()
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		asked.Wait()
		cancel()
	})
	e := transporttest.RequireError(t, p.Send(ctx, record("k", "b")))
	wg.Wait()
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled {
		t.Errorf("%v %s", e.Outcome, e.Reason)
	}
	cutting.Store(false)
	send(t, p, record("k", "c"))
	if got := values(cluster); got != "a c" {
		t.Error(got)
	}
}

// Brokers refuse a batch as a whole. Those that travelled in it with one that is too large are delivered all the same.
func TestOnlyTheLargeRecordIsRefused(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.SeedTopics(1, topic), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "3000"}))
	p := start(t, config(t, cluster.Addr(), m{"linger.ms": 100, "message.timeout.ms": 30000}))
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			err := p.Send(t.Context(), record("k", strings.Repeat("x", 500)+fmt.Sprint(i)))
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Go(func() {
		e := transporttest.RequireError(t, p.Send(t.Context(), record("k", strings.Repeat("y", 4000))))
		if e.Outcome != transport.Permanent || e.Reason != transport.ReasonTooLarge {
			t.Errorf("%v %s: %v", e.Outcome, e.Reason, e)
		}
	})
	wg.Wait()
	if got := len(cluster.Records(topic)); got != 10 {
		t.Errorf("%d records", got)
	}
}

func TestTooLargeForTheClient(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.SeedTopics(1, topic))
	p := start(t, config(t, cluster.Addr(), m{"message.max.bytes": 1000}))
	e := transporttest.RequireError(t, p.Send(t.Context(), record("k", strings.Repeat("x", 2000))))
	if e.Outcome != transport.Permanent || e.Reason != transport.ReasonTooLarge {
		t.Errorf("%v %s: %v", e.Outcome, e.Reason, e)
	}
}

func TestLogins(t *testing.T) {
	t.Parallel()
	const password = "s3cr3t-pass"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			cluster := kafkatest.New(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "me", password), kfake.SeedTopics(1, topic))
			login := m{"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.username": "me"}
			right, fromFile, wrong, other := maps.Clone(login), maps.Clone(login), maps.Clone(login), maps.Clone(login)
			right["sasl.password"], fromFile["sasl.passwordFile"], wrong["sasl.password"] = password, file, "wr0ng-pass"
			other["sasl.password"], other["sasl.mechanism"] = password, map[string]string{
				"PLAIN": "SCRAM-SHA-256", "SCRAM-SHA-256": "PLAIN", "SCRAM-SHA-512": "PLAIN",
			}[mechanism]
			send(t, start(t, config(t, cluster.Addr(), right)), record("k", "v"))
			send(t, start(t, config(t, cluster.Addr(), fromFile)), record("k", "v"))
			for name, bad := range map[string]m{"wrong": wrong, "other": other, "none": {}} {
				p := start(t, config(t, cluster.Addr(), bad))
				e := transporttest.RequireError(t, p.Send(t.Context(), record("k", "v")))
				if e.Outcome != transport.Hold || strings.Contains(e.Error(), "pass") {
					t.Errorf("%s: %v %s: %v", name, e.Outcome, e.Reason, e)
				}
				if _, err := p.Probe(t.Context(), topic); transport.ClassifyError(err).Outcome != transport.Hold {
					t.Errorf("%s: probing: %v", name, err)
				}
			}
		})
	}
}

func TestMissingPasswordFile(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.EnableSASL(), kfake.SeedTopics(1, topic))
	p := start(t, config(t, cluster.Addr(), m{
		"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.passwordFile": "/no/such/file",
	}))
	e := transporttest.RequireError(t, p.Send(t.Context(), record("k", "v")))
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth || !strings.Contains(e.Error(), "/no/such/file") {
		t.Errorf("%v %s: %v", e.Outcome, e.Reason, e)
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, topic),
		kfake.Superuser("PLAIN", "root", "rootroot"),
		kfake.User("PLAIN", "writer", "writerwriter", allow(kmsg.ACLOperationWrite), allow(kmsg.ACLOperationDescribe)),
		kfake.User("PLAIN", "reader", "readerreader", allow(kmsg.ACLOperationRead), allow(kmsg.ACLOperationDescribe)),
		kfake.User("PLAIN", "nobody", "nobodynobody"))
	for user, may := range map[string]bool{"root": true, "writer": true, "reader": false, "nobody": false} {
		p := start(t, config(t, cluster.Addr(), m{
			"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": user + user,
		}))
		_, err := p.Probe(t.Context(), topic)
		if got := err == nil; got != may {
			t.Errorf("probing as %s: %v", user, err)
		}
		err = p.Send(t.Context(), record("k", "v"))
		if got := err == nil; got != may {
			t.Errorf("sending as %s: %v", user, err)
		}
		if e := transport.ClassifyError(err); !may && (e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth) {
			t.Errorf("%s: %v %s", user, e.Outcome, e.Reason)
		}
	}
}

func allow(operation kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{
		Resource: kmsg.ACLResourceTypeTopic, Name: topic, Pattern: kmsg.ACLResourcePatternTypeLiteral,
		Operation: operation, Allow: true,
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.New(t, kfake.SeedTopics(3, topic), kfake.AllowAutoTopicCreation())
	p := start(t, config(t, cluster.Addr(), nil))
	says, err := p.Probe(t.Context(), topic)
	if want := "1 broker answered: topic lineage has 3 partitions, and events can be numbered"; says != want || err != nil {
		t.Errorf("%q %v", says, err)
	}
	if says, err = p.Probe(t.Context(), "later"); err != nil || !strings.Contains(says, "topic later is not there") {
		t.Errorf("%q %v", says, err)
	}
	p = start(t, config(t, cluster.Addr(), m{"allow.auto.create.topics": false}))
	if _, err := p.Probe(t.Context(), "later"); transport.ClassifyError(err).Outcome != transport.Hold {
		t.Error("probing made the topic, or its absence is no matter:", err)
	}
	if got := len(cluster.Records(topic)); got != 0 {
		t.Errorf("probing made %d records", got)
	}
	p = start(t, config(t, kafkatest.Unused(t), nil))
	if _, err := p.Probe(t.Context(), topic); transport.ClassifyError(err).Outcome != transport.Retry {
		t.Errorf("nobody is there: %v", err)
	}
}

// Ends that speak differently hold, as long as nothing ever worked.
func TestSpeakingDifferently(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer listener.Close()
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	})
	for name, more := range map[string]m{
		"closed at once": {}, "closed in the handshake": {"security.protocol": "ssl"},
	} {
		p := start(t, config(t, listener.Addr().String(), more))
		e := transporttest.RequireError(t, p.Send(t.Context(), record("k", "v")))
		t.Log(name, e.Outcome, e.Reason, e)
		if e.Outcome != transport.Hold || e.Reason != transport.ReasonTLS {
			t.Errorf("%s: %v %s: %v", name, e.Outcome, e.Reason, e)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server, ca := certificate(t, "127.0.0.1")
	cluster := kafkatest.New(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12}),
		kfake.SeedTopics(1, topic))
	other, otherCA := certificate(t, "example.com")
	named := kafkatest.New(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{other}, MinVersion: tls.VersionTLS12}),
		kfake.SeedTopics(1, topic))
	for _, test := range []struct {
		name    string
		cluster *kafkatest.Cluster
		values  m
		ok      bool
	}{
		{"the right authority", cluster, m{"ssl.ca.pem": ca}, true},
		{"another authority", cluster, m{"ssl.ca.pem": otherCA}, false},
		{"the system's", cluster, m{}, false},
		{"anybody", cluster, m{"enable.ssl.certificate.verification": false}, true},
		{"another name", named, m{"ssl.ca.pem": otherCA}, false},
		{"any name", named, m{"ssl.ca.pem": otherCA, "ssl.endpoint.identification.algorithm": "none"}, true},
		{"any name of another authority", named, m{"ssl.ca.pem": ca, "ssl.endpoint.identification.algorithm": "none"}, false},
		{"no such file", cluster, m{"ssl.ca.location": "/no/such/file"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.values["security.protocol"] = "ssl"
			p := start(t, config(t, test.cluster.Addr(), test.values))
			err := p.Send(t.Context(), record("k", "v"))
			if (err == nil) != test.ok {
				t.Fatal(err)
			}
			if e := transport.ClassifyError(err); !test.ok && e.Outcome != transport.Hold {
				t.Errorf("%v %s: %v", e.Outcome, e.Reason, e)
			}
		})
	}
}
