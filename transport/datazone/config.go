package datazone

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

const (
	// MaxBytes is the size of the largest event that DataZone takes, in bytes (PostLineageEvent's length constraint).
	MaxBytes = 300_000
	// DefaultTimeout is how long connecting, the TLS handshake and the answer's first byte may take, each.
	DefaultTimeout = 10 * time.Second
)

// Config is a parsed configuration.
type Config struct {
	// Domain is the domain's identifier, such as dzd_4example.
	Domain string
	// Region is the region of AWS; empty: that of the variables or the shared configuration file.
	Region string
	// Endpoint is where DataZone is asked instead of the region's own address; nil: there.
	Endpoint *url.URL
	// Profile is the profile of the shared files; empty: AWS_PROFILE, else default.
	Profile string
	// Role is the ARN of a role to assume with the credentials that are found; empty: none.
	Role    string
	Timeout time.Duration
	// CA is a file of the only authorities to trust; empty: those of the system.
	CA string
	// MaxBytes is the size of the largest event that is sent, in bytes, at most the constant MaxBytes.
	MaxBytes int
	// FIPS says that the region's address that keeps to FIPS 140 is used.
	FIPS bool
}

var (
	domainPattern = regexp.MustCompile(`^dzd[-_][a-zA-Z0-9_-]{1,36}$`)
	regionPattern = regexp.MustCompile(`^[a-z]{2,}(-[a-z0-9]+)+$`)
	rolePattern   = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[!-~]+$`)
)

// IsRegion reports whether a text looks like the name of a region of AWS, such as eu-central-1.
func IsRegion(text string) bool { return regionPattern.MatchString(text) }

// Parse reads the settings of type amazon_datazone_api. Of the environment it reads what AWS's library does not read by
// itself: AWS_ENDPOINT_URL_DATAZONE, AWS_ENDPOINT_URL, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, AWS_CA_BUNDLE,
// REQUESTS_CA_BUNDLE and AWS_USE_FIPS_ENDPOINT. Problems and warnings are left with the section, which also warns of
// unknown keys; the result counts only when it has no problem.
func Parse(s *settings.Section, getenv func(string) string) Config {
	c := Config{
		Domain: s.String("domainId"), Region: s.String("region"), Profile: s.String("aws_profile"), Role: s.String("role_arn"),
		Timeout: s.Seconds(DefaultTimeout, "timeout"), MaxBytes: httptransport.ParseMaxBytes(s), FIPS: isOn(getenv("AWS_USE_FIPS_ENDPOINT")),
	}
	switch {
	case c.Domain == "":
		s.Refuse("domainId", "is missing", "set it to the domain's id, such as dzd_4example")
	case !domainPattern.MatchString(c.Domain):
		s.Refuse("domainId", "is not the id of a domain", "it begins with dzd_ or dzd-, such as dzd_4example")
	}
	if c.Region != "" && !IsRegion(c.Region) {
		s.Refuse("region", "is not a region", "such as eu-central-1")
	}
	if c.Role != "" && !rolePattern.MatchString(c.Role) {
		s.Refuse("role_arn", "is not the ARN of a role", "such as arn:aws:iam::123456789012:role/lineage")
	}
	if c.MaxBytes == 0 || c.MaxBytes > MaxBytes {
		c.MaxBytes = MaxBytes
	}
	c.Endpoint = parseEndpoint(s, getenv)
	for _, name := range []string{"AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"} {
		if c.CA == "" {
			c.CA = getenv(name)
		}
	}
	s.Finish()
	return c
}

// parseEndpoint reads the address that takes the place of the region's: the setting, else the variables that AWS's own
// clients read.
func parseEndpoint(s *settings.Section, getenv func(string) string) *url.URL {
	text, from := s.String("endpointOverride"), ""
	if text == "" && !isOn(getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
		for _, name := range []string{"AWS_ENDPOINT_URL_DATAZONE", "AWS_ENDPOINT_URL"} {
			if value := strings.TrimSpace(getenv(name)); value != "" && text == "" {
				text, from = value, " ("+name+")"
			}
		}
	}
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		s.Refuse("endpointOverride", "is not an http or https address"+from, "such as https://vpce-0example.datazone.eu-central-1.vpce.amazonaws.com")
		return nil
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		s.Refuse("endpointOverride", "holds more than a host and a path"+from, "credentials come from AWS's own variables and files")
		return nil
	}
	return u
}

// isOn reads a switch as AWS's clients do.
func isOn(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }
