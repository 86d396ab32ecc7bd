package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Answer is what a consumer said over HTTP, as far as classing it needs.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // its beginning is enough, secrets already masked
	// Now is when the answer came, for a Retry-After that is a date; the answer's own Date goes before it.
	Now time.Time
}

// Classify says what became of an event by its answer: nil when the consumer has it, and only a 2xx says so.
//
// A refusal that no event can be blamed for (credentials, address, a redirect) holds the destination; one that is about
// the event is permanent; all else may pass later. A 5xx is retried but for those of which it is known that the server
// means the event: Marquez wraps what it can't parse in a 500 whose JSON says "code":400, DataHub's endpoint fails with
// 500 on a producer that it does not know.
func Classify(a Answer) *Error {
	var outcome Outcome
	reason := StatusReason(a.Status)
	switch {
	case a.Status >= 200 && a.Status < 300:
		if !isWebPage(a) {
			return nil
		}
		outcome, reason = Hold, ReasonNotAPI
	case blamesTLS(a):
		outcome, reason = Hold, ReasonTLS
	case a.Status == http.StatusInternalServerError && blamesEvent(a.Body):
		outcome, reason = Permanent, ReasonRefused
	default:
		outcome = statusOutcome(a.Status)
	}
	e := &Error{Outcome: outcome, Reason: reason, Status: a.Status, Answer: clip(a.Body, MaxAnswer)}
	after, asked := RetryAfter(a.Header, a.Now)
	if asked && a.Status == http.StatusRequestEntityTooLarge {
		e.Outcome = Retry // RFC 9110, 15.5.14: with Retry-After the condition is temporary
	}
	if e.Outcome == Retry {
		e.RetryAfter = after
	}
	e.Err = fmt.Errorf("answered %s", StatusLine(a.Status))
	return e
}

// StatusLine returns a status as people know it, such as "503 Service Unavailable".
func StatusLine(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// tlsRefusals are what servers say with a 400 to a client without the right certificate, and to one that speaks plain
// HTTP where TLS is spoken: nginx both, httpd and Go's the second.
var tlsRefusals = [][]byte{
	[]byte("SSL certificate"), []byte("plain HTTP request was sent to HTTPS port"),
	[]byte("speaking plain HTTP to an SSL-enabled server port"), []byte("Client sent an HTTP request to an HTTPS server"),
}

// blamesTLS reports whether a refusal is about the connection. nginx has statuses of its own for that (495 to 497), which
// it shows as 400 unless it is told otherwise. What an API says in JSON is about the event, whatever words are in it.
func blamesTLS(a Answer) bool {
	switch a.Status {
	case 495, 496, 497:
		return true
	case http.StatusBadRequest:
		start := bytes.TrimLeft(a.Body, " \t\r\n\ufeff")
		return !bytes.HasPrefix(start, []byte("{")) && slices.ContainsFunc(tlsRefusals, func(words []byte) bool {
			return bytes.Contains(clip(start, MaxAnswer), words)
		})
	default:
		return false
	}
}

// statusOutcome classes a status that is no 2xx.
func statusOutcome(status int) Outcome {
	if status < 400 {
		return Hold // what could be followed was followed: the address is wrong
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusMisdirectedRequest, http.StatusLocked, http.StatusFailedDependency, 499:
		return Retry // 499 is a proxy's word for a client that it lost
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusProxyAuthRequired, http.StatusGone,
		http.StatusLengthRequired, http.StatusRequestURITooLong, http.StatusExpectationFailed,
		http.StatusUpgradeRequired, http.StatusPreconditionRequired, http.StatusRequestHeaderFieldsTooLarge,
		http.StatusUnavailableForLegalReasons:
		return Hold // about the address, the credentials or the headers, which are the same for each event
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusNetworkAuthenticationRequired:
		return Hold // nothing there takes a POST, or a portal stands in between: waiting does not mend it
	}
	if status < 500 {
		return Permanent
	}
	return Retry
}

// blamesEvent reports whether the body of a 500 says that the event is at fault.
func blamesEvent(body []byte) bool {
	if bytes.Contains(body, []byte("Unable to determine orchestrator")) {
		return true // DataHub
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if !bytes.HasPrefix(trimmed, []byte("{")) {
		return false
	}
	// Only the top level counts, and the answer may be cut: read key by key.
	dec := json.NewDecoder(bytes.NewReader(trimmed))
	if _, err := dec.Token(); err != nil {
		return false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return false
		}
		if key == "code" {
			switch string(value) {
			case "400", "413", "415", "422":
				return true
			}
			return false
		}
	}
	return false
}

// isWebPage reports whether a 200 is a page for people: a login page or a single-page application answers a POST so,
// and nobody has the event. A short text under text/html is taken as what it is.
func isWebPage(a Answer) bool {
	if a.Status != http.StatusOK || !strings.HasPrefix(strings.ToLower(a.Header.Get("Content-Type")), "text/html") {
		return false
	}
	start := bytes.ToLower(clip(bytes.TrimLeft(a.Body, " \t\r\n\ufeff"), 64))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// clip returns a copy of at most limit bytes of b.
func clip(b []byte, limit int) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b[:min(len(b), limit)])
}
