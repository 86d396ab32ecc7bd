package kafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	config, warnings, err := kafka.NewConfig(nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if diff := cmp.Diff([]string{"localhost:9092"}, config.Producer.Brokers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"http://localhost:8080/schema-registry/api"}, config.Registry.URLs); diff != "" {
		t.Error(diff)
	}
	if config.Topic != "MetadataChangeProposal_v1" || config.MaxQueueFullBlock != 0 || config.ClientTimeout != time.Minute ||
		!config.Registry.AutoRegister || config.Registry.SchemaID != nil || config.Registry.Timeout != 30*time.Second ||
		config.Producer.Partitioner != librdkafka.Murmur2Random || config.Producer.MessageTimeout != 5*time.Minute {
		t.Errorf("%+v", config)
	}
}

func TestWhatPythonsSettingsMean(t *testing.T) {
	t.Parallel()
	config, _, err := kafka.NewConfig(map[string]any{
		"connection": map[string]any{
			"bootstrap":              "elsewhere:9092",
			"schema_registry_url":    "https://one/, https://two/api",
			"schema_registry_config": map[string]any{"ssl.ca.location": "/ca.pem", "basic.auth.user.info": "u:p:q", "timeout": 5},
			"producer_config": map[string]any{
				"bootstrap.servers": "broker:9093", "security.protocol": "SSL", "partitioner": "consistent_random", "message.timeout.ms": 20_000,
			},
			"client_timeout_seconds": 7,
		},
		"topic_routes":                 map[string]any{"MetadataChangeEvent": "mce", "MetadataChangeProposal": "mcp"},
		"max_queue_full_block_seconds": 300,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"broker:9093"}, config.Producer.Brokers); diff != "" {
		t.Errorf("producer_config does not go before bootstrap: %s", diff)
	}
	if diff := cmp.Diff([]string{"https://one", "https://two/api"}, config.Registry.URLs); diff != "" {
		t.Error(diff)
	}
	r := config.Registry
	if r.User != "u" || r.Password != "p:q" || r.TLS.CA != "/ca.pem" || r.Timeout != 5*time.Second || config.ClientTimeout != 7*time.Second ||
		config.Topic != "mcp" || config.MaxQueueFullBlock != 5*time.Minute || config.Producer.TLS == nil ||
		config.Producer.Partitioner != librdkafka.ConsistentRandom || config.Producer.MessageTimeout != 20*time.Second {
		t.Errorf("%+v", config)
	}
}

func TestTheRegistrysAddressFromTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"KAFKA_SCHEMAREGISTRY_URL": "http://registry:8081"}, "http://registry:8081"},
		{map[string]string{"DATAHUB_GMS_BASE_PATH": "/gms"}, "http://localhost:8080/gms/schema-registry/api"},
	} {
		s := settings.New("transport.kafka", nil)
		config := kafka.ParseConfig(s, func(name string) string { return c.env[name] })
		if diff := cmp.Diff([]string{c.want}, config.Registry.URLs); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	in := func(section string, values map[string]any) map[string]any {
		return map[string]any{"connection": map[string]any{section: values}}
	}
	for _, c := range []struct {
		values map[string]any
		says   string
	}{
		{in("producer_config", map[string]any{"compresion.type": "zstd"}), "producer_config.compresion.type"},
		{in("producer_config", map[string]any{"sasl.mechanism": "GSSAPI", "security.protocol": "SASL_SSL"}), "GSSAPI"},
		{map[string]any{"connection": map[string]any{"schema_registry_url": "registry:8081"}}, "connection.schema_registry_url: must be an http or https address"},
		{map[string]any{"connection": map[string]any{"schema_registry_url": ","}}, "holds no address"},
		{in("schema_registry_config", map[string]any{"url": "ftp://x"}), "schema_registry_config.url: must be"},
		{in("schema_registry_config", map[string]any{"basic.auth.user.info": "nobody"}), "must be user:password"},
		{in("schema_registry_config", map[string]any{"basic.auth.user.info": "a:b", "bearer.auth.token": "c"}), "more than once"},
		{in("schema_registry_config", map[string]any{"url": "http://a:b@c", "bearer.auth.tokenFile": "/d"}), "more than once"},
		{in("schema_registry_config", map[string]any{"bearer.auth.credentials.source": "OAUTHBEARER"}), "OAUTHBEARER can't be done here"},
		{in("schema_registry_config", map[string]any{"ssl.key.location": "/key.pem"}), "needs ssl.certificate.location"},
		{in("schema_registry_config", map[string]any{"schema_id": -1}), "must be the number of a schema"},
		{in("schema_registry_config", map[string]any{"schema_id": 1.5}), "must be the number of a schema"},
		{map[string]any{"topic_routes": map[string]any{"MetadataChangeEvent": "mce"}}, "topic_routes.MetadataChangeProposal: is missing"},
		{map[string]any{"topic_routes": map[string]any{"MetadataChangeProposal": "a/b"}}, "is no name of a topic"},
		{map[string]any{"max_queue_full_block_seconds": -1}, "max_queue_full_block_seconds"},
	} {
		if _, _, err := kafka.NewConfig(c.values); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.values, err, c.says)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	_, warnings, err := kafka.NewConfig(map[string]any{
		"connection": map[string]any{
			"bootstrp":               "x",
			"schema_registry_config": map[string]any{"max.retries": 3, "enable.ssl.certificate.verification": false},
		},
		"topic":        "MetadataChangeEvent_v4",
		"topic_routes": map[string]any{"MetadataChangeProposal": "mcp", "MetadataChangeEvent": "mce"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(warnings, "\n")
	for _, want := range []string{
		"connection.bootstrp: is not known and has no effect; did you mean bootstrap?", "max.retries: has no effect",
		"enable.ssl.certificate.verification: is off", "topic: has no effect", "MetadataChangeEvent: has no effect",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning says %q:\n%s", want, text)
		}
	}
}

func TestAMissingFileIsSaid(t *testing.T) {
	t.Parallel()
	for section, says := range map[string]string{
		"producer_config": "reading the producer's settings", "schema_registry_config": "reaching the schema registry",
	} {
		values := map[string]any{"ssl.ca.location": "/nowhere/ca.pem"}
		if section == "producer_config" {
			values["security.protocol"] = "ssl"
		}
		config, _, err := kafka.NewConfig(map[string]any{"connection": map[string]any{section: values}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kafka.New(config, kafka.Options{}); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "/nowhere/ca.pem") {
			t.Errorf("%v", err)
		}
	}
	if _, err := kafka.New(kafka.Config{}, kafka.Options{}); err == nil {
		t.Error("an empty configuration is taken")
	}
}
