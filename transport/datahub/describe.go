package datahub

import (
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
)

// Target returns where proposals go, for people and as an identity: without secrets.
func (c Config) Target() string {
	switch {
	case c.Kafka != nil:
		return "kafka:" + strings.Join(c.Kafka.Producer.Brokers, ",") + "/" + c.Kafka.Topic
	case c.Server != nil && c.Server.URL != nil:
		return display(c.Server.URL)
	default:
		return ""
	}
}

// display returns an address without user and password; one that differs in its case alone is the same.
func display(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.Path}
	return shown.String()
}

// Settings returns the effective settings under their documented names, defaults included and secrets masked.
func (c Config) Settings() map[string]any {
	m := c.Mapping
	shown := map[string]any{
		"urns": string(m.URNs), "env": m.Env, "cancelled_as": m.CancelledAs, "materialize_datasets": m.Materialize,
		"include_schema": m.Schema, "column_lineage": m.Columns, "dataset_lineage": m.DatasetLineage,
		"plain_patches": m.PlainPatches, "resend_after": c.Resend.String(),
	}
	if m.Orchestrator != "" {
		shown["orchestrator"] = m.Orchestrator
	}
	if m.PlatformInstance != "" {
		shown["platform_instance"] = m.PlatformInstance
	}
	if len(m.Datasets) > 0 {
		rules := make([]any, 0, len(m.Datasets))
		for _, rule := range m.Datasets {
			rules = append(rules, shownRule(rule))
		}
		shown["datasets"] = rules
	}
	if c.Server != nil {
		shown["server"] = c.Server.settings()
	}
	if c.Kafka != nil {
		shown["kafka"] = c.shownKafka()
	}
	return shown
}

func shownRule(rule mapping.Rule) map[string]any {
	pattern := strings.TrimSuffix(strings.TrimPrefix(rule.Namespace.String(), `\A(?:`), `)\z`)
	shown := map[string]any{"namespace": pattern, "lower_case": rule.LowerCase}
	for name, value := range map[string]string{
		"platform": rule.Platform, "platform_instance": rule.Instance, "name_prefix": rule.NamePrefix, "env": rule.Env,
	} {
		if value != "" {
			shown[name] = value
		}
	}
	return shown
}

// shownKafka returns what counts of the section kafka. Properties of the producer are shown as they are written.
func (c Config) shownKafka() map[string]any {
	registry := map[string]any{
		"timeout": c.Kafka.Registry.Timeout.String(), "auto.register.schemas": c.Kafka.Registry.AutoRegister,
	}
	if id := c.Kafka.Registry.SchemaID; id != nil {
		registry["schema_id"] = int(*id)
	}
	if c.Kafka.Registry.User != "" || c.Kafka.Registry.Token != "" {
		registry["login"] = transport.Masked
	}
	connection := map[string]any{
		"bootstrap":              strings.Join(c.Kafka.Producer.Brokers, ","),
		"schema_registry_url":    strings.Join(c.Kafka.Registry.URLs, ","),
		"schema_registry_config": registry,
		"client_timeout_seconds": c.Kafka.ClientTimeout.String(),
	}
	if len(c.properties) > 0 {
		properties := map[string]any{"message.timeout.ms": c.Kafka.Producer.MessageTimeout.String()}
		for name, value := range c.properties {
			if properties[name] = value; isSecret(name) {
				properties[name] = transport.Masked
			}
		}
		connection["producer_config"] = properties
	}
	return map[string]any{
		"connection": connection, "topic_routes": map[string]any{"MetadataChangeProposal": c.Kafka.Topic},
	}
}

// isSecret reports whether a property of librdkafka may hold a secret.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"password", "secret", "token", "key.pem", "jaas", "oauthbearer.config", "extensions"} {
		if strings.Contains(name, word) && !strings.HasSuffix(name, "file") && !strings.HasSuffix(name, "url") {
			return true
		}
	}
	return false
}
