package kafka

import (
	"strings"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// Config is a parsed configuration.
type Config struct {
	Topic string
	// MessageKey is the key of every record; empty: each event's own.
	MessageKey string
	// Flush sends each record at once instead of lingering for others.
	Flush    bool
	Producer librdkafka.Config
	// AWS is how msk-iam logs in; nil for kafka.
	AWS *AWS
}

// AWS is an identity that the brokers of Amazon MSK know.
type AWS struct {
	Region string
	// Profile is one of the shared configuration's; Role is the ARN of a role to take on. Both empty: the default chain.
	Profile, Role string
}

// Parse reads the settings of type kafka. Problems and warnings are left with the section, which also warns of unknown
// keys; the result counts only when the section has no problem.
func Parse(s *settings.Section) Config {
	c := parse(s, librdkafka.Parse)
	s.Finish()
	return c
}

// ParseMSK reads those of type msk-iam. Region is that of the environment; empty: there is none.
func ParseMSK(s *settings.Section, region string) Config {
	c := parse(s, librdkafka.ParseForTokens)
	c.AWS = &AWS{Region: s.String("region"), Profile: s.String("aws_profile"), Role: s.String("role_arn")}
	if c.AWS.Region == "" {
		c.AWS.Region = region
	}
	for _, broker := range c.Producer.Brokers {
		if c.AWS.Region == "" {
			c.AWS.Region = regionOf(broker)
		}
	}
	if c.AWS.Profile != "" && c.AWS.Role != "" {
		s.Warn("role_arn", "has no effect beside aws_profile; a profile can name a role itself")
		c.AWS.Role = ""
	}
	if s.Bool(false, "aws_debug_creds") {
		s.Warn("aws_debug_creds", "has no effect: nothing says here whom AWS takes the listener for")
	}
	s.Finish()
	return c
}

// regionOf reads the region out of the name of an MSK broker: b-1.name.abc123.c2.kafka.eu-west-1.amazonaws.com.
func regionOf(broker string) string {
	host, _, _ := strings.Cut(broker, ":")
	parts := strings.Split(host, ".")
	for i, part := range parts {
		if (part == "kafka" || part == "kafka-serverless") && i+2 < len(parts) && strings.HasPrefix(parts[i+2], "amazonaws") {
			return parts[i+1]
		}
	}
	return ""
}

func parse(s *settings.Section, properties func(*settings.Section) librdkafka.Config) Config {
	c := Config{Topic: s.String("topic"), MessageKey: s.String("messageKey"), Flush: s.Bool(true, "flush")}
	if c.Topic == "" {
		s.Refuse("topic", "is missing", "set it to the topic that the events go to")
	} else if !validTopic(c.Topic) {
		s.Refuse("topic", "is no name of a topic", "at most 249 letters, digits, dots, dashes and underscores")
	}
	inner := s.Map("config")
	_, isMap := s.Value("config").(map[string]any)
	switch {
	case s.Has("config") && !isMap: // which the section has refused
	case inner.Empty():
		s.Refuse("config", "is missing", "a map with at least bootstrap.servers, such as kafka-1:9092")
	default:
		c.Producer = properties(inner)
	}
	if c.Flush {
		c.Producer.Linger = 0
	}
	return c
}

// validTopic says whether brokers take a name.
func validTopic(name string) bool {
	for _, sign := range []byte(name) {
		switch {
		case sign >= 'a' && sign <= 'z', sign >= 'A' && sign <= 'Z', sign >= '0' && sign <= '9':
		case sign == '.', sign == '-', sign == '_':
		default:
			return false
		}
	}
	return len(name) <= 249 && name != "." && name != ".."
}
