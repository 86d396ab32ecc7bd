package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
)

// DefaultUserAgent names the emitter to brokers and the registry.
const DefaultUserAgent = "datahub-go-emitter/1"

// Delivery is where a proposal was written.
type Delivery struct {
	Topic     string
	Partition int32
	Offset    int64
}

// Callback hears what became of a proposal: the broker has it when err is nil. It must not wait for the emitter, so it
// must call neither Flush nor Close; it may call Emit. Callbacks run one after another and hold up those behind them.
type Callback func(d Delivery, err error)

// Options are what an emitter needs beside its configuration. The zero value will do.
type Options struct {
	// Logger is told of proposals that were not delivered and have no callback; nil: nobody is.
	Logger *zap.Logger
	// UserAgent is the program, as name/version; empty: DefaultUserAgent.
	UserAgent string
	// Kafka are further options of the client. They go before those that the configuration makes.
	Kafka []kgo.Opt
}

// Emitter sends proposals. It is safe for concurrent use. The proposals of one goroutine for one entity arrive in order.
type Emitter struct {
	config   Config
	logger   *zap.Logger
	client   *kgo.Client
	sender   *sender
	registry *registry

	room    *room
	waiting *waiting
	settler *settler

	stop      context.CancelCauseFunc
	resolving sync.WaitGroup

	mu     sync.RWMutex // held for reading while a record is queued, so that none slips in behind Close
	closed bool
	once   sync.Once
	err    error // of the one Close
}

// New makes an emitter. It connects to nobody: a broker or a registry that is away is looked for until it is there. Its
// errors are of the configuration and of files that it names.
func New(config Config, o Options) (*Emitter, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.UserAgent == "" {
		o.UserAgent = DefaultUserAgent
	}
	if len(config.Registry.URLs) == 0 && config.Registry.SchemaID == nil {
		return nil, errors.New("the configuration names no schema registry (NewConfig fills in the defaults)")
	}
	registry, err := newRegistry(config.Registry, config.Topic, o.UserAgent)
	if err != nil {
		return nil, err
	}
	client, err := newClient(config, o)
	if err != nil {
		return nil, err
	}
	e := &Emitter{
		config: config, logger: o.Logger, client: client, registry: registry, waiting: newWaiting(), settler: newSettler(),
		room: newRoom(config.Producer.MaxBufferedRecords, config.Producer.MaxBufferedBytes),
	}
	e.sender = newSender(client, config, e.sent)
	if id := config.Registry.SchemaID; id != nil {
		e.waiting.release(*id, e.send)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	e.stop = stop
	e.resolving.Go(func() { e.resolve(ctx) })
	return e, nil
}

func newClient(config Config, o Options) (*kgo.Client, error) {
	options, err := config.Producer.Options(librdkafka.Build{UserAgent: o.UserAgent})
	if err != nil {
		return nil, fmt.Errorf("reading the producer's settings: %w", err)
	}
	options = append(options,
		// The emitter has the limits: its buffer holds also what waits for the registry and what callbacks are run for.
		kgo.MaxBufferedRecords(math.MaxInt32), kgo.MaxBufferedBytes(math.MaxInt),
		// What closes connections at once may be a load balancer before a broker that is away. Without this the client
		// takes it for a wrong setting and fails all that it holds.
		kgo.AlwaysRetryEOF(),
	)
	if config.Producer.Idempotent {
		// Without it a record that was sent once is kept until the broker is back, however long that takes, and its
		// callback with it. What may then be written twice is a proposal that somebody emits again.
		options = append(options, kgo.AllowIdempotentProduceCancellation())
	}
	client, err := kgo.NewClient(append(options, o.Kafka...)...)
	if err != nil {
		return nil, fmt.Errorf("making the Kafka client: %w", err)
	}
	return client, nil
}

// Emit queues a proposal and returns. The callback runs exactly once: within Emit for a proposal that is refused at
// once (it is not valid or too large, the buffer is full, the emitter is closed), on the emitter's own goroutine for any
// other. A nil callback leaves it to the logger. The context counts only for the wait for room, where
// max_queue_full_block_seconds allows one: a proposal that is queued stays queued.
func (e *Emitter) Emit(ctx context.Context, p mcp.Proposal, callback Callback) {
	if callback == nil {
		callback = e.logged(p.EntityURN, p.AspectName)
	}
	if err := e.queue(ctx, p, e.config.MaxQueueFullBlock, callback); err != nil {
		callback(Delivery{}, err)
	}
}

// queue takes a proposal in, waiting at most so long for room. An error means that it did not.
func (e *Emitter) queue(ctx context.Context, p mcp.Proposal, wait time.Duration, callback Callback) error {
	if err := p.Validate(); err != nil {
		return err
	}
	value, err := encode(p)
	if err != nil {
		return err
	}
	r := &record{key: []byte(p.EntityURN), value: value, at: time.Now(), callback: callback}
	if limit := e.config.Producer.MaxMessageBytes; r.size() > limit {
		return &TooLargeError{Bytes: r.size(), Limit: limit}
	}
	if r.epoch, err = e.room.take(ctx, r.size(), wait); err != nil {
		return err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		e.room.give(r.epoch, r.size())
		return ErrClosed
	}
	if e.waiting.known.Load() || !e.waiting.add(r) {
		e.send(r)
	}
	return nil
}

// send hands a record on, once the schema's id is known.
func (e *Emitter) send(r *record) {
	setID(r.value, e.waiting.id)
	e.sender.send(r)
}

// sent settles a record that the client is done with.
func (e *Emitter) sent(r *record, d Delivery, err error) {
	if err != nil {
		err = e.explain(r, err)
	}
	e.settle(r, d, err)
}

// settle has the callback run and gives the room back behind it, so that a Flush that returns has seen all callbacks.
func (e *Emitter) settle(r *record, d Delivery, err error) {
	e.settler.add(func() {
		r.callback(d, err)
		e.room.give(r.epoch, r.size())
	})
}

// overhead is more than what a batch of one record has beside key and value, in bytes.
const overhead = 128

// explain makes an error of this package of one of the client's.
func (e *Emitter) explain(r *record, err error) error {
	limit := e.config.Producer.MaxMessageBytes
	switch {
	case errors.Is(err, kgo.ErrRecordTimeout), gaveUp(err) && r.isOver(e.config.Producer.MessageTimeout):
		return &TimeoutError{After: e.config.Producer.MessageTimeout, Err: fmt.Errorf("the broker did not acknowledge it: %w", err)}
	case errors.Is(err, kgo.ErrClientClosed):
		return ErrClosed
	case errors.Is(err, kerr.MessageTooLarge) && r.size()+overhead > limit:
		return &TooLargeError{Bytes: r.size(), Limit: limit}
	case errors.Is(err, kerr.MessageTooLarge):
		return &TooLargeError{Bytes: r.size(), Limit: limit, Err: err}
	default:
		return fmt.Errorf("delivering to the topic %s: %w", e.config.Topic, err)
	}
}

func (e *Emitter) logged(urn, aspect string) Callback {
	return func(_ Delivery, err error) {
		if err != nil {
			e.logger.Warn("a proposal was not delivered", zap.String("urn", urn), zap.String("aspect", aspect), zap.Error(err))
		}
	}
}
