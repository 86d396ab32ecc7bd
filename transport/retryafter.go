package transport

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter caps the wait that a consumer may ask for. A header with a day in it, by mistake or not, must not park
// a destination for a day.
const MaxRetryAfter = 15 * time.Minute

// RetryAfter reads a Retry-After header (RFC 9110, 10.2.3): seconds or a date. The wait is between 0 and MaxRetryAfter;
// a date is measured against the answer's own Date where it has one, so that two clocks need not agree. The second
// result says whether the header was there and could be read; a date in the past reads as 0.
func RetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil || time.Duration(seconds) > MaxRetryAfter/time.Second {
			return MaxRetryAfter, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter), true
}
