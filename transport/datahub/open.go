package datahub

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
)

// Parallel is how many events of different runs may be under way at once.
const Parallel = 8

// Options are what a transport gets besides its settings.
type Options struct {
	// UserAgent names the program to DataHub, as name/version.
	UserAgent string
	// Proxy chooses the way out. Nil: HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment, which never apply to
	// this machine itself.
	Proxy func(*http.Request) (*url.URL, error)
	// Now is the clock; nil: the system's.
	Now func() time.Time
}

// version returns the version in the program's name.
func (o Options) version() string {
	_, version, _ := strings.Cut(o.UserAgent, "/")
	version, _, _ = strings.Cut(version, " ")
	return version
}

// Open returns the transport of a configuration. It connects to nobody; its error is about a file or a value that only
// the emitter knows to be wrong.
func Open(c Config, o Options) (*Transport, error) {
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	sender, err := c.sender(o)
	if err != nil {
		return nil, err
	}
	return New(c.Mapping, sender, c.Resend, o.Now), nil
}

func (c Config) sender(o Options) (Sender, error) {
	if c.Kafka != nil {
		emitter, err := kafka.New(*c.Kafka, kafka.Options{UserAgent: o.UserAgent})
		if err != nil {
			return nil, fmt.Errorf("setting up the Kafka emitter: %w", err)
		}
		return kafkaSender{emitter: emitter, target: c.Target()}, nil
	}
	emitter, err := c.Server.emitter(o)
	if err != nil {
		return nil, err
	}
	return restSender{emitter}, nil
}
