package kafka

import (
	"maps"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// Defaults of the settings, those of DataHub's Python emitter.
const (
	DefaultBootstrap     = "localhost:9092"
	DefaultClientTimeout = time.Minute
)

// Config is a parsed configuration. NewConfig and ParseConfig make one that is checked and whole.
type Config struct {
	// Producer is how brokers are reached and records sent. Its MessageTimeout bounds the way of a proposal from Emit to
	// the broker's acknowledgement, its MaxBufferedRecords and MaxBufferedBytes what the emitter holds.
	Producer librdkafka.Config
	Registry RegistryConfig
	// Topic is where proposals go.
	Topic string
	// MaxQueueFullBlock is how long Emit waits for room in a full buffer; 0: not at all.
	MaxQueueFullBlock time.Duration
	// ClientTimeout bounds TestConnection.
	ClientTimeout time.Duration
}

// NewConfig reads settings that are shaped as those of DataHub's Python emitter, such as
//
//	{"connection": {"bootstrap": "broker:9092", "schema_registry_url": "http://registry:8081",
//	                "producer_config": {"compression.type": "zstd"}}}
//
// and returns all that is wrong with them, joined. Keys without effect are in warnings.
func NewConfig(values map[string]any) (config Config, warnings []string, err error) {
	s := settings.New("datahub kafka", values)
	config = ParseConfig(s, nil)
	return config, s.Warnings(), s.Err()
}

// ParseConfig reads the settings of a section. Problems and warnings are left with the section; the result counts only
// when there is no problem. Getenv looks up KAFKA_SCHEMAREGISTRY_URL and DATAHUB_GMS_BASE_PATH, from which the default
// of the registry's address is; nil: they are not set.
func ParseConfig(s *settings.Section, getenv func(string) string) Config {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	c := Config{Topic: DefaultTopic}
	connection := s.Map("connection")
	c.Producer = parseProducer(connection)
	c.Registry = parseRegistry(connection, getenv)
	c.ClientTimeout = connection.Seconds(DefaultClientTimeout, "client_timeout_seconds")
	connection.Finish()
	c.Topic = parseTopic(s)
	c.MaxQueueFullBlock = parseBlock(s)
	s.Finish()
	return c
}

// parseProducer reads bootstrap and producer_config, which overrides it. A property that librdkafka does not have is
// refused, as DataHub's Python emitter does.
func parseProducer(connection *settings.Section) librdkafka.Config {
	const key = "producer_config"
	given := connection.Map(key)
	values := map[string]any{}
	for _, name := range given.Keys() {
		values[name] = given.Raw(name)
	}
	bootstrap := connection.String("bootstrap")
	if bootstrap == "" {
		bootstrap = DefaultBootstrap
	}
	defaults := map[string]any{
		// The order of an entity's proposals holds within a partition. This is how DataHub's server, which writes to the
		// same topic, picks one.
		"partitioner": "murmur2_random",
	}
	if !written(values, "bootstrap.servers") && !written(values, "metadata.broker.list") {
		defaults["bootstrap.servers"] = bootstrap
	}
	for name, value := range defaults {
		if !written(values, name) {
			values[name] = value
		}
	}
	c := librdkafka.Parse(given.At(given.Path(), values))
	for _, name := range c.Unknown {
		given.Refuse(name, "is no property of librdkafka", "")
	}
	return c
}

// written says whether a property is set in one of the spellings that are taken.
func written(values map[string]any, name string) bool {
	for key := range maps.Keys(values) {
		if strings.ReplaceAll(strings.ToLower(key), "_", ".") == name && values[key] != nil {
			return true
		}
	}
	return false
}

// parseTopic reads topic_routes, and topic, which older versions of the Python emitter have for the topic of metadata
// change events: this emitter sends none.
func parseTopic(s *settings.Section) string {
	routes := s.Map("topic_routes")
	topic := routes.String("MetadataChangeProposal")
	if topic == "" {
		if !routes.Empty() {
			routes.Refuse("MetadataChangeProposal", "is missing", "it names the topic of proposals, such as "+DefaultTopic)
		}
		topic = DefaultTopic
	}
	if !validTopic(topic) {
		routes.Refuse("MetadataChangeProposal", "is no name of a topic", "letters, digits, dots, dashes and underscores, at most 249")
	}
	if routes.Has("MetadataChangeEvent") {
		routes.Warn("MetadataChangeEvent", "has no effect: metadata change events are not sent any more, only proposals")
	}
	routes.Finish()
	if s.Has("topic") {
		s.Warn("topic", "has no effect: it is the topic of metadata change events; topic_routes names that of proposals")
	}
	return topic
}

// validTopic is Kafka's own rule.
func validTopic(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 249 && name != "." && name != ".."
}

// parseBlock reads how long a full buffer may block, in seconds. The Python emitter waits for five minutes by default;
// here nothing waits unless it is asked for.
func parseBlock(s *settings.Section) time.Duration {
	const key = "max_queue_full_block_seconds"
	if n, ok := settings.AsNumber(s.Value(key)); ok && n == 0 {
		return 0
	}
	return s.Seconds(0, key)
}
