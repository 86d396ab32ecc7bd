package prefect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// fault begins an error about a request.
func (x *exchange) fault(req *http.Request, kind error, reason string) *Error {
	return &Error{Kind: kind, Method: req.Method, Path: strings.TrimPrefix(req.URL.Path, x.base.Path), Reason: reason}
}

// failure classes an attempt that brought no whole answer. ctx is the attempt's own.
func (x *exchange) failure(ctx context.Context, req *http.Request, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if err := req.Context().Err(); err != nil {
		return err // the caller's doing: no fault of the server's
	}
	if context.Cause(ctx) == errAttemptTimeout { //nolint:errorlint // a cause is this very value
		fault := x.fault(req, ErrTimeout, "timeout")
		fault.Detail, fault.Hint = "nothing whole within "+x.timeout.String(), "PREFECT_API_REQUEST_TIMEOUT sets the time"
		return fault
	}
	reason, hint := failureReason(err)
	fault := x.fault(req, ErrUnavailable, reason)
	fault.Hint, fault.Err = hint, errors.New(x.creds.mask(err.Error()))
	return fault
}

// failureReason names the kind of a network error, and what to check.
func failureReason(err error) (reason, hint string) {
	var (
		certificate *tls.CertificateVerificationError
		unknown     x509.UnknownAuthorityError
		alert       tls.AlertError
		record      tls.RecordHeaderError
		dns         *net.DNSError
		op          *net.OpError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &unknown):
		return "tls", "PREFECT_API_SSL_CERT_FILE names the authority to trust"
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return "tls", "PREFECT_API_URL begins with https:// but the server speaks plain http"
	case errors.As(err, &alert):
		return "tls", ""
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "proxy", "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"
	case errors.As(err, &dns):
		return "dns", "check PREFECT_API_URL"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated", ""
	default:
		return "connection", ""
	}
}

// refusal classes an answer whose status is not a good one.
func (x *exchange) refusal(req *http.Request, resp *http.Response, data []byte) *Error {
	status := resp.StatusCode
	fault := x.fault(req, ErrRefused, "status-"+strconv.Itoa(status))
	fault.Status, fault.Detail = status, x.sentence(resp.Header, data)
	switch {
	case status >= 300 && status < 400:
		fault.Kind, fault.Hint = ErrNotPrefect, x.redirectHint(resp)
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		fault.Kind, fault.Hint = ErrUnauthorized, x.creds.hint(status, isCloud(x.base))
	case status == http.StatusNotFound && req.Method == http.MethodGet && rowMissing(data):
		fault.Kind = ErrNotFound
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		fault.Kind, fault.Hint = ErrNotPrefect, x.addressHint()
	case status == http.StatusRequestEntityTooLarge, status == http.StatusRequestURITooLong:
		fault.Kind = ErrTooLarge
	case status == http.StatusUnprocessableEntity:
		x.examineInvalid(fault, data)
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		fault.Kind, fault.RetryAfter = ErrUnavailable, retryAfter(resp.Header, time.Now())
	}
	return fault
}

// rowMissing tells Prefect's "Flow run not found" from a server that has no such page at all ("Not Found").
func rowMissing(data []byte) bool {
	var said complaint
	if json.Unmarshal(data, &said) != nil {
		return false
	}
	text := said.text()
	return text != "" && text != "Not Found"
}

// complaint is how a Prefect server says what is wrong. Both forms occur in every version since 2.
type complaint struct {
	Detail  json.RawMessage `json:"detail"`
	Message string          `json:"exception_message"`
	Errors  []struct {
		Type string `json:"type"`
		Loc  []any  `json:"loc"`
		Msg  string `json:"msg"`
	} `json:"exception_detail"`
}

