package datazone_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// says is an error as DataZone's API writes it.
func says(status int, kind, message string) transporttest.Reply {
	return transporttest.Reply{
		Status: status, Body: `{"message":"` + message + `"}`,
		Header: map[string]string{"Content-Type": "application/json", "x-amzn-ErrorType": kind + ":http://internal.amazon.com/coral/com.amazon.datazone/"},
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	tr := build(t, parse(t, to(sink), nil), &keys{token: "session"}, func() time.Time { return at })
	event := transporttest.Event(1, 0)
	for range 2 {
		if err := tr.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	event.Body = append([]byte(" "), event.Body...)
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	all := sink.Requests()
	r := all[0]
	if r.Method != http.MethodPost || r.URL.String() != "/v2/domains/dzd_4example/lineage/events" || string(r.Raw) != string(transporttest.Event(1, 0).Body) {
		t.Errorf("%s %s %s", r.Method, r.URL, r.Raw)
	}
	for name, want := range map[string]string{
		"Content-Type": "", "X-Amz-Date": "20261130T100000Z", "X-Amz-Security-Token": "session",
		"User-Agent": "listener/test", "Content-Encoding": "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	const begins = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/eu-central-1/datazone/aws4_request, " +
		"SignedHeaders=client-token;host;x-amz-date;x-amz-security-token, Signature="
	if got := r.Header.Get("Authorization"); !strings.HasPrefix(got, begins) {
		t.Errorf("signed with %s", got)
	}
	token := func(i int) string { return all[i].Header.Get("Client-Token") }
	if token(0) != token(1) || token(0) == token(2) || len(token(0)) != 36 {
		t.Errorf("a copy has to keep its token, and another body needs another: %s %s %s", token(0), token(1), token(2))
	}
}

// What AWS may say, and what becomes of the event. The guide has the same table.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const tooLong = "1 validation error detected: Value at 'event' failed to satisfy constraint: Member must have length less than or equal to 300000"
	tests := []struct {
		name    string
		reply   transporttest.Reply
		outcome transport.Outcome
		reason  string
		words   string
	}{
		{"access denied", says(403, "AccessDeniedException", "User: arn:aws:iam::1:user/x is not authorized"), transport.Hold, "auth", "datazone:PostLineageEvent"},
		{"expired", says(403, "ExpiredTokenException", "The security token included in the request is expired"), transport.Hold, "auth", "renew them"},
		{"expired, in older words", says(400, "ExpiredToken", "x"), transport.Hold, "auth", "renew them"},
		{"an unknown key", says(403, "UnrecognizedClientException", "The security token included in the request is invalid."), transport.Hold, "auth", "check the credentials"},
		{"a wrong signature", says(403, "InvalidSignatureException", "Signature expired"), transport.Hold, "auth", "clock"},
		{"no signature", says(403, "MissingAuthenticationTokenException", "Missing Authentication Token"), transport.Hold, "auth", "check the credentials"},
		{"a domain that is not there", says(404, "ResourceNotFoundException", "Domain not found"), transport.Hold, "status-404", "domainId"},
		{"a region without DataZone", says(404, "UnknownOperationException", ""), transport.Hold, "status-404", "region"},
		{"a domain's id that is none", says(400, "ValidationException", "Value at 'domainIdentifier' failed to satisfy constraint"), transport.Hold, "status-400", "domainId"},
		{"an event that it does not take", says(400, "ValidationException", "Invalid open lineage event"), transport.Permanent, "refused", "Invalid open lineage event"},
		{"an event that is too long", says(400, "ValidationException", tooLong), transport.Permanent, "too-large", "300000"},
		{"too large for the front door", says(413, "RequestEntityTooLargeException", ""), transport.Permanent, "too-large", "413"},
		{"a conflict", says(409, "ConflictException", "There is a conflict"), transport.Retry, "status-409", "conflict"},
		{"a quota", says(402, "ServiceQuotaExceededException", "quota"), transport.Hold, "quota", "Service Quotas"},
		{"throttled", says(429, "ThrottlingException", "Rate exceeded"), transport.Retry, "status-429", "Rate exceeded"},
		{"throttled with another status", says(400, "ThrottlingException", "Rate exceeded"), transport.Retry, "status-429", "Rate exceeded"},
		{"its own fault", says(500, "InternalServerException", "x"), transport.Retry, "status-500", "500"},
		{"away", says(503, "ServiceUnavailable", "x"), transport.Retry, "status-503", "503"},
		{"the name in the body", transporttest.Reply{Status: 403, Body: `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}`}, transport.Hold, "auth", "AccessDeniedException: no"},
		{"the name as a code", transporttest.Reply{Status: 400, Body: `{"code":"ThrottlingException"}`}, transport.Retry, "status-429", "ThrottlingException"},
		{"a name that nobody knows", says(418, "TeapotException", "x"), transport.Permanent, "status-418", "TeapotException"},
		{"a page in between", transporttest.Reply{Status: 403, Body: "<html>blocked"}, transport.Hold, "auth", "that is not AWS"},
		{"a redirect", transporttest.Reply{Status: 302, Header: map[string]string{"Location": "/login"}}, transport.Hold, "redirect", "endpointOverride"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(transporttest.Always(tt.reply))
			err := build(t, parse(t, to(sink), nil), &keys{}, nil).Emit(t.Context(), transporttest.Event(1, 0))
			e := transporttest.RequireError(t, err)
			if !strings.HasPrefix(err.Error(), sink.URL()+"/v2/domains/dzd_4example/lineage/events answered ") {
				t.Errorf("it is not said who answered: %v", err)
			}
			if e.Outcome != tt.outcome || e.Reason != tt.reason || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%v %s %q, want %v %s with %q", e.Outcome, e.Reason, err, tt.outcome, tt.reason, tt.words)
			}
		})
	}
}

