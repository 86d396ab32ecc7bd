package deliver

import (
	"time"

	"github.com/prefect-openlineage/listener/transport"
)

// The waits between tries. The longest wait for a destination's probe bounds how late a recovery is seen.
const (
	minWait       = 100 * time.Millisecond // keeps full jitter from making a wait of nothing
	firstWait     = time.Second
	maxLaneWait   = 5 * time.Minute
	maxProbeWait  = 30 * time.Second
	holdWait      = 30 * time.Second
	maxRetryAfter = transport.MaxRetryAfter
)

// backoff returns the wait before the next try after a number of tries that failed before this one: full jitter below
// a ceiling that doubles from a second up to limit. Jitter is in [0,1).
func backoff(tries int, limit time.Duration, jitter float64) time.Duration {
	ceiling := limit
	if tries < 30 { // beyond, the shift would overflow
		ceiling = min(limit, firstWait<<max(tries, 0))
	}
	return max(minWait, time.Duration(jitter*float64(ceiling)))
}

// reached says whether a moment has come. One that is further away than any wait can be was set before the clock went
// back, and has come too.
func reached(moment, now time.Time) bool {
	return !now.Before(moment) || moment.Sub(now) > maxRetryAfter
}