func (c complaint) text() string {
	var detail string
	if json.Unmarshal(c.Detail, &detail) != nil && len(c.Detail) > 0 {
		detail = string(c.Detail)
	}
	words := []string{detail, c.Message}
	for _, one := range c.Errors {
		words = append(words, fmt.Sprintf("[%s: %s]", path(one.Loc), one.Msg))
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// path joins a location such as [body task_runs end_time] to task_runs.end_time.
func path(loc []any) string {
	var parts []string
	for i, part := range loc {
		if i == 0 && part == "body" {
			continue
		}
		parts = append(parts, fmt.Sprint(part))
	}
	return strings.Join(parts, ".")
}

// pageLimit finds the server's limit in "Invalid limit: must be less than or equal to 200.", as all versions say it.
var pageLimit = regexp.MustCompile(`(?i)limit.*less than or equal to (\d+)`)

// examineInvalid finds in a 422 what the reader can adapt to: the server's page limit, or a filter or sort order that
// an older server doesn't know. Pydantic 2 (Prefect 3) and pydantic 1 (Prefect 2) name the same things differently.
func (x *exchange) examineInvalid(fault *Error, data []byte) {
	var said complaint
	if json.Unmarshal(data, &said) != nil {
		return
	}
	if found := pageLimit.FindStringSubmatch(said.text()); found != nil {
		fault.pageLimit, _ = strconv.Atoi(found[1])
	}
	for _, one := range said.Errors {
		at := path(one.Loc)
		switch {
		case one.Type == "extra_forbidden", one.Type == "value_error.extra":
		case at == "sort" && (one.Type == "enum" || one.Type == "type_error.enum"):
		default:
			return // something else is wrong with the request: leaving the field out would not mend it
		}
		fault.Fields = append(fault.Fields, at)
	}
	if len(fault.Fields) > 0 {
		fault.Kind, fault.Hint = ErrUnknownField, "this server is too old for it"
	}
}

// maxDetail bounds what an error shows of an answer, in bytes.
const maxDetail = 400

var (
	title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	space = regexp.MustCompile(`[\s\p{Cc}]+`)
)

// sentence is what an answer says: the server's own words, a page's title, else the beginning.
func (x *exchange) sentence(header http.Header, data []byte) string {
	var said complaint
	text := ""
	switch {
	case json.Unmarshal(data, &said) == nil && said.text() != "":
		text = said.text()
	case strings.Contains(header.Get("Content-Type"), "html"):
		text = "an HTML page"
		if found := title.FindSubmatch(data[:min(len(data), 64<<10)]); found != nil {
			text += " titled " + strconv.Quote(strings.TrimSpace(string(found[1])))
		}
	default:
		text = string(data[:min(len(data), 4*maxDetail)])
	}
	// Masked before it is cut: half a secret would not be recognized.
	text = space.ReplaceAllString(x.creds.mask(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + " …"
	}
	return strings.TrimSpace(text)
}

// addressHint says what may be wrong with the address when something else than a Prefect API answers there.
func (x *exchange) addressHint() string {
	switch {
	case isCloud(x.base):
		return "PREFECT_API_URL for Prefect Cloud names the account and the workspace"
	case !strings.HasSuffix(x.base.Path, "/api"):
		return "PREFECT_API_URL does not end in /api: is " + x.base.JoinPath("api").String() + " meant?"
	default:
		return "is PREFECT_API_URL the Prefect API, or does a proxy with a login page stand before it? " +
			"PREFECT_CLIENT_CUSTOM_HEADERS can carry a proxy's token"
	}
}

// redirectHint names where a redirect leads, without its query: a login page's may hold tokens.
func (x *exchange) redirectHint(resp *http.Response) string {
	target, err := resp.Location()
	if err != nil {
		return x.addressHint()
	}
	place := url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}
	return "it redirects to " + place.String() + ": PREFECT_API_URL must be the final address; a login page needs a token, " +
		"which PREFECT_CLIENT_CUSTOM_HEADERS can carry"
}

// isCloud says whether an API is Prefect's own service.
func isCloud(base *url.URL) bool {
	host := base.Hostname()
	return host == "prefect.cloud" || strings.HasSuffix(host, ".prefect.cloud")
}

// size writes a number of bytes for people.
func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return strconv.FormatInt(bytes>>20, 10) + " MiB"
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}
