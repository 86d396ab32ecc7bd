package datahub_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub"
	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
	"github.com/prefect-openlineage/listener/transport/settings"
)

type m = map[string]any

// parse reads settings with variables.
func parse(spec, env m) (datahub.Config, *settings.Section) {
	s := settings.New("transport", spec)
	return datahub.Parse(s, func(name string) string {
		text, _ := env[name].(string)
		return text
	}), s
}

func parsed(t *testing.T, spec, env m) datahub.Config {
	t.Helper()
	c, s := parse(spec, env)
	if err := s.Err(); err != nil || len(s.Warnings()) > 0 {
		t.Fatalf("%v, %v", err, s.Warnings())
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := parsed(t, m{"server": "http://gms:8080/"}, nil)
	want := mapping.Settings{
		URNs: mapping.OpenLineage, Env: "PROD", CancelledAs: "SKIPPED", Materialize: true, Schema: true, Columns: true,
	}
	if diff := cmp.Diff(want, c.Mapping); diff != "" {
		t.Error(diff)
	}
	s := c.Server
	if c.Target() != "http://gms:8080" || c.Kafka != nil || s.Mode != rest.SyncPrimary || s.API != rest.APIAuto ||
		s.Timeout != 30*time.Second || s.Retries != 1 || c.Resend != 24*time.Hour {
		t.Errorf("%+v of %s", s, c.Target())
	}
}

// Where the settings say nothing, the variables of DataHub's own clients count.
func TestVariablesOfDataHubsClients(t *testing.T) {
	t.Parallel()
	env := m{
		"DATAHUB_GMS_URL": "http://gms:8080", "DATAHUB_GMS_TOKEN": "secret-token", "DATAHUB_EMIT_MODE": "async",
		"DATAHUB_REST_EMITTER_DEFAULT_ENDPOINT": "openapi", "DATAHUB_CLIENT_CERT_PATH": "/c.pem", "DATAHUB_CLIENT_KEY_PATH": "/k.pem",
		"DATAHUB_SYSTEM_CLIENT_ID": "id", "DATAHUB_SYSTEM_CLIENT_SECRET": "system-secret",
	}
	s := parsed(t, m{}, env).Server
	if s.URL.String() != "http://gms:8080" || s.Token != "secret-token" || s.Mode != rest.Async || s.API != rest.APIOpenAPI ||
		s.TLS.Cert != "/c.pem" || s.TLS.Key != "/k.pem" || s.SystemClientID != "id" {
		t.Errorf("%+v", s)
	}
	said := parsed(t, m{"server": m{
		"url": "https://other", "tokenFile": "/t", "emit_mode": "SYNC_WAIT", "endpoint": "RESTLI",
		"client_certificate_path": "/mine.pem", "system_client_id": "me", "system_client_secret": "mine",
	}}, env).Server
	if said.URL.Host != "other" || said.Token != "" || said.TokenFile != "/t" || said.Mode != rest.SyncWait ||
		said.API != rest.APIRestli || said.TLS.Cert != "/mine.pem" || said.TLS.Key != "" || said.SystemClientID != "me" {
		t.Errorf("the settings go first: %+v", said)
	}
	maps.Copy(env, m{"DATAHUB_GMS_HOST": "host", "DATAHUB_GMS_PORT": "9", "DATAHUB_GMS_PROTOCOL": "https"})
	if u := parsed(t, m{}, env).Server.URL.String(); u != "https://host:9" {
		t.Errorf("host and port go before the address: %s", u)
	}
	delete(env, "DATAHUB_GMS_PROTOCOL")
	if u := parsed(t, m{}, env).Server.URL.String(); u != "http://host:9" {
		t.Errorf("%s", u)
	}
}

func TestEverySetting(t *testing.T) {
	t.Parallel()
	c := parsed(t, m{
		"urns": "prefect-datahub", "orchestrator": "Prefect-EU", "env": "dev", "platform_instance": "eu", "cancelled_as": "failure",
		"materialize_datasets": false, "include_schema": false, "column_lineage": false, "dataset_lineage": true,
		"plain_patches": true, "resend_after": 60,
		"datasets": []any{m{
			"namespace": "duckdb:///(.*)", "platform": "duck", "platform_instance": "$1", "env": "qa", "name_prefix": "p.", "lower_case": true,
		}},
		"server": m{"url": "http://gms", "timeout": 5, "wait_timeout": 7, "retry_max_times": 9, "extra_headers": m{"X-A": "b"}},
	}, nil)
	rule := c.Mapping.Datasets[0]
	got := fmt.Sprint(c.Mapping.URNs, c.Mapping.Orchestrator, c.Mapping.Env, c.Mapping.PlatformInstance, c.Mapping.CancelledAs,
		c.Mapping.Materialize, c.Mapping.Schema, c.Mapping.Columns, c.Mapping.DatasetLineage, c.Mapping.PlainPatches, c.Resend,
		rule.Platform, rule.Instance, rule.Env, rule.NamePrefix, rule.LowerCase, rule.Namespace.MatchString("duckdb:///x"),
		rule.Namespace.MatchString("x duckdb:///x"), c.Server.Timeout, c.Server.WaitTimeout, c.Server.Retries, c.Server.Headers)
	want := "prefect-datahubprefect-euDEVeuFAILUREfalse false false true true 1m0sduck$1QAp.true true false 5s 7s 4 map[X-A:b]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	server := func(change m) m {
		all := m{"url": "http://gms"}
		maps.Copy(all, change)
		return m{"server": all}
	}
	tests := []struct {
		name      string
		spec, env m
		want      string
	}{
		{"no server", m{}, nil, "transport.server.url: is missing; set it, or DATAHUB_GMS_URL"},
		{"no address", m{"server": "gms"}, nil, "transport.server.url: the server is not an http or https address"},
		{"both ways", m{"server": "http://gms", "kafka": m{"connection": m{}}}, nil, "transport.kafka: stands beside server"},
		{"a mode", server(m{"emit_mode": "fast"}), nil, `transport.server.emit_mode: "fast" is no emit mode`},
		{"a mode of a variable", server(nil), m{"DATAHUB_EMIT_MODE": "fast"}, "(DATAHUB_EMIT_MODE)"},
		{"an endpoint", server(m{"endpoint": "SOAP"}), nil, "transport.server.endpoint"},
		{"two tokens", server(m{"token": "t", "tokenFile": "/t"}), nil, "transport.server.tokenFile: stands beside token"},
		{"a token over two lines", server(m{"token": "a\nb"}), nil, "transport.server.token: holds a line break"},
		{"half a login", server(m{"system_client_id": "x"}), nil, "one of them is missing"},
		{"retries", server(m{"retry_max_times": -1}), nil, "transport.server.retry_max_times: must be a number from 0 on"},
		{"a header", server(m{"extra_headers": m{"X": []any{}}}), nil, "transport.server.extra_headers.X: must be a text"},
		{"names", m{"server": "http://gms", "urns": "mine"}, nil, `transport.urns: "mine" is not known; there are openlineage and prefect-datahub`},
		{"an environment", m{"server": "http://gms", "env": "production"}, nil, `transport.env: "production" is no environment of DataHub`},
		{"a result", m{"server": "http://gms", "cancelled_as": "GONE"}, nil, "transport.cancelled_as: is not known"},
		{"rules", m{"server": "http://gms", "datasets": "x"}, nil, "transport.datasets: must be a list of rules"},
		{"a rule", m{"server": "http://gms", "datasets": []any{"x"}}, nil, "transport.datasets[0]: must be a map"},
		{"a rule for nothing", m{"server": "http://gms", "datasets": []any{m{}}}, nil, "transport.datasets[0].namespace: is missing"},
		{"a pattern", m{"server": "http://gms", "datasets": []any{m{"namespace": "("}}}, nil, "transport.datasets[0].namespace: is no regular expression: missing closing )"},
		{"the environment of a rule", m{"server": "http://gms", "datasets": []any{m{"namespace": "x", "env": "x"}}}, nil, "transport.datasets[0].env"},
		{"Kafka's", m{"kafka": m{"connection": m{"schema_registry_url": "x"}}}, nil, "transport.kafka.connection.schema_registry_url"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, s := parse(tt.spec, tt.env)
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
		})
	}
	_, s := parse(m{"server": m{"url": "http://gms", "tokn": "x", "disable_ssl_verification": true}, "datasetz": 1}, nil)
	want := []string{
		"transport.server.disable_ssl_verification: believes whoever answers, who then gets the token",
		"transport.server.tokn: is not known and has no effect; did you mean token?",
		"transport.datasetz: is not known and has no effect; did you mean datasets?",
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Error(diff)
	}
}

