package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/kafka/producer"
)

// Parallel is how many events of different runs may be under way at once: what a batch is made of.
const Parallel = 64

// KeyHeader is the header that carries an event's key, the same for each copy of it.
const KeyHeader = "Idempotency-Key"

// framing is the room in a batch that is no event: the batch's own head, the record's, the header, and a key of usual
// length. An event that does not fit for a longer key is refused by the client, and made smaller then.
const framing = 512

// Transport sends events to one topic. It is safe for concurrent use.
type Transport struct {
	config   Config
	producer *producer.Producer
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Prober    = (*Transport)(nil)
)

// New returns a transport. It opens no connection and reads no file.
func New(c Config, b librdkafka.Build) *Transport {
	return &Transport{config: c, producer: producer.New(c.Producer, b, Parallel)}
}

// Emit sends one event. It takes as long as the brokers may take over a record (request.timeout.ms) and 15 s for the
// way, 45 s with the defaults.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	key := t.config.MessageKey
	if key == "" {
		key = messageKey(event)
	}
	return t.producer.Send(ctx, &kgo.Record{
		Topic: t.config.Topic, Key: []byte(key), Value: event.Body,
		Headers: []kgo.RecordHeader{{Key: KeyHeader, Value: []byte(event.Key)}},
	})
}

// Probe asks the brokers about the topic and for the right to write to it.
func (t *Transport) Probe(ctx context.Context) (string, error) {
	return t.producer.Probe(ctx, t.config.Topic)
}

// Close ends all connections. It may be called again.
func (t *Transport) Close(ctx context.Context) error { return t.producer.Close(ctx) }
