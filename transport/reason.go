package transport

import (
	"net/http"
	"strconv"
)

// The reasons that are not made from an HTTP status. Together with StatusReason's words they are a bounded set, so they
// may be a metric's label.
const (
	ReasonCancelled  = "cancelled"   // the caller gave up
	ReasonTimeout    = "timeout"     // no answer in time
	ReasonConnection = "connection"  // refused, reset, cut
	ReasonDNS        = "dns"         // the host's name has no address
	ReasonTLS        = "tls"         // certificates or versions do not fit
	ReasonProxy      = "proxy"       // the way out is in trouble or refuses
	ReasonAuth       = "auth"        // credentials are missing, wrong or not enough
	ReasonRedirect   = "redirect"    // sent somewhere that an event cannot follow
	ReasonNotAPI     = "not-an-api"  // a web page answered, not a lineage API
	ReasonTooLarge   = "too-large"   // the event is bigger than the consumer takes
	ReasonRefused    = "refused"     // the consumer says that the event is wrong
	ReasonFull       = "disk-full"   // no space for a file
	ReasonFile       = "file"        // a file cannot be written as the settings say
	ReasonBrokenPipe = "broken-pipe" // nobody reads the output any more
	ReasonOther      = "other"
)

// StatusReason returns a bounded word for an HTTP status: the reason that says more where there is one, else
// status-503, or status-4xx and the like for a number that nobody has registered.
func StatusReason(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return ReasonAuth
	case status == http.StatusProxyAuthRequired, status == http.StatusNetworkAuthenticationRequired:
		return ReasonProxy
	case status == http.StatusRequestEntityTooLarge:
		return ReasonTooLarge
	case status >= 300 && status < 400:
		return ReasonRedirect
	case http.StatusText(status) != "", status >= 520 && status <= 526:
		return "status-" + strconv.Itoa(status) // 520 to 526 are what a well-known proxy adds
	case status >= 100 && status < 1000:
		return "status-" + strconv.Itoa(status/100) + "xx"
	default:
		return ReasonOther
	}
}
