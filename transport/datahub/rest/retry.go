package rest

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// RetryPolicy is when a request is made again, inside one call. The counts are those of DataHub's Python emitter.
type RetryPolicy struct {
	// Max is how many tries follow the first after a status other than 429 or no answer; 0: 4; negative: none.
	Max int
	// MaxThrottled is how many follow after 429, counted by themselves; 0: twice Max; negative: none.
	MaxThrottled int
	// Statuses are tried again; nil: 429, 500, 502, 503 and 504. A 413 with Retry-After always is.
	Statuses []int
	// Methods are tried again once a connection stood; nil: all. Without one every request is.
	Methods []string
	// Factor is half of the longest wait before the second further try; it doubles from there. 0: 2 s, hence no wait,
	// then up to 4, 8, 16 s and so on.
	Factor time.Duration
	// MaxWait caps a wait, that of Retry-After included; 0: 2 min.
	MaxWait time.Duration
	// IgnoreRetryAfter lets a server's Retry-After not count.
	IgnoreRetryAfter bool
	// Jitter returns the share of a wait that is waited, from 0 to 1, so that many clients don't come back at once; nil:
	// random. It does not touch Retry-After.
	Jitter func() float64
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	p.Max = max(orDefault(p.Max, 4), 0)
	p.MaxThrottled = max(orDefault(p.MaxThrottled, 2*p.Max), 0)
	if p.Statuses == nil {
		p.Statuses = []int{
			http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}
	}
	p.Factor = orDefault(p.Factor, 2*time.Second)
	p.MaxWait = orDefault(p.MaxWait, 2*time.Minute)
	if p.Jitter == nil {
		p.Jitter = rand.Float64
	}
	return p
}

// tally counts what went wrong with one request so far.
type tally struct{ throttled, other int }

// failure is one try that did not succeed, as far as trying again goes.
type failure struct {
	method string
	// status is 0 when there was no answer; connected then says whether the request may have gone out.
	status    int
	connected bool
	// asked is the Retry-After of the answer.
	asked    time.Duration
	hasAsked bool
}

// passing reports whether a failure may be gone at another try, whatever the counts are.
func (p RetryPolicy) passing(f failure) bool {
	switch f.status {
	case 0:
		return true
	case http.StatusRequestEntityTooLarge:
		return f.hasAsked && !p.IgnoreRetryAfter // RFC 9110, 15.5.14: then the condition is temporary
	default:
		return slices.Contains(p.Statuses, f.status)
	}
}

// next counts a failure and says whether to try again, and after what wait.
func (p RetryPolicy) next(t *tally, f failure) (time.Duration, bool) {
	if !p.passing(f) {
		return 0, false
	}
	if p.Methods != nil && (f.status != 0 || f.connected) && !slices.Contains(p.Methods, f.method) {
		return 0, false
	}
	if f.status == http.StatusTooManyRequests {
		if t.throttled++; t.throttled > p.MaxThrottled {
			return 0, false
		}
	} else if t.other++; t.other > p.Max {
		return 0, false
	}
	if f.hasAsked && !p.IgnoreRetryAfter {
		return min(f.asked, p.MaxWait), true
	}
	return time.Duration(float64(p.backoff(t.throttled+t.other)) * min(max(p.Jitter(), 0), 1)), true
}

// backoff returns the longest wait before the n-th further try.
func (p RetryPolicy) backoff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	wait := p.Factor
	for range n - 1 {
		if wait *= 2; wait >= p.MaxWait {
			return p.MaxWait
		}
	}
	return wait
}
