package datahub

import (
	"fmt"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// Config is a parsed configuration. One of Server and Kafka is set.
type Config struct {
	Server  *ServerConfig
	Kafka   *kafka.Config
	Mapping mapping.Settings
	// Resend is after how long what describes flows, tasks and datasets is sent again though it is the same.
	Resend time.Duration
	// properties are those of the Kafka producer that are written.
	properties map[string]any
}

// Parse reads the settings of type datahub. Getenv looks up the variables that DataHub's own clients read, where the
// settings say nothing. Problems and warnings are left with the section; the result counts only when the section has no
// problem.
func Parse(s *settings.Section, getenv func(string) string) Config {
	c := Config{Mapping: parseMapping(s), Resend: s.Seconds(DefaultResend, "resend_after")}
	server := serverSection(s)
	kafkaSection := s.Map("kafka")
	switch {
	case !server.Empty() && !kafkaSection.Empty():
		s.Refuse("kafka", "stands beside server", "keep the one over which DataHub is to be reached")
	case !kafkaSection.Empty():
		parsed := kafka.ParseConfig(kafkaSection, getenv)
		c.Kafka = &parsed
		if c.properties = producerProperties(s); !limitsTime(c.properties) {
			parsed.Producer.MessageTimeout = DefaultKafkaTimeout
		}
	default:
		parsed := parseServer(server, getenv)
		c.Server = &parsed
	}
	s.Finish()
	return c
}

// DefaultKafkaTimeout is for how long a proposal is tried in one go. librdkafka's own default is five minutes, which an
// event would be under way; the outbox tries it again without an end.
const DefaultKafkaTimeout = 30 * time.Second

// producerProperties returns the properties of the producer as they are written.
func producerProperties(s *settings.Section) map[string]any {
	written, _ := s.Value("kafka").(map[string]any)
	connection, _ := written["connection"].(map[string]any)
	properties, _ := connection["producer_config"].(map[string]any)
	return properties
}

// limitsTime reports whether the properties say for how long a proposal is tried.
func limitsTime(properties map[string]any) bool {
	for name := range properties {
		if name == "message.timeout.ms" || name == "delivery.timeout.ms" {
			return true
		}
	}
	return false
}

// serverSection returns the section server; an address in its place is its url, as DataHub's own recipes have it.
func serverSection(s *settings.Section) *settings.Section {
	if text, ok := s.Value("server").(string); ok {
		return s.At(s.Path("server"), map[string]any{"url": text})
	}
	return s.Map("server")
}

func parseMapping(s *settings.Section) mapping.Settings {
	m := mapping.Settings{
		URNs:             mapping.OpenLineage,
		Orchestrator:     strings.ToLower(s.String("orchestrator")),
		Env:              parseEnv(s, "PROD"),
		PlatformInstance: s.String("platform_instance"),
		CancelledAs:      aspect.Skipped,
		Datasets:         parseRules(s),
		Materialize:      s.Bool(true, "materialize_datasets"),
		Schema:           s.Bool(true, "include_schema"),
		Columns:          s.Bool(true, "column_lineage"),
		PlainPatches:     s.Bool(false, "plain_patches"),
		DatasetLineage:   s.Bool(false, "dataset_lineage"),
	}
	switch urns := s.String("urns"); mapping.Scheme(urns) {
	case "", mapping.OpenLineage:
	case mapping.PrefectDataHub:
		m.URNs = mapping.PrefectDataHub
	default:
		s.Refuse("urns", fmt.Sprintf("%q is not known", urns), fmt.Sprintf("there are %s and %s", mapping.OpenLineage, mapping.PrefectDataHub))
	}
	switch result := strings.ToUpper(s.String("cancelled_as")); result {
	case "", aspect.Skipped:
	case aspect.Failure:
		m.CancelledAs = aspect.Failure
	default:
		s.Refuse("cancelled_as", "is not known", "there are SKIPPED and FAILURE")
	}
	return m
}

func parseEnv(s *settings.Section, fallback string) string {
	text := s.String("env")
	if text == "" {
		return fallback
	}
	env, err := mapping.ParseEnv(text)
	if err != nil {
		s.Refuse("env", err.Error(), "")
	}
	return env
}

// parseRules reads the list datasets.
func parseRules(s *settings.Section) []mapping.Rule {
	var rules []mapping.Rule
	switch list := s.Value("datasets").(type) {
	case nil:
	case []any:
		for i, one := range list {
			path := fmt.Sprintf("%s[%d]", s.Path("datasets"), i)
			values, ok := one.(map[string]any)
			if !ok {
				s.At(path, nil).Refuse("", "must be a map with the key namespace", "")
				continue
			}
			rules = append(rules, parseRule(s.At(path, values)))
		}
	default:
		s.Refuse("datasets", "must be a list of rules", "such as [{namespace: 'duckdb:///(.*)', platform_instance: '$1'}]")
	}
	return rules
}

func parseRule(s *settings.Section) mapping.Rule {
	rule := mapping.Rule{
		Platform: s.String("platform"), Instance: s.String("platform_instance"), NamePrefix: s.String("name_prefix"),
		Env: parseEnv(s, ""), LowerCase: s.Bool(false, "lower_case"),
	}
	pattern := s.String("namespace")
	if pattern == "" {
		s.Refuse("namespace", "is missing", "set it to a pattern that matches the whole of a dataset's namespace, such as snowflake://.*")
	}
	var err error
	if rule.Namespace, err = mapping.ParseNamespace(pattern); err != nil {
		s.Refuse("namespace", "is no regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
	}
	s.Finish()
	return rule
}
