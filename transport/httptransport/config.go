package httptransport

import (
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// Defaults of the settings, those of the Python client where it has the setting.
const (
	DefaultEndpoint = "api/v1/lineage"
	DefaultTimeout  = 5 * time.Second

	// DefaultParallel is how many events are under way at once. Marquez takes some tens of events a second, twice as
	// many over eight connections as over one and no more beyond; each more would only wait in its queue.
	DefaultParallel = 8
	// MaxParallel caps max_concurrent_requests: connections that the daemon and the consumer both pay for.
	MaxParallel = 64
)

// Config is a parsed configuration. Parse makes one from settings; a transport that is HTTP underneath fills one itself.
type Config struct {
	// URL is where events are posted, without user and password.
	URL *url.URL
	// User is the user and password of the configured URL, sent as Basic authentication; nil: none.
	User    *url.Userinfo
	Timeout time.Duration
	TLS     TLS
	Auth    Auth
	Gzip    bool
	// GzipTaken says that the consumer is known to take gzip, so that it refuses no event for it.
	GzipTaken bool
	Headers   map[string]string // by canonical name; they override all others
	Retry     Retry
	Parallel  int // at least 1
	// MaxBytes is the size of the largest event that the consumer is known to take, before it is compressed; 0: unknown.
	MaxBytes int
}

// Parse reads the settings of type http or async_http. Problems and warnings are left with the section, which also
// warns of unknown keys; the result counts only when the section has no problem.
func Parse(s *settings.Section, async bool) Config {
	c := Config{
		Timeout:  s.Seconds(DefaultTimeout, "timeout"),
		TLS:      parseTLS(s),
		Auth:     parseAuth(s.Map("auth")),
		Gzip:     parseCompression(s),
		Headers:  parseHeaders(s.Map("custom_headers")),
		Retry:    ParseRetry(s.Map("retry")),
		Parallel: DefaultParallel,
		MaxBytes: ParseMaxBytes(s),
	}
	c.URL, c.User = parseURL(s)
	if c.User != nil && c.Auth.Kind != AuthNone {
		s.Warn("auth", "has no effect because the url holds a user and password, which go before it")
	}
	if async {
		c.Parallel = ParseParallel(s)
		s.Value("max_queue_size") // known; the outbox is the queue, and it has a limit of its own
	}
	for _, key := range []string{"session", "adapter"} {
		if s.Has(key) {
			s.Warn(key, "is a Python object and has no effect")
		}
	}
	s.Finish()
	return c
}

// ParseMaxBytes reads the key max_event_bytes, which is no key of the Python client's: there, an event is sent as it is.
func ParseMaxBytes(s *settings.Section) int {
	n := s.Number(0, "max_event_bytes")
	if n < 0 || n != math.Trunc(n) || n > math.MaxInt32 {
		s.Refuse("max_event_bytes", "must be a number of bytes", "such as 1000000")
		return 0
	}
	return int(n)
}

func parseCompression(s *settings.Section) bool {
	switch s.String("compression") {
	case "":
		return false
	case "gzip":
		return true
	default:
		s.Refuse("compression", "is not known", "gzip is the only one")
		return false
	}
}

// ParseParallel reads the key max_concurrent_requests.
func ParseParallel(s *settings.Section) int {
	n := s.Number(100, "max_concurrent_requests")
	if n < 1 {
		s.Refuse("max_concurrent_requests", "must be at least 1", "")
		return 1
	}
	return int(min(n, MaxParallel))
}

// parseHeaders reads header names and values. A null takes no part, as in Python.
func parseHeaders(s *settings.Section) map[string]string {
	headers := map[string]string{}
	for _, name := range s.Keys() {
		raw := s.Raw(name)
		if raw == nil {
			continue
		}
		value, ok := settings.Text(raw)
		switch {
		case !validHeaderName(name):
			s.Refuse("", "holds a name that is not one for a header", "letters, digits and dashes")
		case !ok || !validHeaderValue(value):
			s.Refuse(name, "must be a text that fits on a header line", "no line breaks or control characters")
		case unsendable[http.CanonicalHeaderKey(name)]:
			s.Warn(name, "has no effect: the connection sets it")
		default:
			headers[http.CanonicalHeaderKey(name)] = value
		}
	}
	return headers
}

// unsendable are headers that describe the message on the wire and are written by net/http.
var unsendable = map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Connection": true}

// validHeaderName says whether a name is a token of RFC 9110, 5.6.2.
func validHeaderName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c < 0x21 || c > 0x7e:
			return false
		default:
			if strings.ContainsRune(`"(),/:;<=>?@[\]{}`, rune(c)) {
				return false
			}
		}
	}
	return name != ""
}

func validHeaderValue(value string) bool {
	for _, c := range []byte(value) {
		if (c < 0x20 && c != '\t') || c == 0x7f {
			return false
		}
	}
	return true
}
