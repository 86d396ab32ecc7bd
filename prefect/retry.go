package prefect

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"go.uber.org/zap"
)

const (
	// quickTries is how often a request is tried again at once. Whoever calls the client owns every longer retry.
	quickTries = 2
	// backoffBase and backoffCap bound the random wait before a quick try.
	backoffBase = 250 * time.Millisecond
	backoffCap  = 2 * time.Second
	// sitOutCap is the longest wait that the client sits out itself when the server asks for one. A longer one is the
	// caller's.
	sitOutCap = 60 * time.Second
	// MaxRetryAfter caps Error.RetryAfter, so that no answer can stop the reading for a day.
	MaxRetryAfter = 10 * time.Minute
)

// newRetrying returns the HTTP client with its quick tries. The library's own choices are all replaced: its backoff
// has no jitter and obeys any Retry-After, its policy leaves out 408, its logger shouts, and after the last try it
// hides the answer.
func newRetrying(x *exchange, log *zap.Logger) *retryablehttp.Client {
	return &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: x, CheckRedirect: followRedirect},
		RetryMax:     quickTries,
		RetryWaitMin: backoffBase,
		RetryWaitMax: backoffCap,
		CheckRetry:   tryAgain,
		Backoff:      backoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		RequestLogHook: func(_ retryablehttp.Logger, req *http.Request, try int) {
			if try > 0 {
				log.Debug("trying a request again", zap.String("path", req.URL.Path), zap.Int("try", try+1))
			}
		},
	}
}

// tryAgain says whether a quick try makes sense. A timeout is none: a server that is slow at a query is not helped by
// the same query again; a narrower one may pass.
func tryAgain(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	fault := faultOf(resp, err)
	return fault != nil && errors.Is(fault, ErrUnavailable) && fault.Reason != "tls" && fault.RetryAfter <= sitOutCap, nil
}

// faultOf returns what was wrong with an attempt, nil when nothing was or when it was no fault of the server's.
func faultOf(resp *http.Response, err error) *Error {
	if fault, ok := errors.AsType[*Error](err); ok {
		return fault
	}
	if resp != nil {
		if a, ok := resp.Body.(*answer); ok {
			return a.fault
		}
	}
	return nil
}

// backoff returns a random wait that may grow with the tries: full jitter, so that several readers don't come back
// together. A wait that the server asked for is the gate's to keep, for all requests.
func backoff(base, limit time.Duration, try int, _ *http.Response) time.Duration {
	return rand.N(min(limit, base<<try) + 1) //nolint:gosec // it spreads waits, it guards nothing
}

// retryAfter reads the Retry-After header: seconds or a date, which is measured by the server's own clock.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	var wait time.Duration
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if seconds > 0 { // so is NaN not
			wait = time.Duration(min(seconds, MaxRetryAfter.Seconds()) * float64(time.Second))
		}
	} else if at, err := http.ParseTime(value); err == nil {
		if served, err := http.ParseTime(header.Get("Date")); err == nil {
			now = served
		}
		wait = at.Sub(now)
	}
	return min(max(wait, 0), MaxRetryAfter)
}

// followRedirect follows a redirect that keeps the method and the server, as from http to https or off a trailing
// slash. Any other would turn a query into a GET, or hand the credentials to a stranger.
func followRedirect(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	sameServer := next.URL.Hostname() == first.Hostname() &&
		(next.URL.Scheme == first.Scheme && next.URL.Port() == first.Port() || first.Scheme == "http" && next.URL.Scheme == "https")
	status := next.Response.StatusCode
	keepsMethod := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect || next.Method == via[0].Method
	if !sameServer || !keepsMethod || len(via) >= 5 {
		return http.ErrUseLastResponse
	}
	return nil
}