// What is shown of the settings holds no secret.
func TestSettingsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	secrets := []string{"s3cr3t-token", "s3cr3t-system", "s3cr3t-header", "s3cr3t-password", "s3cr3t-sasl", "s3cr3t-registry"}
	for _, spec := range []m{
		{"server": m{
			"url": "http://user:s3cr3t-password@gms", "token": "s3cr3t-token", "system_client_id": "i", "system_client_secret": "s3cr3t-system",
			"extra_headers": m{"X-Key": "s3cr3t-header"},
		}},
		{"kafka": m{"connection": m{
			"bootstrap": "b:9092", "schema_registry_url": "http://u:s3cr3t-registry@r",
			"producer_config": m{"sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL", "sasl.username": "u", "sasl.password": "s3cr3t-sasl"},
		}}},
	} {
		c := parsed(t, spec, nil)
		text := fmt.Sprint(c.Settings(), c.Target())
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %s", secret, text)
			}
		}
	}
}

// An event is not under way for as long as librdkafka would try, unless that is asked for.
func TestKafkasTimeout(t *testing.T) {
	t.Parallel()
	c := parsed(t, m{"kafka": m{"connection": m{"bootstrap": "b:9092"}}}, m{"KAFKA_SCHEMAREGISTRY_URL": "http://r"})
	if c.Kafka.Producer.MessageTimeout != datahub.DefaultKafkaTimeout || c.Kafka.Registry.URLs[0] != "http://r" {
		t.Errorf("%v, %v", c.Kafka.Producer.MessageTimeout, c.Kafka.Registry.URLs)
	}
	c = parsed(t, m{"kafka": m{"connection": m{"producer_config": m{"message.timeout.ms": 120000}}}}, nil)
	if c.Kafka.Producer.MessageTimeout != 2*time.Minute {
		t.Errorf("%v", c.Kafka.Producer.MessageTimeout)
	}
}
