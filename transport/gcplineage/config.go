package gcplineage

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// Defaults of the settings. That of location is the Python client's.
const (
	DefaultLocation = "us-central1"
	DefaultUniverse = "googleapis.com"
	DefaultTimeout  = 10 * time.Second
	// DefaultMaxBytes is Google's limit for one message, "5 MB", in bytes.
	DefaultMaxBytes = 5_000_000
)

// Unmapped says what becomes of a dataset whose system Google has no names for.
type Unmapped string

// What may become of it.
const (
	UnmappedCustom Unmapped = "custom" // it goes under the namespace custom, with both its names in one
	UnmappedDrop   Unmapped = "drop"   // it is left out
	UnmappedAsIs   Unmapped = "asis"   // it goes as it is
)

// Config is a parsed configuration.
type Config struct {
	Project, Location string
	// Credentials is the path of a credentials file; empty: what the machine has (the default credentials).
	Credentials string
	// Universe is the domain of Google's services, googleapis.com but in clouds of their own.
	Universe string
	// Endpoint is where the service is, without the version in its path.
	Endpoint *url.URL
	// QuotaProject pays for the calls in place of the credentials' own project; empty: that one does.
	QuotaProject string
	Unmapped     Unmapped
	Timeout      time.Duration
	// MaxBytes is the size of the largest copy that is sent, in bytes.
	MaxBytes int
}

// Parse reads the settings of type gcplineage. Variables that Google's own clients read, and GCP_UNMAPPED, count where a
// key is unset. Problems and warnings are left with the section; the result counts only when it has no problem.
func Parse(s *settings.Section, getenv func(string) string) Config {
	or := func(key, variable string) string {
		if value := s.String(key); value != "" {
			return value
		}
		return strings.TrimSpace(getenv(variable))
	}
	c := Config{
		Project:      parsePart(s, "project_id", ""),
		Location:     parsePart(s, "location", DefaultLocation),
		Credentials:  or("credentials_path", "GOOGLE_APPLICATION_CREDENTIALS"),
		Universe:     or("universe_domain", "GOOGLE_CLOUD_UNIVERSE_DOMAIN"),
		QuotaProject: or("quota_project", "GOOGLE_CLOUD_QUOTA_PROJECT"),
		Timeout:      s.Seconds(DefaultTimeout, "timeout"),
		MaxBytes:     parseMaxBytes(s),
	}
	if c.Universe == "" {
		c.Universe = DefaultUniverse
	}
	if !isHost(c.Universe) {
		s.Refuse("universe_domain", "is not a domain", "such as "+DefaultUniverse+" (also in GOOGLE_CLOUD_UNIVERSE_DOMAIN)")
	}
	if strings.ContainsFunc(c.QuotaProject, outsideName) {
		s.Refuse("quota_project", "is not the id of a project", "such as my-billing-project (also in GOOGLE_CLOUD_QUOTA_PROJECT)")
	}
	c.Unmapped = parseUnmapped(s, or("unmapped", "GCP_UNMAPPED"))
	c.Endpoint = parseEndpoint(s, c.Universe)
	parseRules(s)
	s.Finish()
	return c
}

// parsePart reads a part of the resource's name.
func parsePart(s *settings.Section, key, fallback string) string {
	value := s.String(key)
	switch {
	case value == "" && fallback == "":
		s.Refuse(key, "is missing", "set it to the id of the project that keeps the lineage")
	case value == "":
		return fallback
	case strings.ContainsFunc(value, outsideName):
		s.Refuse(key, "holds a character that no name of Google's has", "")
	}
	return value
}

// outsideName says of a character that neither a project's id nor a location's has it.
func outsideName(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.', r == ':':
		return false // a project may be domain-scoped, such as example.com:project
	default:
		return true
	}
}

// isHost says whether a domain can stand behind "datalineage." in an address.
func isHost(domain string) bool {
	return domain != "" && !strings.ContainsFunc(domain, func(r rune) bool { return outsideName(r) || r == ':' })
}

func parseUnmapped(s *settings.Section, value string) Unmapped {
	switch u := Unmapped(strings.ToLower(value)); u {
	case "":
		return UnmappedCustom
	case UnmappedCustom, UnmappedDrop, UnmappedAsIs:
		return u
	default:
		s.Refuse("unmapped", fmt.Sprintf("%q is not known", value), "custom, drop and asis are (also in GCP_UNMAPPED)")
		return UnmappedCustom
	}
}

func parseEndpoint(s *settings.Section, universe string) *url.URL {
	text := s.String("endpoint")
	if text == "" {
		return &url.URL{Scheme: "https", Host: "datalineage." + universe}
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		s.Refuse("endpoint", "is not an http or https address", "such as https://datalineage."+universe)
		return nil
	}
	if u.User != nil {
		s.Refuse("endpoint", "holds a user or password, which Google does not take", "credentials_path is for credentials")
		return nil
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u
}

func parseMaxBytes(s *settings.Section) int {
	n := s.Number(DefaultMaxBytes, "max_event_bytes")
	if n < 1 || n != math.Trunc(n) || n > math.MaxInt32 {
		s.Refuse("max_event_bytes", "must be a number of bytes", fmt.Sprintf("such as %d", DefaultMaxBytes))
		return DefaultMaxBytes
	}
	return int(n)
}

// parseRules reads async_transport_rules: maps of switches by integration and job type. In the Python client they choose
// between two clients that both wait for the answer; here there is one way, through the outbox.
func parseRules(s *settings.Section) {
	value := s.Value("async_transport_rules")
	if value == nil {
		return
	}
	rules, ok := value.(map[string]any)
	for _, inner := range rules {
		types, isMap := inner.(map[string]any)
		ok = ok && isMap
		for _, on := range types {
			_, isSwitch := settings.AsBool(on)
			ok = ok && isSwitch
		}
	}
	if !ok {
		s.Refuse("async_transport_rules", "must map integrations to maps of job types to true or false", `such as {"dbt": {"*": true}}`)
	}
}
