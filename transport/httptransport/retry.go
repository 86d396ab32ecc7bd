package httptransport

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/settings"
)

// Retry says when a failed attempt is tried again within the same Emit, and which answers are not final.
type Retry struct {
	// OnConnect, OnRead and OnStatus allow the quick try after a connection that could not be made, one that broke,
	// and an answer of Statuses.
	OnConnect, OnRead, OnStatus bool
	Statuses                    []int
	// Factor is the wait before the quick try; half of it is left to chance.
	Factor time.Duration
	// RetryAfter says whether the consumer's Retry-After counts, MaxRetryAfter up to where.
	RetryAfter    bool
	MaxRetryAfter time.Duration
}

// maxQuickWait keeps the quick try quick.
const maxQuickWait = time.Second

// DefaultRetry returns what holds without a retry setting.
func DefaultRetry() Retry {
	return Retry{
		OnConnect: true, OnRead: true, OnStatus: true,
		Statuses:      []int{500, 502, 503, 504},
		Factor:        300 * time.Millisecond,
		RetryAfter:    true,
		MaxRetryAfter: transport.MaxRetryAfter,
	}
}

// ParseRetry merges the settings key by key over the defaults. The keys are the arguments of urllib3's Retry.
func ParseRetry(s *settings.Section) Retry {
	r := DefaultRetry()
	total := parseTries(s, "total")
	post := parseMethods(s)
	// Each is read whatever the others say, lest it counts as unknown.
	connect, read, status := parseTries(s, "connect"), parseTries(s, "read"), parseTries(s, "status")
	tries := total && post
	r.OnConnect, r.OnRead, r.OnStatus = tries && connect, tries && read, tries && status
	limit := seconds(s, maxQuickWait, "backoff_max")
	r.Factor = min(seconds(s, r.Factor, "backoff_factor"), limit, maxQuickWait)
	r.RetryAfter = s.Bool(true, "respect_retry_after_header")
	r.MaxRetryAfter = min(seconds(s, r.MaxRetryAfter, "retry_after_max"), transport.MaxRetryAfter)
	r.Statuses = parseStatuses(s, r.Statuses)
	for _, key := range []string{
		"redirect", "other", "backoff_jitter", "raise_on_redirect", "raise_on_status",
		"remove_headers_on_redirect", "history",
	} {
		if s.Has(key) {
			s.Warn(key, "has no effect here")
		}
	}
	s.Finish()
	return r
}

// parseTries reports whether a count allows a further try. false is urllib3's word for none at all.
func parseTries(s *settings.Section, key string) bool {
	if on, ok := s.Value(key).(bool); ok {
		return on
	}
	return s.Number(5, key) >= 1
}

func parseMethods(s *settings.Section) bool {
	list, ok := s.Value("allowed_methods").([]any)
	if !ok {
		return true
	}
	for _, method := range list {
		if text, ok := method.(string); ok && strings.EqualFold(text, "POST") {
			return true
		}
	}
	return false
}

func parseStatuses(s *settings.Section, fallback []int) []int {
	value := s.Value("status_forcelist")
	if value == nil {
		return fallback
	}
	list, ok := value.([]any)
	statuses := []int{}
	for _, item := range list {
		n, isNumber := settings.AsNumber(item)
		if !isNumber || n != math.Trunc(n) || n < 100 || n > 999 {
			ok = false
			break
		}
		statuses = append(statuses, int(n))
	}
	if !ok {
		s.Refuse("status_forcelist", "must be a list of HTTP status codes", "such as [500, 502, 503, 504]")
		return fallback
	}
	return statuses
}

// seconds reads a time that may be 0.
func seconds(s *settings.Section, fallback time.Duration, key string) time.Duration {
	n := s.Number(fallback.Seconds(), key)
	if n < 0 {
		s.Refuse(key, "must be a number of seconds, 0 or more", "")
		return fallback
	}
	return time.Duration(min(n, settings.MaxSeconds) * float64(time.Second))
}

// wait returns the time before the quick try.
func (r Retry) wait() time.Duration {
	half := r.Factor / 2
	if half <= 0 {
		return 0
	}
	return half + rand.N(half) //nolint:gosec // jitter needs no secrecy
}
