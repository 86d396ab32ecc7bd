package librdkafka_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

type m = map[string]any

// parse reads properties that have to be fine and returns the warnings with what came of them.
func parse(t *testing.T, values m) (librdkafka.Config, []string) {
	t.Helper()
	s := settings.New("transport.config", values)
	c := librdkafka.Parse(s)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return c, s.Warnings()
}

// with are properties beside the one that has to be there.
func with(values m) m {
	all := m{"bootstrap.servers": "kafka:9092"}
	maps.Copy(all, values)
	return all
}

func defaults() librdkafka.Config {
	return librdkafka.Config{
		Brokers: []string{"kafka:9092"}, Acks: -1, Idempotent: true, Partitioner: librdkafka.ConsistentRandom,
		Compression: librdkafka.Compression{Codec: "none", Level: librdkafka.DefaultLevel}, MaxInFlight: 5,
		Linger: 5 * time.Millisecond, MaxMessageBytes: 1_000_000, MaxBufferedRecords: 100_000,
		MaxBufferedBytes: 1 << 30, Retries: math.MaxInt32, RetryBackoff: 100 * time.Millisecond,
		RetryMaxDelay: time.Second, MessageTimeout: 5 * time.Minute, RequestTimeout: 30 * time.Second,
		SocketTimeout: time.Minute, ConnectTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		MetadataMaxAge: 5 * time.Minute, KeepAlive: true, Network: "tcp", CreateTopics: true,
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, warnings := parse(t, with(nil))
	if diff := cmp.Diff(defaults(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(warnings) > 0 {
		t.Error(warnings)
	}
}

// What each property changes, and nothing else.
func TestProperties(t *testing.T) {
	t.Parallel()
	type c = librdkafka.Config
	for _, test := range []struct {
		name   string
		values m
		want   func(*c)
	}{
		{"several brokers", m{"bootstrap.servers": " a , b:1,[::1]:2,[::1],10.0.0.1"}, func(c *c) {
			c.Brokers = []string{"a:9092", "b:1", "[::1]:2", "[::1]:9092", "10.0.0.1:9092"}
		}},
		{"brokers as a list", m{"bootstrap.servers": []any{"a:1", "b:2"}}, func(c *c) { c.Brokers = []string{"a:1", "b:2"} }},
		{"brokers with a protocol", m{"bootstrap.servers": "PLAINTEXT://a:1"}, func(c *c) { c.Brokers = []string{"a:1"} }},
		{"the brokers' other name", m{"bootstrap.servers": nil, "metadata.broker.list": "a:1"}, func(c *c) { c.Brokers = []string{"a:1"} }},
		{"an alias that says the same", m{"acks": "all", "request.required.acks": "all"}, func(*c) {}},
		{"maps inside each other", m{"linger": m{"ms": 20}}, func(c *c) { c.Linger, c.LingerSet = 20*time.Millisecond, true }},
		{"as variables can be spelt", m{"message_max_bytes": "5000", "CLIENT_ID": "x"}, func(c *c) { c.MaxMessageBytes, c.ClientID = 5000, "x" }},
		{"for topics", m{"default.topic.config": m{"acks": 1}}, func(c *c) { c.Acks, c.Idempotent = 1, false }},
		{"acks as a number", m{"acks": -1}, func(*c) {}},
		{"acks of the leader", m{"acks": "1"}, func(c *c) { c.Acks, c.Idempotent = 1, false }},
		{"no idempotence", m{"enable.idempotence": "False", "max.in.flight": 1}, func(c *c) { c.Idempotent, c.MaxInFlight = false, 1 }},
		{"compression", m{"compression.type": "ZSTD", "compression.level": 3}, func(c *c) {
			c.Compression = librdkafka.Compression{Codec: "zstd", Level: 3}
		}},
		{"inherited compression", m{"compression.codec": "inherit"}, func(*c) {}},
		{"a linger with a fraction", m{"queue.buffering.max.ms": "0.5"}, func(c *c) { c.Linger, c.LingerSet = 500*time.Microsecond, true }},
		{"a linger beyond what there is", m{"linger.ms": 900000}, func(c *c) { c.Linger, c.LingerSet = time.Minute, true }},
		{"no limit of messages", m{"queue.buffering.max.messages": 0, "queue.buffering.max.kbytes": 2}, func(c *c) {
			c.MaxBufferedRecords, c.MaxBufferedBytes = math.MaxInt32, 2048
		}},
		{"times", m{
			"delivery.timeout.ms": 1000, "request.timeout.ms": 1, "socket.timeout.ms": 10, "connections.max.idle.ms": 1,
			"socket.connection.setup.timeout.ms": 2000, "retry.backoff.ms": 2000, "metadata.max.age.ms": 1,
		}, func(c *c) {
			c.MessageTimeout, c.RequestTimeout, c.SocketTimeout = time.Second, 100*time.Millisecond, 100*time.Millisecond
			c.IdleTimeout, c.ConnectTimeout, c.RetryBackoff = 100*time.Millisecond, 2*time.Second, 2*time.Second
			c.RetryMaxDelay, c.MetadataMaxAge = 2*time.Second, 250*time.Millisecond
		}},
		{"no end for a message", m{"message.timeout.ms": 0, "retries": 3}, func(c *c) { c.MessageTimeout, c.Retries = 0, 3 }},
		{"no refresh", m{"topic.metadata.refresh.interval.ms": -1, "metadata.max.age.ms": 86400000}, func(c *c) { c.MetadataMaxAge = time.Hour }},
		{"partitioner", m{"partitioner": "murmur2_random"}, func(c *c) { c.Partitioner = librdkafka.Murmur2Random }},
		{"a family of addresses", m{"broker.address.family": "v6"}, func(c *c) { c.Network = "tcp6" }},
		{"no topics made", m{"allow.auto.create.topics": "f", "socket.keepalive.enable": 0}, func(c *c) { c.CreateTopics, c.KeepAlive = false, false }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, warnings := parse(t, with(test.values))
			want := defaults()
			test.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(warnings) > 0 {
				t.Error(warnings)
			}
		})
	}
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	const pem = "-----BEGIN CERTIFICATE-----"
	type sasl = librdkafka.SASL
	for _, test := range []struct {
		name   string
		values m
		tls    *librdkafka.TLS
		sasl   *sasl
	}{
		{"plaintext", m{"ssl.ca.location": "/ca"}, nil, nil},
		{"tls", m{"security.protocol": "SSL"}, &librdkafka.TLS{}, nil},
		{"the system's authorities", m{"security.protocol": "SSL", "ssl.ca.location": "probe"}, &librdkafka.TLS{}, nil},
		{"files", m{
			"security.protocol": "ssl", "ssl.ca.location": "/ca", "ssl.certificate.location": "/cert", "ssl.key.location": "/key",
			"ssl.key.password": "pw", "ssl.endpoint.identification.algorithm": "none",
		}, &librdkafka.TLS{CA: "/ca", Cert: "/cert", Key: "/key", KeyPassword: "pw", SkipHostname: true}, nil},
		{"texts", m{"security.protocol": "ssl", "ssl.ca.pem": pem, "ssl.certificate.pem": pem, "ssl.key.pem": pem},
			&librdkafka.TLS{CAPEM: pem, CertPEM: pem, KeyPEM: pem}, nil},
		{"plain", m{"security.protocol": "sasl_plaintext", "sasl.mechanism": "plain", "sasl.username": "u", "sasl.password": " p "},
			nil, &sasl{Mechanism: "PLAIN", Username: "u", Password: librdkafka.Secret{Value: " p "}}},
		{"scram", m{"security.protocol": "SASL_SSL", "sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "u", "sasl.passwordFile": "/p"},
			&librdkafka.TLS{}, &sasl{Mechanism: "SCRAM-SHA-512", Username: "u", Password: librdkafka.Secret{File: "/p"}}},
		{"scram as a variable", m{"security": m{"protocol": "sasl_plaintext"}, "sasl": m{"mechanism": "SCRAM-SHA-256", "username": "u", "passwordfile": "/p"}},
			nil, &sasl{Mechanism: "SCRAM-SHA-256", Username: "u", Password: librdkafka.Secret{File: "/p"}}},
		{"tokens of an endpoint", m{
			"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc",
			"sasl.oauthbearer.client.id": "id", "sasl.oauthbearer.client.secret": "s", "sasl.oauthbearer.scope": "x",
			"sasl.oauthbearer.token.endpoint.url": "https://t/x", "sasl.oauthbearer.extensions": "a=b, c=d", "https.ca.location": "/ca",
		}, nil, &sasl{Mechanism: "OAUTHBEARER", OAuth: &librdkafka.OAuth{
			Endpoint: "https://t/x", ClientID: "id", ClientSecret: librdkafka.Secret{Value: "s"}, Scope: "x", CA: "/ca",
			Extensions: map[string]string{"a": "b", "c": "d"},
		}}},
		{"tokens without a signature", m{
			"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt": true,
			"sasl.oauthbearer.config": "principal=me scope=a,b lifeSeconds=60 extension_x=y",
		}, nil, &sasl{Mechanism: "OAUTHBEARER", OAuth: &librdkafka.OAuth{
			Extensions: map[string]string{"x": "y"},
			Unsecured:  &librdkafka.Unsecured{PrincipalClaim: "sub", Principal: "me", ScopeClaim: "scope", Scope: []string{"a", "b"}, Life: time.Minute},
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, warnings := parse(t, with(test.values))
			if diff := cmp.Diff([]any{test.tls, test.sasl}, []any{got.TLS, got.SASL}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(warnings) > 0 {
				t.Error(warnings)
			}
		})
	}
}

func TestTokensOfTheCallers(t *testing.T) {
	t.Parallel()
	s := settings.New("transport.config", with(m{"security.protocol": "plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "u"}))
	c := librdkafka.ParseForTokens(s)
	if s.Err() != nil || c.TLS == nil || c.SASL == nil || c.SASL.Mechanism != librdkafka.OAuthBearer || c.SASL.OAuth != nil {
		t.Errorf("%v %+v %+v", s.Err(), c.TLS, c.SASL)
	}
}

// Each wrong property is named by its path, with what it takes, and without its value.
func TestProblems(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	scram := func(more m) m {
		all := m{"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u", "sasl.password": secret}
		maps.Copy(all, more)
		return all
	}
	for _, test := range []struct {
		values m
		want   string // the beginning of the only problem
	}{
		{m{"bootstrap.servers": nil}, "bootstrap.servers: is missing"},
		{m{"bootstrap.servers": ","}, "bootstrap.servers: is missing"},
		{m{"bootstrap.servers": "a:b"}, "bootstrap.servers: holds an address that is none"},
		{m{"bootstrap.servers": "a:0"}, "bootstrap.servers: holds an address that is none"},
		{m{"bootstrap.servers": "a:1:2"}, "bootstrap.servers: holds an address that is none"},
		{m{"bootstrap.servers": "user:" + secret + "@a:1"}, "bootstrap.servers: holds an address that is none"},
		{m{"acks": "2"}, "acks: is not known; it takes all"},
		{m{"acks": 1, "request.required.acks": "all"}, "acks: says otherwise than request.required.acks"},
		{m{"acks": 1, "enable.idempotence": true}, "enable.idempotence: needs acks: all"},
		{m{"linger.ms": secret}, "linger.ms: must be a number of milliseconds from 0 to 900000"},
		{m{"linger.ms": -1}, "linger.ms: must be a number of milliseconds"},
		{m{"message.max.bytes": 999}, "message.max.bytes: must be a whole number from 1000 to 1000000000"},
		{m{"message.max.bytes": 1000.5}, "message.max.bytes: must be a whole number"},
		{m{"enable.idempotence": "maybe"}, "enable.idempotence: must be true or false"},
		{m{"compression.type": "brotli"}, "compression.type: is not known; it takes none, gzip"},
		{m{"partitioner": "sticky"}, "partitioner: is not known; it takes consistent_random"},
		{m{"security.protocol": "tls"}, "security.protocol: is not known"},
		{m{"client.id": []any{m{}}}, "client.id: must be a text"},
		{m{"linger.ms": 1, "linger": m{"ms": 2}}, "twice"},
		{m{"transactional.id": "x"}, "transactional.id: asks for transactions"},
		{m{"plugin.library.paths": "x"}, "plugin.library.paths: loads code"},
		{m{"ssl.keystore.location": "/x"}, "ssl.keystore.location: is a PKCS#12 store"},
		{m{"ssl.crl.location": "/x"}, "ssl.crl.location: can't be honoured"},
		{m{"ssl.ca.location": "/x", "ssl.ca.pem": "-----BEGIN"}, "ssl.ca.location: stands beside ssl.ca.pem"},
		{m{"ssl.key.location": "/x"}, "ssl.certificate.location: is missing beside the key"},
		{m{"ssl.key.pem": secret, "ssl.certificate.location": "/x"}, "ssl.key.pem: is no PEM text; a path belongs into ssl.key.location"},
		{scram(m{"sasl.mechanism": nil}), "sasl.mechanism: is missing, and librdkafka's default, GSSAPI"},
		{scram(m{"sasl.mechanism": "GSSAPI"}), "sasl.mechanism: GSSAPI (Kerberos) can't be done here"},
		{scram(m{"sasl.mechanism": "DIGEST-MD5"}), "sasl.mechanism: is not known"},
		{scram(m{"sasl.username": nil}), "sasl.username: is missing"},
		{scram(m{"sasl.password": nil}), "sasl.password: is missing"},
		{scram(m{"sasl.passwordFile": "/x"}), "sasl.password: stands beside sasl.passwordFile"},
		{scram(m{"sasl.mechanism": "OAUTHBEARER"}), "sasl.mechanism: OAUTHBEARER needs to know where tokens come from"},
		{scram(m{"sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.client.id": "x", "sasl.oauthbearer.client.secret": secret}), "sasl.oauthbearer.token.endpoint.url: must be"},
		{scram(m{"sasl.oauthbearer.extensions": "x"}), "sasl.oauthbearer.extensions: must be name=value pairs"},
		{scram(m{"sasl.oauthbearer.config": "x"}), "sasl.oauthbearer.config: must be name=value pairs"},
		{scram(m{"sasl.oauthbearer.config": "lifeSeconds=0"}), "sasl.oauthbearer.config: has a lifeSeconds"},
		{scram(m{"sasl.oauthbearer.config": secret + "=1"}), "sasl.oauthbearer.config: holds a name that is not known"},
		{scram(m{"sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}), "sasl.oauthbearer.grant.type: can't be done here"},
		{scram(m{"sasl.oauthbearer.assertion.file": "/x"}), "sasl.oauthbearer.assertion.file: makes assertions"},
		{scram(m{"sasl.oauthbearer.metadata.authentication.type": "azure_imds"}), "sasl.oauthbearer.metadata.authentication.type: can't"},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			s := settings.New("transport.config", with(test.values))
			librdkafka.Parse(s)
			err := s.Err()
			if err == nil {
				t.Fatal("no problem")
			}
			text := err.Error()
			if strings.Contains(text, "\n") || !strings.HasPrefix(text, "transport.config.") || !strings.Contains(text, test.want) {
				t.Errorf("%q", text)
			}
			if strings.Contains(text+strings.Join(s.Warnings(), ""), secret) {
				t.Errorf("the value is in %q %q", text, s.Warnings())
			}
		})
	}
}

// All that has no effect is named in one line.
func TestWithoutEffect(t *testing.T) {
	t.Parallel()
	c, warnings := parse(t, with(m{
		"linger_m": 5, "zzz.qqq.xxx": 1, "debug": "all", "statistics": m{"interval": m{"ms": 5}}, "group.id": "g", "log_level": 7,
	}))
	want := []string{"transport.config: some properties do nothing; not known and without effect: linger_m, zzz.qqq.xxx; " +
		"linger_m looks like linger.ms; known and without effect here: debug, group.id, log_level, statistics.interval.ms"}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(c.Unknown, []string{"linger_m", "zzz.qqq.xxx"}) || len(c.Ignored) != 4 {
		t.Errorf("%v %v", c.Unknown, c.Ignored)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values m
		want   string
	}{
		{m{"acks": 0}, "transport.config.acks: 0 means that nobody says"},
		{m{"sasl.mechanism": "PLAIN", "sasl.username": "u"}, "transport.config.security.protocol: is plaintext, so nobody logs in and sasl.mechanism"},
		{m{"security.protocol": "ssl", "enable.ssl.certificate.verification": false}, "transport.config.enable.ssl.certificate.verification: is off"},
	} {
		_, warnings := parse(t, with(test.values))
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], test.want) {
			t.Errorf("%v: %q", test.values, warnings)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	c, _ := parse(t, with(m{
		"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc",
		"sasl.oauthbearer.client.id": "id", "sasl.oauthbearer.client.secret": "first", "sasl.oauthbearer.token.endpoint.url": "https://t",
		"sasl.password": "second", "ssl.certificate.location": "/c", "ssl.key.pem": "-----BEGIN third", "ssl.key.password": "fourth",
	}))
	got := c.Secrets()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"-----BEGIN third", "first", "fourth", "second"}, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever the settings hold, nothing panics, and what is fine can be made into a client's options.
func FuzzParse(f *testing.F) {
	f.Add("bootstrap.servers", "a:1", "acks", "all")
	f.Add("sasl.oauthbearer.config", "principal=x", "security_protocol", "SASL_SSL")
	f.Fuzz(func(t *testing.T, a, first, b, second string) {
		s := settings.New("transport.config", with(m{a: first, b: m{a: second, b: first}}))
		c := librdkafka.Parse(s)
		if s.Err() == nil && len(c.Brokers) == 0 {
			t.Error("no brokers and no problem")
		}
	})
}
