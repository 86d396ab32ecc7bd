package prefect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"
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
	// AuthString is the user:password of a server of one's own, sent as HTTP Basic. It wins over APIKey, as in
	// Prefect's own client.
	AuthString string
	// Headers go with every request; an Authorization among them wins over AuthString and APIKey. User-Agent, the CSRF
	// headers and those that frame the body can't be replaced.
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
	// SocketProxy chooses the proxy for the websocket, which has http or https for its scheme here too. Nil: Proxy.
	SocketProxy func(*http.Request) (*url.URL, error)
	// DialContext opens the connections. Nil: over the network.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Format prints the config without its secrets, whatever the verb.
func (c Config) Format(state fmt.State, _ rune) {
	_, _ = fmt.Fprintf(state, "prefect.Config%v", c.public())
}

// MarshalJSON leaves the secrets out.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.public()) }

// public is what may be shown of a Config.
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

func (c Config) withDefaults() Config {
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.MaxAnswerBytes <= 0 {
		c.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	if c.Proxy == nil {
		c.Proxy = http.ProxyFromEnvironment
	}
	if c.SocketProxy == nil {
		c.SocketProxy = c.Proxy
	}
	if c.DialContext == nil {
		c.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	return c
}

// endpoint returns the API's address without user and trailing slash, and the user and password that stood in it.
// The errors don't quote the address: it may hold a password where no parser looks for one.
func (c Config) endpoint() (base *url.URL, auth string, err error) {
	base, err = url.Parse(strings.TrimSpace(c.URL))
	switch {
	case err != nil:
		return nil, "", errors.New("PREFECT_API_URL is not a URL")
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, "", errors.New("PREFECT_API_URL must begin with http:// or https://")
	case base.Hostname() == "":
		return nil, "", errors.New("PREFECT_API_URL names no host")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, "", errors.New("PREFECT_API_URL must end with its path: no query and no fragment")
	}
	if user := base.User; user != nil {
		password, _ := user.Password()
		auth = user.Username() + ":" + password
	}
	return &url.URL{
		Scheme: base.Scheme, Host: base.Host,
		Path: strings.TrimRight(base.Path, "/"), RawPath: strings.TrimRight(base.RawPath, "/"),
	}, auth, nil
}

// headers returns the custom headers that may be sent. Those that this client must set itself are left out with a
// warning, as Prefect's own client does.
func (c Config) headers(log *zap.Logger) (http.Header, error) {
	headers := make(http.Header, len(c.Headers))
	for name, value := range c.Headers {
		if !validHeaderName(name) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("PREFECT_CLIENT_CUSTOM_HEADERS: %q is no valid header", name)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch name {
		case "User-Agent", csrfTokenHeader, csrfClientHeader, "Content-Length", "Content-Type", "Transfer-Encoding",
			"Accept-Encoding", "Connection":
			log.Warn("a custom header is left out because the client sets it itself", zap.String("header", name))
		default:
			headers.Set(name, value)
		}
	}
	return headers, nil
}

// validHeaderName says whether a name is an HTTP token (RFC 9110, 5.6.2).
func validHeaderName(name string) bool {
	for _, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return name != ""
}
