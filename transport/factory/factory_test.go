package factory_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// shape is what of a destination shows in a test.
type shape struct {
	Name, Kind, After, Target string
	Parallel                  int
}

func build(tb testing.TB, spec map[string]any, o factory.Options) []transport.Destination {
	tb.Helper()
	destinations, err := factory.Build(spec, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, d := range destinations {
			_ = d.Transport.Close(tb.Context())
		}
	})
	return destinations
}

func shapes(destinations []transport.Destination) []shape {
	var all []shape
	for _, d := range destinations {
		all = append(all, shape{d.Name, d.Kind, d.After, d.Target, d.Parallel})
	}
	return all
}

func list(items ...any) []any { return items }

type m = map[string]any

func http(host string) m { return m{"type": "http", "url": "http://" + host} }

func named(name string, spec m) m {
	out := m{"name": name}
	maps.Copy(out, spec)
	return out
}

func composite(transports any, flags ...string) m {
	out := m{"type": "composite", "transports": transports}
	for _, flag := range flags {
		key, value, _ := strings.Cut(flag, "=")
		out[key] = value
	}
	return out
}

const replacer = "openlineage.client.transport.transform.JobNamespaceReplaceTransformer"

func transformed(inner m) m {
	return m{
		"type": "transform", "transport": inner, "transformer_class": replacer, "transformer_properties": m{"new_job_namespace": "new"},
	}
}

const (
	failover = "continue_on_success=false"
	chained  = "continue_on_failure=false"
)

const (
	dog  = "https://data-obs-intake.us3.datadoghq.com/api/v1/lineage"
	zone = "https://datazone.eu-central-1.api.aws/v2/domains/dzd_4example/lineage/events"
)

const google = "https://datalineage.googleapis.com/v1/projects/p/locations/us-central1"

func at(host string) string { return "http://" + host + "/api/v1/lineage" }

// bare is an unnamed http destination.
func bare(host string) shape {
	return shape{Name: "http:" + at(host), Kind: "http", Target: at(host), Parallel: 8}
}

// called is a named one that may wait for another.
func called(name, host, after string) shape {
	return shape{Name: name, Kind: "http", Target: at(host), Parallel: 8, After: after}
}

func TestDestinations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec m
		want []shape
	}{
		{"http", http("h"), []shape{bare("h")}},
		{"secrets are no identity", m{"type": "http", "url": "http://u:p@H:80/?k=v", "auth": m{"type": "api_key", "apiKey": "k"}}, []shape{bare("h")}},
		{"a name is", named("marquez", http("h")), []shape{called("marquez", "h", "")}},
		{"async_http is http, only wider", m{"type": "async_http", "url": "http://h", "max_concurrent_requests": 30}, []shape{{Name: "http:" + at("h"), Kind: "http", Target: at("h"), Parallel: 30}}},
		{"console", m{"type": "console"}, []shape{{"console", "console", "", "standard output", 1}}},
		{"gcplineage", m{"type": "gcplineage", "project_id": "p"}, []shape{{"gcplineage:" + google, "gcplineage", "", google, 8}}},
		{"datadog", m{"type": "datadog", "apiKey": "k", "site": "us3.datadoghq.com"}, []shape{{"datadog:" + dog, "datadog", "", dog, 8}}},
		{"datadog, tasks async", m{"type": "datadog", "apiKey": "k", "site": "us3.datadoghq.com", "async_transport_rules": m{"prefect": m{"task": true}}, "max_concurrent_requests": 4}, []shape{{"datadog:" + dog, "datadog", "", dog, 12}}},
		{"amazon_datazone_api", m{"type": "amazon_datazone_api", "domainid": "dzd_4example", "region": "eu-central-1"}, []shape{{"amazon_datazone_api:" + zone, "amazon_datazone_api", "", zone, 8}}},
		{"datahub", m{"type": "datahub", "server": "http://GMS:8080/"}, []shape{{"datahub:http://gms:8080", "datahub", "", "http://gms:8080", 8}}},
		{"datahub over Kafka", m{"type": "datahub", "kafka": m{"connection": m{"bootstrap": "b:9092"}}}, []shape{{"datahub:kafka:b:9092/MetadataChangeProposal_v1", "datahub", "", "kafka:b:9092/MetadataChangeProposal_v1", 8}}},
		{"noop", m{"type": "noop", "priority": 3}, []shape{{"noop", "noop", "", "nowhere", 1}}},
		{"file", m{"type": "file", "log_file_path": "/var/log/ol.json", "append": true}, []shape{{"file:/var/log/ol.json", "file", "", "/var/log/ol.json", 1}}},
		{"a list: each for itself", composite(list(http("a"), http("b"))), []shape{bare("a"), bare("b")}},
		{"a number for a name", named("1", http("h")), []shape{called("1", "h", "")}},
		{"a map: keys are names and go before names inside", composite(m{"x": named("inner", http("a"))}), []shape{called("x", "a", "")}},
		{"a map without order: as variables come", composite(m{"alpha": http("a"), "second": http("b"), "first": http("c"), "off": m{}, "none": nil}), []shape{called("second", "b", ""), called("first", "c", ""), called("alpha", "a", "")}},
		{"priorities alone change nothing", composite(list(http("a"), m{"type": "http", "url": "http://b", "priority": 9})), []shape{bare("a"), bare("b")}},
		{"sorted by priority, equals as they stand", composite(list(http("a"), m{"type": "http", "url": "http://b", "priority": "9"}, m{"type": "http", "url": "http://c", "priority": 9.7}, m{"type": "http", "url": "http://d", "priority": -1}), "sort_transports=true"), []shape{bare("b"), bare("c"), bare("a"), bare("d")}},
		{"nested, each for itself", composite(list(http("a"), composite(list(http("b"), http("c"))))), []shape{bare("a"), bare("b"), bare("c")}},
		{"a composite's name is its children's scope", composite(m{"eu": composite(list(named("x", http("a")), http("b"))), "us": composite(list(named("x", http("c"))))}), []shape{called("us/x", "c", ""), called("eu/x", "a", ""), called("eu/http:"+at("b"), "b", "")}},
		{"failover is one", composite(list(named("a", http("a")), m{"type": "console"}), failover), []shape{{"composite:a,console", "composite", "", at("a") + ", standard output", 1}}},
		{"a failover's name", named("main", composite(list(http("a"), http("b")), failover)), []shape{{"main", "composite", "", at("a") + ", " + at("b"), 8}}},
		{"failover of one is that one", composite(list(named("a", http("a"))), failover), []shape{called("a", "a", "")}},
		{"a chain", composite(list(named("a", http("a")), named("b", http("b")), named("c", http("c"))), chained), []shape{called("a", "a", ""), called("b", "b", "a"), called("c", "c", "b")}},
		{"a chain in a chain", composite(list(named("a", http("a")), composite(list(named("b", http("b")), named("c", http("c"))), chained), named("d", http("d"))), chained), []shape{called("a", "a", ""), called("b", "b", "a"), called("c", "c", "b"), called("d", "d", "c")}},
		{"a failover in a chain", composite(list(named("f", composite(list(http("a"), http("b")), failover)), named("c", http("c"))), chained), []shape{{"f", "composite", "", at("a") + ", " + at("b"), 8}, called("c", "c", "f")}},
		{"both in a chain are one link", composite(list(named("f", composite(list(http("a"), http("b")))), named("c", http("c"))), chained), []shape{{"f", "composite", "", at("a") + ", " + at("b"), 8}, called("c", "c", "f")}},
		{"a chain beside others", composite(list(composite(list(named("a", http("a")), named("b", http("b"))), chained), http("c"))), []shape{called("a", "a", ""), called("b", "b", "a"), bare("c")}},
		{"neither after failure nor after success: the first alone", composite(list(named("a", http("a")), named("b", http("b"))), failover, chained), []shape{called("a", "a", "")}},
		{"transform", transformed(http("h")), []shape{{"transform:http:" + at("h"), "http", "", at("h"), 8}}},
		{"transform beside the same, as it is", composite(list(http("h"), transformed(http("h")))), []shape{bare("h"), {"transform:http:" + at("h"), "http", "", at("h"), 8}}},
		{"a transform's name", named("t", transformed(http("h"))), []shape{called("t", "h", "")}},
		{"a name inside a transform", transformed(named("inner", http("h"))), []shape{called("inner", "h", "")}},
		{"transform over a composite", transformed(composite(list(http("a"), http("b")))), []shape{{"transform:http:" + at("a"), "http", "", at("a"), 8}, {"transform:http:" + at("b"), "http", "", at("b"), 8}}},
		{"transform over a chain", transformed(composite(list(named("a", http("a")), named("b", http("b"))), chained)), []shape{called("transform:a", "a", ""), called("transform:b", "b", "transform:a")}},
		{"transform in a failover", composite(list(transformed(named("a", http("a"))), named("b", http("b"))), failover), []shape{{"composite:a,b", "composite", "", at("a") + ", " + at("b"), 8}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, shapes(build(t, tt.spec, factory.Options{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrderOfAMap(t *testing.T) {
	t.Parallel()
	spec := composite(m{"a": http("a"), "b": http("b"), "c": http("c"), "from_env": http("d")}, chained)
	var asked []string
	got := shapes(build(t, spec, factory.Options{Order: func(path string) []string {
		asked = append(asked, path)
		return []string{"c", "a", "gone", "b"}
	}}))
	want := []shape{called("from_env", "d", ""), called("c", "c", "from_env"), called("a", "a", "c"), called("b", "b", "a")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"transport.transports"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	known := "there are " + strings.Join(factory.TypeNames(), ", ")
	const noProfile = "transport.aws_profile: names a profile that AWS's shared files do not have; look at ~/.aws/config and " +
		"~/.aws/credentials, or where AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE point"
	tests := []struct {
		name string
		spec m
		want string
	}{
		{"nothing", m{}, "transport.type: is missing; " + known},
		{"upper case", m{"type": "HTTP"}, `transport.type: "HTTP" is not known; write it in lower case: http`},
		{"misspelt", m{"type": "htpp"}, `transport.type: "htpp" is not known; did you mean http? ` + known},
		{"unknown", m{"type": "carrier-pigeon"}, `transport.type: "carrier-pigeon" is not known; ` + known},
		{"a Python class", m{"type": "my.module.Transport"}, "transport.type: names a Python class, which cannot be loaded here; use http and let a small service of yours take the events; " + known},
		{"a child in a list", composite(list(http("a"), m{"type": "http"})), "transport.transports[1].url: is missing; set it to the consumer's address, such as http://marquez:5000"},
		{"a child that is no map", composite(list("http://h")), "transport.transports[0]: must be a map that says what the transport is"},
		{"no children", m{"type": "composite"}, "transport.transports: is missing; list the transports, or map a name to each"},
		{"an empty list", composite(list()), "transport.transports: holds no transport"},
		{"all switched off", composite(m{"a": m{}}), "transport.transports: holds no transport"},
		{"children of another kind", composite("http://h"), "transport.transports: must be a list or a map of transports"},
		{"a flag", composite(list(http("a")), "continue_on_failure=perhaps"), "transport.continue_on_failure: must be true or false, not a text"},
		{"a priority", m{"type": "noop", "priority": "high"}, "transport.priority: must be a number, not a text"},
		{"no priority", m{"type": "noop", "priority": nil}, "transport.priority: must be a whole number, not null"},
		{"a name", m{"type": "noop", "name": "a\nb"}, "transport.name: must be at most 200 bytes on one line"},
		{"the same twice", composite(list(http("a"), http("A:80"))), `transport: two transports are both called "http:http://a/api/v1/lineage"; give each a name of its own`},
		{"two consoles", composite(list(m{"type": "console"}, m{"type": "console"})), `transport: two transports are both called "console"; give each a name of its own`},
		{"a transformer that is not there", named("x", m{"type": "transform", "transport": http("h"), "transformer_class": "my.T"}), "transport.transformer_class: names a Python class that cannot be loaded here; " + replacer + " is the one that there is; for anything else use http and let a small service of yours change the events"},
		{"no transformer", m{"type": "transform", "transport": http("h")}, "transport.transformer_class: is missing; " + replacer + " is the one that there is"},
		{"nothing to send to", m{"type": "transform", "transformer_class": replacer, "transformer_properties": m{"new_job_namespace": "n"}}, "transport.transport: is missing; say where the changed events go"},
		{"no namespace", m{"type": "transform", "transport": http("h"), "transformer_class": replacer}, "transport.transformer_properties.new_job_namespace: is missing"},
		{"inside a transform", transformed(m{"type": "http"}), "transport.transport.url: is missing; set it to the consumer's address, such as http://marquez:5000"},
		{"no token endpoint", m{"type": "http", "url": "http://h", "auth": m{"type": "jwt", "apiKey": "k"}}, "transport.auth.tokenEndpoint: is missing"},
		{"no secret and a broken token endpoint", m{"type": "async_http", "url": "http://h", "auth": m{"type": "oauth2", "clientId": "i", "tokenEndpoint": "h"}},
			"transport.auth.clientSecret: is missing; set it, or the path of a file that holds it as clientSecretFile\n" +
				"transport.auth.tokenEndpoint: is not an http or https address"},
		{"an sslContext that is no map", m{"type": "http", "url": "http://h", "sslContext": "x"}, "transport.sslContext: must be a map, not a text"},
		{"a CA that is not there", m{"type": "http", "url": "https://h", "verify": "/does/not/exist"}, "transport.verify: reading the CA: stat /does/not/exist: no such file or directory"},
		{"brokers' CA that is not there", m{"type": "kafka", "topic": "t", "config": m{"bootstrap.servers": "h", "security.protocol": "ssl", "ssl.ca.location": "/does/not/exist"}}, "transport.config: reading the CA: stat /does/not/exist: no such file or directory"},
		{"brokers' properties that are no map", m{"type": "kafka", "topic": "t", "config": "bootstrap.servers=h"}, "transport.config: must be a map, not a text"},
		{"no region of MSK", m{"type": "msk-iam", "topic": "t", "region": "eu west", "config": m{"bootstrap.servers": "h"}}, "transport.region: is not a region; such as eu-west-1; also AWS_REGION and AWS's shared configuration file say it"},
		{"a profile for MSK that is not there", m{"type": "msk-iam", "topic": "t", "region": "eu-west-1", "aws_profile": "no-such-profile", "config": m{"bootstrap.servers": "h"}}, noProfile},
		{"a profile for DataZone that is not there", m{"type": "amazon_datazone_api", "domainId": "dzd_4example", "region": "eu-west-1", "aws_profile": "no-such-profile"}, noProfile},
		{"a client certificate that is not there", m{"type": "http", "url": "https://h", "sslContext": m{"clientCertPath": "/does/not/exist"}}, "transport.sslContext: reading the client certificate: open /does/not/exist: no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := factory.Build(tt.spec, factory.Options{})
			if got != nil || err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if _, ok := errors.AsType[*factory.ConfigError](err); !ok {
				t.Errorf("%T is no ConfigError", err)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := factory.Build(composite(list(m{"type": "http"}, m{"type": "file"}, m{"type": "nope"})), factory.Options{})
	if n := len(strings.Split(fmt.Sprint(err), "\n")); n != 3 {
		t.Errorf("%d lines, want 3: %v", n, err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec m
		want []string
	}{
		{"none", named("x", m{"type": "http", "url": "http://h", "priority": 1}), nil},
		{"unknown, misspelt", m{"type": "http", "url": "http://h", "endpont": "s3cr3t"}, []string{"transport.endpont: is not known and has no effect; did you mean endpoint?"}},
		{"console has no keys", m{"type": "console", "url": "x"}, []string{"transport.url: is not known and has no effect"}},
		{"deep inside", composite(m{"x": transformed(m{"type": "noop", "a": 1})}), []string{"transport.transports.x.transport.a: is not known and has no effect"}},
		{"a composite's own", composite(list(http("a")), "continue_on_fail=true"), []string{"transport.continue_on_fail: is not known and has no effect; did you mean continue_on_failure?"}},
		{"never used", composite(list(http("a"), http("b")), failover, chained), []string{"transport.transports: all but the first are never used: continue_on_failure and continue_on_success are both false"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			build(t, tt.spec, factory.Options{Warn: func(text string) { got = append(got, text) }})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	secrets := m{
		"type": "http", "url": "http://u:" + secret + "@h/?k=" + secret, "auth": m{"type": "api_key", "apiKey": secret},
		"custom_headers": m{"X-A": secret}, secret: 1,
	}
	delete(secrets, secret)
	var shown []string
	spec := composite(list(secrets, transformed(named("t", secrets)), named("f", composite(list(named("a", secrets), named("b", secrets)), failover))))
	for _, d := range build(t, spec, factory.Options{Warn: func(text string) { shown = append(shown, text) }}) {
		shown = append(shown, fmt.Sprintf("%s %s %s %s %v", d.Name, d.Kind, d.After, d.Target, d.Settings))
	}
	for _, spec := range []m{
		{"type": "http", "url": "http://u:" + secret + "@:x"},
		{"type": "http", "url": secret},
		{"type": "file", "log_file_path": "s3://" + secret},
	} {
		_, err := factory.Build(spec, factory.Options{})
		shown = append(shown, fmt.Sprint(err))
	}
	for _, text := range shown {
		if strings.Contains(text, secret) {
			t.Error(text)
		}
	}
	if !strings.Contains(fmt.Sprint(shown), "custom_headers:map[X-A:***]") {
		t.Errorf("the settings are not shown: %v", shown)
	}
}

func TestSettingsOfGroups(t *testing.T) {
	t.Parallel()
	got := build(t, transformed(composite(list(m{"type": "console"}, named("n", m{"type": "noop"})), failover)), factory.Options{})[0].Settings
	want := m{
		"settled_by": "first success",
		"transports": []any{m{"name": "console", "type": "console"}, m{"name": "n", "type": "noop"}},
		"transform":  m{"new_job_namespace": "new", "include_parent_facet": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheConsoleWritesToStdout(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := build(t, m{"type": "console"}, factory.Options{Stdout: &out})[0]
	event := transporttest.Event(1, 0)
	if err := d.Transport.Emit(t.Context(), event); err != nil || out.String() != string(event.Body)+"\n" {
		t.Errorf("%v %q", err, &out)
	}
}

func TestFailoverWorks(t *testing.T) {
	t.Parallel()
	first, second := transporttest.NewSink(t), transporttest.NewSink(t)
	first.Script(transporttest.Always(transporttest.Status(401)))
	d := build(t, composite(list(m{"type": "http", "url": first.URL()}, transformed(m{"type": "http", "url": second.URL()})), failover), factory.Options{UserAgent: "listener/1"})[0]
	if err := d.Transport.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := second.Taken(); len(got) != 1 || !bytes.Contains(got[0].Body, []byte(`"namespace":"new"`)) || got[0].Header.Get("User-Agent") != "listener/1" {
		t.Errorf("%d came", len(got))
	}
	if got := first.Requests()[0].Body; !bytes.Equal(got, transporttest.Event(1, 0).Body) {
		t.Error("a transform for one member changed the event for another")
	}
}

func TestTheTransformersProperties(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]bool{nil: true, "TRUE": true, true: true, false: false, "yes": false, "1": false} {
		spec := transformed(m{"type": "noop"})
		spec["transformer_class"] = "openlineage.client.transport.transform.transformers.job_namespace_replace_transformer.JobNamespaceReplaceTransformer"
		spec["transformer_properties"] = m{"new_job_namespace": "n", "include_parent_facet": value}
		got := build(t, spec, factory.Options{})[0].Settings["transform"].(m)["include_parent_facet"]
		if got != want {
			t.Errorf("%v: %v, want %v", value, got, want)
		}
	}
}

func TestTheEnvironmentsCA(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewTLSSink(t, nil)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, sink.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(values map[string]string) factory.Options {
		return factory.Options{Getenv: func(name string) string { return values[name] }}
	}
	spec := m{"type": "http", "url": sink.URL()}
	for _, name := range []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if err := build(t, spec, env(map[string]string{name: ca}))[0].Transport.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	spec["verify"] = false
	if err := build(t, spec, env(map[string]string{"CURL_CA_BUNDLE": "/does/not/exist"}))[0].Transport.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Errorf("verify: false, and the environment counted: %v", err)
	}
	_, err := factory.Build(m{"type": "http", "url": sink.URL()}, env(map[string]string{"CURL_CA_BUNDLE": "/does/not/exist"}))
	if !strings.HasSuffix(fmt.Sprint(err), "no such file or directory (CURL_CA_BUNDLE)") {
		t.Errorf("a CA of the environment that is not there: %v", err)
	}
}
