package prefect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// What a Config that leaves things out gets.
const (
	DefaultRequestTimeout = 60 * time.Second // as Prefect's own client
	DefaultMaxInFlight    = 4
	DefaultMaxAnswerBytes = 64 << 20
	DefaultUserAgent      = "prefect-openlineage-listener"
)

// Config says how to reach a Prefect API. It prints without its secrets.
type Config struct {
	// URL is the API's address, such as http://127.0.0.1:4200/api. A user and password in it are taken as an auth
	// string.
	URL string
	// APIKey is a Prefect Cloud key, sent as a bearer token.
	APIKey string
	// AuthString is the user:password of a server of one's own, sent as HTTP Basic. It wins over APIKey.
	AuthString string
	// Headers go with every request. User-Agent and the CSRF headers can't be replaced by them.
	Headers map[string]string
	// InsecureSkipVerify turns off the check of the server's certificate.
	InsecureSkipVerify bool
	// CAFile is a PEM file of the authorities to trust instead of the system's. Empty: the system's.
	CAFile string
	// RequestTimeout bounds one try at one request, its answer's body included. Zero: DefaultRequestTimeout.
	RequestTimeout time.Duration
	// MaxRequestsPerSecond caps the client's own rate. Zero: no cap.
	MaxRequestsPerSecond float64
	// MaxInFlight bounds the requests that are under way at once. Zero: DefaultMaxInFlight.
	MaxInFlight int
	// MaxAnswerBytes bounds one answer, unpacked. Zero: DefaultMaxAnswerBytes.
	MaxAnswerBytes int64
	// UserAgent names this program to the server. Empty: DefaultUserAgent.
	UserAgent string
	// Proxy chooses the proxy for a request. Nil: the environment's (HTTP_PROXY, HTTPS_PROXY, NO_PROXY).
	Proxy func(*http.Request) (*url.URL, error)
}

// redacted stands for a secret wherever one would be printed.
const redacted = "***"

// public is the part of a Config that may be shown.
func (c Config) public() map[string]any {
	headers := make(map[string]string, len(c.Headers))
	for name := range c.Headers {
		headers[name] = redacted
	}
	return map[string]any{
		"url": maskURLs(c.URL), "api_key": hide(c.APIKey), "auth_string": hide(c.AuthString), "headers": headers,
		"insecure_skip_verify": c.InsecureSkipVerify, "ca_file": c.CAFile,
		"request_timeout": c.RequestTimeout.String(), "max_requests_per_second": c.MaxRequestsPerSecond,
		"max_in_flight": c.MaxInFlight, "max_answer_bytes": c.MaxAnswerBytes, "user_agent": c.UserAgent,
	}
}

func hide(secret string) string {
	if secret == "" {
		return ""
	}
	return redacted
}

// Format prints the config without its secrets, whatever the verb.
func (c Config) Format(state fmt.State, _ rune) { fmt.Fprintf(state, "prefect.Config%v", c.public()) }

// MarshalJSON leaves the secrets out.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.public()) }

func (c Config) withDefaults() Config {
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.MaxAnswerBytes == 0 {
		c.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	if c.Proxy == nil {
		c.Proxy = http.ProxyFromEnvironment
	}
	return c
}
