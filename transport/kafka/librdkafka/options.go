package librdkafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

const (
	// metadataMinAge is how soon after an answer that was wrong the cluster is asked again: a leader that moved is found
	// within a second, as librdkafka finds it.
	metadataMinAge = 250 * time.Millisecond
	// unknownTries is how often a topic may be missing in an answer before it counts as missing. Brokers that make a
	// topic on demand need some answers until all know of it.
	unknownTries = 8
	// requestTries and requestPatience bound what is asked beside sending records.
	requestTries    = 3
	requestPatience = 15 * time.Second
	maxWriteBytes   = 100 << 20 // a broker's own limit, socket.request.max.bytes
	maxRequestTime  = 15 * time.Minute
)

// Build is what a client needs besides its properties.
type Build struct {
	// UserAgent names the program to brokers and token endpoints, as name/version. It is the client id where none is set.
	UserAgent string
	// Tokens logs in where the settings leave it to the caller; nil: they do not.
	Tokens func(context.Context) (oauth.Auth, error)
	// Seen is told of each secret that was read from a file or an endpoint, so that it can be masked. Nil: nobody is.
	Seen func(secret string)
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// Dial connects to brokers that are not reached over the system's network; TLS goes through what it returns. Nil: the
	// system's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Options reads the files that the settings name and returns the options of a client. The same settings may be made
// into several clients. Options that are given behind these replace them.
func (c Config) Options(b Build) ([]kgo.Opt, error) {
	if b.Now == nil {
		b.Now = time.Now
	}
	if b.Seen == nil {
		b.Seen = func(string) {}
	}
	var secure *tls.Config
	if c.TLS != nil {
		var err error
		if secure, err = c.TLS.Load(); err != nil {
			return nil, err
		}
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.Dialer(c.dialer(b.Dial, secure)), kgo.ConnIdleTimeout(c.IdleTimeout),
		kgo.RequestTimeoutOverhead(min(c.SocketTimeout, maxRequestTime)), kgo.RequestRetries(requestTries),
		kgo.RetryTimeout(requestPatience), kgo.RetryBackoffFn(c.backoff),
		kgo.MetadataMinAge(min(metadataMinAge, c.MetadataMaxAge)), kgo.MetadataMaxAge(c.MetadataMaxAge),
		kgo.DisableClientMetrics(),
	}
	if c.SASL != nil {
		mechanism, err := c.SASL.mechanism(b)
		if err != nil {
			return nil, fmt.Errorf("logging in: %w", err)
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	opts = append(opts, c.names(b.UserAgent)...)
	return append(opts, c.producing()...), nil
}

// producing are the options about sending records.
func (c Config) producing() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ProducerBatchCompression(c.Compression.codec(), kgo.NoCompression()), kgo.RecordPartitioner(c.Partitioner),
		kgo.ProducerLinger(c.Linger), kgo.ProducerBatchMaxBytes(int32(c.MaxMessageBytes)),
		kgo.BrokerMaxWriteBytes(int32(max(maxWriteBytes, c.MaxMessageBytes+64<<10))),
		kgo.MaxBufferedRecords(c.MaxBufferedRecords), kgo.MaxBufferedBytes(c.MaxBufferedBytes),
		kgo.ProduceRequestTimeout(c.RequestTimeout), kgo.RecordRetries(c.Retries), kgo.UnknownTopicRetries(unknownTries),
	}
	if c.MessageTimeout > 0 {
		opts = append(opts, kgo.RecordDeliveryTimeout(max(c.MessageTimeout, time.Second)))
	}
	if c.CreateTopics {
		opts = append(opts, kgo.AllowAutoTopicCreation())
	}
	if c.Acks == 1 {
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	}
	if !c.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(c.MaxInFlight))
	}
	return opts
}

// dialer connects, and shakes hands where TLS is spoken; both within the time for connecting.
func (c Config) dialer(dial dial, secure *tls.Config) dial {
	if dial == nil {
		plain := &net.Dialer{Timeout: c.ConnectTimeout}
		if !c.KeepAlive {
			plain.KeepAlive = -1
		}
		dial = plain.DialContext
	}
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
		defer cancel()
		conn, err := dial(ctx, c.Network, address)
		if err != nil || secure == nil {
			return conn, err
		}
		return shake(ctx, conn, address, secure)
	}
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// shake speaks TLS over a connection, which is closed where that fails. The certificate has to be for the address's host.
func shake(ctx context.Context, conn net.Conn, address string, secure *tls.Config) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err == nil && secure.ServerName == "" {
		secure = secure.Clone()
		secure.ServerName = host
	}
	over := tls.Client(conn, secure)
	if err := over.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return over, nil
}

// backoff is the wait before a try, of which the first is number 1: twice as long each time, a fifth of it at random.
func (c Config) backoff(try int) time.Duration {
	wait := c.RetryBackoff << min(max(try-1, 0), 20)
	if wait > c.RetryMaxDelay || wait <= 0 {
		wait = c.RetryMaxDelay
	}
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // a wait is no secret
}

func (c Compression) codec() kgo.CompressionCodec {
	var codec kgo.CompressionCodec
	switch c.Codec {
	case "gzip":
		codec = kgo.GzipCompression()
	case "snappy":
		codec = kgo.SnappyCompression()
	case "lz4":
		codec = kgo.Lz4Compression()
	case "zstd":
		codec = kgo.ZstdCompression()
	default:
		return kgo.NoCompression()
	}
	if c.Level != DefaultLevel {
		codec = codec.WithLevel(c.Level)
	}
	return codec
}

// softwareName is what brokers take for a name or a version.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$`)

// names say to brokers who asks.
func (c Config) names(userAgent string) []kgo.Opt {
	name, version, _ := strings.Cut(userAgent, "/")
	var opts []kgo.Opt
	if softwareName.MatchString(name) && softwareName.MatchString(version) && len(userAgent) < 256 {
		opts = append(opts, kgo.SoftwareNameAndVersion(name, version))
	}
	id := c.ClientID
	if id == "" {
		id = name
	}
	if id != "" {
		opts = append(opts, kgo.ClientID(id))
	}
	return opts
}
