package kafka

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// DefaultRegistryTimeout bounds a request to the registry. Confluent's client waits for ever.
const DefaultRegistryTimeout = 30 * time.Second

// RegistryConfig is how the schema registry is reached.
type RegistryConfig struct {
	// URLs are the addresses, without user and password; after a failure the next one is asked.
	URLs []string
	// User and Password are sent as Basic authentication, Token as a bearer token; one of the two at most.
	User, Password, Token string
	// UserInfoFile holds user:password, TokenFile a token; each is read again for each request, so that it may change.
	UserInfoFile, TokenFile string
	// Headers are sent with each request, over all others.
	Headers map[string]string
	TLS     librdkafka.TLS
	// Timeout bounds each request.
	Timeout time.Duration
	// AutoRegister registers the schema; otherwise it has to be registered already and is looked up.
	AutoRegister bool
	// SchemaID is used without asking a registry; nil: ask.
	SchemaID *uint32
}

// parseRegistry reads schema_registry_url and schema_registry_config, whose names are those of Confluent's client.
func parseRegistry(connection *settings.Section, getenv func(string) string) RegistryConfig {
	s := connection.Map("schema_registry_config")
	c := RegistryConfig{
		Timeout:      s.Seconds(DefaultRegistryTimeout, "timeout"),
		AutoRegister: s.Bool(true, "auto.register.schemas"),
		Headers:      map[string]string{},
	}
	text, key := s.String("url"), "url"
	if text == "" {
		text, key = connection.String("schema_registry_url"), "schema_registry_url"
	}
	if text == "" {
		text = getenv("KAFKA_SCHEMAREGISTRY_URL")
	}
	if text == "" {
		text = "http://localhost:8080" + getenv("DATAHUB_GMS_BASE_PATH") + "/schema-registry/api/"
	}
	at := connection
	if key == "url" {
		at = s
	}
	c.parseURLs(at, key, text)
	c.parseLogin(s)
	c.TLS = parseRegistryTLS(s)
	headers := s.Map("headers")
	for _, name := range headers.Keys() {
		c.Headers[http.CanonicalHeaderKey(name)] = headers.String(name)
	}
	c.SchemaID = parseSchemaID(s)
	for _, known := range []string{"max.retries", "retries.wait.ms", "retries.max.wait.ms", "cache.capacity", "cache.latest.ttl.sec"} {
		if s.Has(known) {
			s.Warn(known, "has no effect: the registry is asked again until message.timeout.ms is over, and one id is kept")
		}
	}
	s.Finish()
	return c
}

// parseURLs reads one or more addresses with commas between, the first of which may hold user and password.
func (c *RegistryConfig) parseURLs(s *settings.Section, key, text string) {
	for address := range strings.SplitSeq(text, ",") {
		if address = strings.TrimSpace(address); address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			s.Refuse(key, "must be an http or https address", "such as http://registry:8081; several with commas between")
			return
		}
		if u.User != nil {
			c.User = u.User.Username()
			c.Password, _ = u.User.Password()
			u.User = nil
		}
		c.URLs = append(c.URLs, strings.TrimRight(u.String(), "/"))
	}
	if len(c.URLs) == 0 {
		s.Refuse(key, "holds no address", "such as http://registry:8081")
	}
}

// parseLogin reads how to log in: in one way at most.
func (c *RegistryConfig) parseLogin(s *settings.Section) {
	ways := 0
	if c.User != "" || c.Password != "" {
		ways++
	}
	if info := s.String("basic.auth.user.info"); info != "" {
		ways++
		var ok bool
		if c.User, c.Password, ok = strings.Cut(info, ":"); !ok {
			s.Refuse("basic.auth.user.info", "must be user:password", "")
		}
	}
	c.Token = s.String("bearer.auth.token")
	c.UserInfoFile, c.TokenFile = s.String("basic.auth.user.infoFile"), s.String("bearer.auth.tokenFile")
	for _, way := range []string{c.Token, c.UserInfoFile, c.TokenFile} {
		if way != "" {
			ways++
		}
	}
	if ways > 1 {
		s.Refuse("", "says how to log in more than once", "a user in the address, basic.auth.user.info, bearer.auth.token, or one of their files")
	}
	s.String("basic.auth.credentials.source") // what is set says where from
	switch source := strings.ToUpper(s.String("bearer.auth.credentials.source")); source {
	case "", "STATIC_TOKEN":
	default:
		s.Refuse("bearer.auth.credentials.source", source+" can't be done here", "STATIC_TOKEN with bearer.auth.token can")
	}
	for header, key := range map[string]string{ // headers by which Confluent Cloud finds a registry
		"Target-Sr-Cluster": "bearer.auth.logical.cluster", "Confluent-Identity-Pool-Id": "bearer.auth.identity.pool.id",
	} {
		if value := s.String(key); value != "" {
			c.Headers[header] = value
		}
	}
}

func parseRegistryTLS(s *settings.Section) librdkafka.TLS {
	t := librdkafka.TLS{
		CA: s.String("ssl.ca.location"), Cert: s.String("ssl.certificate.location"), Key: s.String("ssl.key.location"),
		KeyPassword: s.String("ssl.key.password"),
		SkipVerify:  !s.Bool(true, "enable.ssl.certificate.verification"),
	}
	if t.Key != "" && t.Cert == "" {
		s.Refuse("ssl.key.location", "needs ssl.certificate.location beside it", "")
	}
	if t.SkipVerify {
		s.Warn("enable.ssl.certificate.verification", "is off: whoever answers at the address is believed")
	}
	return t
}

func parseSchemaID(s *settings.Section) *uint32 {
	value := s.Value("schema_id")
	if value == nil {
		return nil
	}
	n, ok := settings.AsNumber(value)
	if !ok || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		s.Refuse("schema_id", "must be the number of a schema", "0 is one; leave it out to ask the registry")
		return nil
	}
	id := uint32(n)
	return &id
}

// httpTransport reads the files that the settings name and returns what requests are sent with.
func (c RegistryConfig) httpTransport() (*http.Transport, error) {
	secure, err := c.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("reaching the schema registry: %w", err)
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: c.Timeout, ResponseHeaderTimeout: c.Timeout, IdleConnTimeout: 30 * time.Second,
	}, nil
}

// secrets are the values that must not be shown.
func (c RegistryConfig) secrets() []string {
	secrets := []string{c.Password, c.Token, c.TLS.KeyPassword}
	if c.Password != "" {
		secrets = append(secrets, basic(c.User, c.Password))
	}
	for _, value := range c.Headers {
		secrets = append(secrets, value)
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}
