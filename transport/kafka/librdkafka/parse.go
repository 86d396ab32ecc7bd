package librdkafka

import (
	"math"
	"net"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// Defaults of librdkafka, but for the idle time: it never closes an idle connection, brokers close one after ten
// minutes, and whoever does it first avoids the race.
const (
	DefaultPort            = "9092"
	DefaultMaxMessageBytes = 1_000_000
	DefaultLinger          = 5 * time.Millisecond
	DefaultMessageTimeout  = 5 * time.Minute
	defaultIdle            = 5 * time.Minute
	maxIdle                = 15 * time.Minute
)

// Parse reads a producer's properties. Problems are left with the section, as is one warning that names all properties
// without effect; the result counts only when the section has no problem.
func Parse(s *settings.Section) Config { return parse(newReader(s)) }

// ParseForTokens is Parse for a caller that brings tokens of its own: connections use TLS and log in with OAUTHBEARER,
// whatever the properties say of that.
func ParseForTokens(s *settings.Section) Config {
	r := newReader(s)
	r.tokens = true
	return parse(r)
}

func parse(r *reader) Config {
	c := Config{
		Brokers:      r.brokers(),
		ClientID:     r.text("client.id"),
		Compression:  r.compression(),
		Partitioner:  r.partitioner(),
		KeepAlive:    r.flag(true, "socket.keepalive.enable"),
		CreateTopics: r.flag(true, "allow.auto.create.topics"),
		Network: map[string]string{"any": "tcp", "v4": "tcp4", "v6": "tcp6"}[r.choice(
			[]string{"any", "v4", "v6"}, "broker.address.family")],
	}
	r.acks(&c)
	r.sizes(&c)
	r.times(&c)
	c.TLS, c.SASL = r.security()
	r.refused("asks for transactions, and an event is one of its own", "leave it out", "transactional.id")
	r.refused("loads code, which can't be done here", "leave it out",
		"plugin.library.paths", "ssl.engine.location", "ssl.engine.id", "partitioner.cb", "ssl.certificate.verify.cb",
		"oauth.cb", "oauthbearer.token.refresh.cb")
	c.Unknown, c.Ignored = r.rest()
	return c
}

// brokers reads the addresses. A protocol before one has to be the one that is set, so it says nothing new.
func (r *reader) brokers() []string {
	const name = "bootstrap.servers"
	text := r.text("metadata.broker.list", name)
	var brokers []string
	for address := range strings.SplitSeq(text, ",") {
		address = strings.TrimSpace(address)
		if address == "" {
			continue
		}
		if _, rest, ok := strings.Cut(address, "://"); ok {
			address = rest
		}
		host, number, err := net.SplitHostPort(address)
		if err != nil {
			host, number = strings.Trim(address, "[]"), DefaultPort
			if strings.Contains(host, ":") && !strings.HasPrefix(address, "[") && net.ParseIP(host) == nil {
				host = ""
			}
		}
		if host == "" || !port(number) || strings.ContainsAny(host, "/@ ") {
			r.refuse(name, "holds an address that is none", "such as kafka-1:9092,kafka-2:9092")
			return nil
		}
		brokers = append(brokers, net.JoinHostPort(host, number))
	}
	if len(brokers) == 0 {
		r.refuse(name, "is missing", "set it to the brokers' addresses, such as kafka-1:9092,kafka-2:9092")
	}
	return brokers
}

// acks reads who has to have a record before it counts as delivered, and what follows from it.
func (r *reader) acks(c *Config) {
	name := r.find("request.required.acks", "acks")
	c.Acks = -1
	if name != "" {
		switch strings.ToLower(r.s.String(name)) {
		case "all", "-1":
		case "1":
			c.Acks = 1
		case "0":
			r.warn(name, "0 means that nobody says whether an event arrived: 1 is used instead")
			c.Acks = 1
		default:
			r.refuse(name, "is not known", "it takes all (or -1), 1 and 0")
		}
	}
	c.Idempotent = r.flag(c.Acks == -1, "enable.idempotence")
	if c.Idempotent && c.Acks != -1 {
		r.refuse("enable.idempotence", "needs acks: all", "set that, or leave enable.idempotence out")
	}
	// Beyond 5 nothing is gained, and one at a time is what an idempotent producer falls back to by itself.
	c.MaxInFlight = min(5, r.whole(5, 1, 1_000_000, "max.in.flight.requests.per.connection", "max.in.flight"))
	c.Retries = r.whole(math.MaxInt32, 0, math.MaxInt32, "message.send.max.retries", "retries")
}

// minBatch is the smallest batch that the client can be limited to.
const minBatch = 1000

func (r *reader) sizes(c *Config) {
	c.MaxMessageBytes = r.whole(DefaultMaxMessageBytes, minBatch, 1_000_000_000, "message.max.bytes")
	c.MaxBufferedRecords = r.whole(100_000, 0, math.MaxInt32, "queue.buffering.max.messages")
	if c.MaxBufferedRecords == 0 {
		c.MaxBufferedRecords = math.MaxInt32 // librdkafka's word for no limit
	}
	c.MaxBufferedBytes = 1024 * r.whole(1_048_576, 1, math.MaxInt32, "queue.buffering.max.kbytes")
}

func (r *reader) times(c *Config) {
	c.LingerSet = r.find("queue.buffering.max.ms", "linger.ms") != ""
	// The client lingers for a minute at most.
	c.Linger = min(time.Minute, r.millis(DefaultLinger, 0, 900_000, "queue.buffering.max.ms", "linger.ms"))
	c.MessageTimeout = r.millis(DefaultMessageTimeout, 0, math.MaxInt32, "message.timeout.ms", "delivery.timeout.ms")
	c.RequestTimeout = max(100*time.Millisecond, r.millis(30*time.Second, 1, 900_000, "request.timeout.ms"))
	c.SocketTimeout = max(100*time.Millisecond, r.millis(time.Minute, 10, 300_000, "socket.timeout.ms"))
	c.ConnectTimeout = r.millis(30*time.Second, 1000, math.MaxInt32, "socket.connection.setup.timeout.ms")
	c.IdleTimeout = defaultIdle
	if idle := r.millis(0, 0, math.MaxInt32, "connections.max.idle.ms"); idle > 0 {
		c.IdleTimeout = min(max(idle, 100*time.Millisecond), maxIdle)
	}
	c.RetryBackoff = r.millis(100*time.Millisecond, 1, 300_000, "retry.backoff.ms")
	c.RetryMaxDelay = max(c.RetryBackoff, r.millis(time.Second, 1, 300_000, "retry.backoff.max.ms"))
	c.MetadataMaxAge = min(time.Hour, r.millis(15*time.Minute, 1, 86_400_000, "metadata.max.age.ms"))
	if every := r.millis(5*time.Minute, -1, 3_600_000, "topic.metadata.refresh.interval.ms"); every > 0 {
		c.MetadataMaxAge = min(c.MetadataMaxAge, every)
	}
	c.MetadataMaxAge = max(c.MetadataMaxAge, metadataMinAge)
}

func (r *reader) compression() Compression {
	codec := r.choice([]string{"none", "gzip", "snappy", "lz4", "zstd", "inherit"}, "compression.codec", "compression.type")
	if codec == "inherit" {
		codec = "none"
	}
	return Compression{Codec: codec, Level: r.whole(DefaultLevel, DefaultLevel, 12, "compression.level")}
}

func (r *reader) partitioner() Partitioner {
	words := make([]string, len(partitioners))
	for i, p := range partitioners {
		words[i] = string(p)
	}
	return Partitioner(r.choice(words, "partitioner"))
}
