package librdkafka_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// The client's values for the options that are named, with the properties set.
func options(t *testing.T, values m) *kgo.Client {
	t.Helper()
	c, _ := parse(t, with(values))
	opts, err := c.Options(librdkafka.Build{UserAgent: "listener/1.2"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatalf("%v: %v", values, err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestOptions(t *testing.T) {
	t.Parallel()
	plain := options(t, nil)
	set := options(t, m{
		"client.id": "me", "acks": 1, "linger.ms": 7, "message.max.bytes": 2000, "request.timeout.ms": 5000,
		"message.timeout.ms": 6000, "retries": 2, "queue.buffering.max.messages": 10, "queue.buffering.max.kbytes": 20,
		"allow.auto.create.topics": false, "connections.max.idle.ms": 8000, "metadata.max.age.ms": 9000, "max.in.flight": 3,
		"bootstrap.servers": "a,b:1",
	})
	for _, test := range []struct {
		name        string
		option      any
		unset, want any
	}{
		{"brokers", kgo.SeedBrokers, []string{"kafka:9092"}, []string{"a:9092", "b:1"}},
		{"idempotence", kgo.DisableIdempotentWrite, false, true},
		{"linger", kgo.ProducerLinger, 5 * time.Millisecond, 7 * time.Millisecond},
		{"request", kgo.ProduceRequestTimeout, 30 * time.Second, 5 * time.Second},
		{"record", kgo.RecordDeliveryTimeout, 5 * time.Minute, 6 * time.Second},
		{"records", kgo.MaxBufferedRecords, int64(100_000), int64(10)},
		{"bytes", kgo.MaxBufferedBytes, int64(1 << 30), int64(20 << 10)},
		{"topics", kgo.AllowAutoTopicCreation, true, false},
		{"idle", kgo.ConnIdleTimeout, 5 * time.Minute, 8 * time.Second},
		{"metadata", kgo.MetadataMaxAge, 5 * time.Minute, 9 * time.Second},
		{"in flight", kgo.MaxProduceRequestsInflightPerBroker, 1, 3},
	} {
		if diff := cmp.Diff([]any{test.unset, test.want}, []any{plain.OptValue(test.option), set.OptValue(test.option)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// The client takes what Parse lets through at the ends of the ranges.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, values := range []m{
		{"message.max.bytes": 1_000_000_000}, {"message.max.bytes": 1000}, {"message.timeout.ms": 1}, {"linger.ms": 900_000},
		{"request.timeout.ms": 1}, {"request.timeout.ms": 900_000}, {"socket.timeout.ms": 10}, {"socket.timeout.ms": 300_000},
		{"connections.max.idle.ms": 1}, {"connections.max.idle.ms": 2_147_483_647}, {"metadata.max.age.ms": 1},
		{"topic.metadata.refresh.interval.ms": 1}, {"retry.backoff.ms": 300_000}, {"queue.buffering.max.messages": 0},
		{"queue.buffering.max.kbytes": 2_147_483_647}, {"compression.type": "gzip", "compression.level": 9},
		{"compression.type": "lz4", "compression.level": 12}, {"compression.type": "zstd", "compression.level": 12},
		{"compression.type": "snappy", "compression.level": 12}, {"compression.type": "gzip", "compression.level": 12},
		{"client.id": "☃"}, {"acks": "all", "enable.idempotence": false, "max.in.flight": 1_000_000},
	} {
		options(t, values)
	}
}

func TestOptionsOfTokens(t *testing.T) {
	t.Parallel()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "s" || user != "id" || password != "secret" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"t0ken","expires_in":3600}`))
	}))
	defer endpoint.Close()
	c, _ := parse(t, with(m{
		"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc",
		"sasl.oauthbearer.client.id": "id", "sasl.oauthbearer.client.secret": "secret", "sasl.oauthbearer.scope": "s",
		"sasl.oauthbearer.token.endpoint.url": endpoint.URL, "sasl.oauthbearer.extensions": "a=b",
	}))
	seen := ""
	opts, err := c.Options(librdkafka.Build{Seen: func(secret string) { seen = secret }})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got := first(t, client); got != "n,,\x01auth=Bearer t0ken\x01a=b\x01\x01" || seen != "t0ken" {
		t.Errorf("%q, %q was seen", got, seen)
	}
}

// Tokens without a signature, those of the caller's own, and passwords.
func TestFirstWords(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }
	unsecured, _ := parse(t, with(m{
		"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt": true,
		"sasl.oauthbearer.config": "principal=me scope=a lifeSeconds=60",
	}))
	own := librdkafka.ParseForTokens(settings.New("config", with(nil)))
	plain, _ := parse(t, with(m{
		"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "pw",
	}))
	tokens := func(context.Context) (oauth.Auth, error) { return oauth.Auth{Token: "own"}, nil }
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1796032860,"iat":1796032800,"scope":["a"],"sub":"me"}`))
	for _, test := range []struct {
		config librdkafka.Config
		want   string
	}{
		{unsecured, "n,,\x01auth=Bearer eyJhbGciOiJub25lIn0." + claims + ".\x01\x01"},
		{own, "n,,\x01auth=Bearer own\x01\x01"},
		{plain, "\x00me\x00pw"},
	} {
		opts, err := test.config.Options(librdkafka.Build{Now: now, Tokens: tokens})
		if err != nil {
			t.Fatal(err)
		}
		client, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		if got := first(t, client); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
		client.Close()
	}
	if _, err := own.Options(librdkafka.Build{}); err == nil {
		t.Error("nobody brings tokens, and that is no error")
	}
}

// first is what a client says first when it logs in.
func first(t *testing.T, client *kgo.Client) string {
	t.Helper()
	mechanism := client.OptValue(kgo.SASL).([]sasl.Mechanism)[0]
	_, words, err := mechanism.Authenticate(t.Context(), "kafka:9092")
	if err != nil {
		t.Fatal(err)
	}
	return string(words)
}