// Credentials that have ended are fetched anew, and the event goes out with the next ones.
func TestExpiredCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Sequence(says(403, "ExpiredTokenException", "is expired")))
	k := &keys{token: "old-session"}
	tr := build(t, parse(t, to(sink), nil), k, nil)
	if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n := k.invalidated.Load(); n != 1 || len(sink.Requests()) != 2 {
		t.Errorf("fetched anew %d times, %d requests", n, len(sink.Requests()))
	}
	sink.Script(transporttest.Always(says(403, "ExpiredTokenException", "is expired")))
	if e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(2, 0))); e.Outcome != transport.Hold {
		t.Errorf("%v", e.Outcome)
	}
	if n := len(sink.Requests()); n != 4 {
		t.Errorf("%d requests, want two for each event", n)
	}
}

func TestNoCredentialsNoRequest(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := build(t, parse(t, to(sink), nil), &keys{err: errors.New("nobody is there")}, nil)
	e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0)))
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth || len(sink.Requests()) > 0 {
		t.Errorf("%v %s, %d requests", e.Outcome, e.Reason, len(sink.Requests()))
	}
}

// An event over the limit goes without its largest facets, and one that DataZone itself calls too long too.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const tooLong = "Value at 'event' failed to satisfy constraint: Member must have length less than or equal to 300000"
	large := transporttest.Event(1, 1)
	large.Body = []byte(strings.Replace(string(large.Body), `"facets":{},"runId"`, `"facets":{"long":{"a":"`+strings.Repeat("x", 300_000)+`"},"short":{"a":1}},"runId"`, 1))
	small := transporttest.Event(2, 1)
	small.Body = []byte(strings.Replace(string(small.Body), `"facets":{},"runId"`, `"facets":{"long":{"a":"`+strings.Repeat("x", 1000)+`"}},"runId"`, 1))
	sink := transporttest.NewSink(t)
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		if strings.Contains(string(r.Body), `"long"`) {
			return says(400, "ValidationException", tooLong)
		}
		return transporttest.OK()
	})
	c := parse(t, to(sink), nil)
	var left [][]string
	tr := fit.New(build(t, c, &keys{}, nil), c.MaxBytes, func(_ transport.Event, l fit.Left) { left = append(left, l.Parts) })
	for _, event := range []transport.Event{large, small} {
		if err := tr.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	taken := sink.Taken()
	if len(sink.Requests()) != 4 && len(sink.Requests()) != 3 || len(left) != 2 || left[0][0] != "run.facets.long" || left[1][0] != "run.facets.long" {
		t.Errorf("%d requests, left out %v", len(sink.Requests()), left)
	}
	if n := len(taken); n == 0 || !strings.Contains(string(taken[0].Body), `"short"`) {
		t.Errorf("%d taken", n)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		reply  transporttest.Reply
		note   string
		reason string // of the error; empty: none
	}{
		{"it is there", transporttest.Reply{Status: 200, Body: `{"id":"dzd_4example"}`}, "is there", ""},
		{"may not ask", says(403, "AccessDeniedException", "no"), "only an event can show", ""},
		{"a wrong key", says(403, "UnrecognizedClientException", "no"), "", "auth"},
		{"a domain that is not there", says(404, "ResourceNotFoundException", "no"), "", "status-404"},
		{"away", transporttest.Reply{Status: 503}, "", "status-503"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(transporttest.Always(tt.reply))
			note, err := build(t, parse(t, to(sink), nil), &keys{}, nil).Probe(t.Context())
			e, failed := errors.AsType[*transport.Error](err)
			if failed != (tt.reason != "") || (failed && e.Reason != tt.reason) || !strings.Contains(note, tt.note) {
				t.Errorf("%q %v", note, err)
			}
			r := sink.Requests()[0]
			if r.Method != http.MethodGet || r.URL.Path != "/v2/domains/dzd_4example" || !strings.Contains(r.Header.Get("Authorization"), "SignedHeaders=host;x-amz-date,") {
				t.Errorf("%s %s %s", r.Method, r.URL, r.Header.Get("Authorization"))
			}
		})
	}
}
