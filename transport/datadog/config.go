package datadog

import (
	"net/url"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// Config is a parsed configuration.
type Config struct {
	// HTTP is how events are posted.
	HTTP httptransport.Config
	// Site is the site of Datadog, or the address that was given in its place.
	Site string
	// Validate is where the key can be asked about; nil where the site is an address of somebody else's.
	Validate *url.URL
	// Rules choose between Concurrent events under way at once, where they say async, and httptransport.DefaultParallel.
	Rules      Rules
	Concurrent int // at least 1
	// Env is the namespace of all jobs in Datadog's copy, which Datadog shows as env; empty: the events' own.
	Env string
	// Service is what Datadog shows as the runs' service; empty: its own choice.
	Service string
}

// Options are what Parse reads besides the settings.
type Options struct {
	// Getenv reads DD_API_KEY, DD_API_KEY_FILE, DD_SITE, DD_ENV and DD_SERVICE, each of which counts where the key is
	// unset.
	Getenv func(string) string
	// Order returns the keys of the map at a path in the order in which they were written.
	Order func(path string) []string
}

// Parse reads the settings of type datadog. Problems and warnings are left with the section, which also warns of unknown
// keys; the result counts only when it has no problem.
func Parse(s *settings.Section, o Options) Config {
	or := func(key, variable string) string {
		if value := s.String(key); value != "" {
			return value
		}
		return strings.TrimSpace(o.Getenv(variable))
	}
	c := Config{
		Site: or("site", "DD_SITE"), Env: or("env", "DD_ENV"), Service: or("service", "DD_SERVICE"),
		Rules: parseRules(s, o.Order), Concurrent: httptransport.ParseParallel(s),
		HTTP: httptransport.Config{
			Timeout: s.Seconds(httptransport.DefaultTimeout, "timeout"),
			Auth:    httptransport.Auth{Kind: httptransport.AuthAPIKey, Key: parseKey(s, o.Getenv)},
			Gzip:    true, GzipTaken: true,
			Retry:    httptransport.ParseRetry(s.Map("retry")),
			MaxBytes: httptransport.ParseMaxBytes(s),
		},
	}
	s.Value("max_queue_size") // known; the outbox is the queue, and it has a limit of its own

	from := "" // the variable that the site is from
	if s.String("site") == "" && c.Site != "" {
		from = " (DD_SITE)"
	}
	if c.Site == "" {
		c.Site = DefaultSite
	}
	c.parseSite(s, from)
	c.HTTP.Parallel = c.parallel()
	s.Finish()
	return c
}

// parseKey reads the API key, or the path of a file that holds it.
func parseKey(s *settings.Section, getenv func(string) string) httptransport.Secret {
	unset := httptransport.Secret{
		Value: strings.TrimSpace(getenv("DD_API_KEY")), File: strings.TrimSpace(getenv("DD_API_KEY_FILE")),
	}
	if !s.Has("apiKey") && !s.Has("apiKeyFile") {
		switch {
		case unset.Value != "" && unset.File != "":
			s.Refuse("apiKey", "comes from both DD_API_KEY and DD_API_KEY_FILE", "set one of the two")
			return unset
		case unset.Value == "" && unset.File == "":
			s.Refuse("apiKey", "is missing", "set it, or DD_API_KEY, or the path of a file that holds it as apiKeyFile or DD_API_KEY_FILE")
			return unset
		}
	}
	return httptransport.ParseSecret(s, "apiKey", unset)
}

// parseSite finds the address. It is joined with the endpoint as the http transport joins url and endpoint. From names
// the variable that gave it.
func (c *Config) parseSite(s *settings.Section, from string) {
	if base, known := intakeOf(c.Site); known {
		c.HTTP.URL = base.JoinPath(httptransport.DefaultEndpoint)
		c.Validate = apiOf(c.Site)
		return
	}
	if !isAddress(c.Site) {
		s.Refuse("site", "is no site of Datadog"+from, "there are "+strings.Join(Sites(), ", ")+
			"; an address that begins with http:// or https:// is taken as it is")
		return
	}
	base, err := url.Parse(c.Site)
	if err != nil || base.Hostname() == "" {
		s.Refuse("site", "is not an http or https address"+from, "such as https://data-obs-intake."+DefaultSite)
		return
	}
	if base.User != nil {
		s.Refuse("site", "holds a user or password, which would take the place of the API key"+from, "leave them out")
		return
	}
	base.Fragment, base.RawFragment = "", ""
	c.HTTP.URL = base.ResolveReference(&url.URL{Path: httptransport.DefaultEndpoint})
}

// The facets jobType of what the listener tells of.
const (
	integration = "prefect"
	flowType    = "flow"
	taskType    = "task"
)

// parallel returns how many events may be under way at once.
func (c *Config) parallel() int {
	flows, tasks := c.Rules.Async(integration, flowType), c.Rules.Async(integration, taskType)
	switch {
	case flows && tasks:
		return c.Concurrent
	case flows || tasks:
		return httptransport.DefaultParallel + c.Concurrent
	default:
		return httptransport.DefaultParallel
	}
}

// mixed says whether some events are async and others are not.
func (c *Config) mixed() bool {
	return c.Rules.Async(integration, flowType) != c.Rules.Async(integration, taskType)
}

// Target returns where events are posted, for people and as an identity: without secrets.
func (c Config) Target() string { return c.HTTP.Target() }

// Settings returns the effective settings under their documented names, defaults included and secrets masked.
func (c Config) Settings() map[string]any {
	http := c.HTTP.Settings()
	shown := map[string]any{
		"site": c.Site, "async_transport_rules": c.Rules.shown(), "parallel": c.HTTP.Parallel,
	}
	if isAddress(c.Site) {
		shown["site"] = c.Target()
	}
	for _, key := range []string{"timeout", "retry", "compression", "max_event_bytes"} {
		if value, ok := http[key]; ok {
			shown[key] = value
		}
	}
	if file := c.HTTP.Auth.Key.File; file != "" {
		shown["apiKeyFile"] = file
	} else {
		shown["apiKey"] = transport.Masked
	}
	for key, value := range map[string]string{"env": c.Env, "service": c.Service} {
		if value != "" {
			shown[key] = value
		}
	}
	return shown
}
