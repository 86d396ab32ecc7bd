package transport_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestEveryStatusHasItsOutcome(t *testing.T) {
	t.Parallel()
	for status, want := range transporttest.Statuses() {
		e := transport.Classify(transport.Answer{Status: status})
		switch {
		case want == nil && e != nil:
			t.Errorf("%d: %v, want delivered", status, e.Outcome)
		case want != nil && e == nil:
			t.Errorf("%d: delivered, want %v", status, *want)
		case want != nil && e.Outcome != *want:
			t.Errorf("%d: %v, want %v", status, e.Outcome, *want)
		case e != nil && e.Status != status:
			t.Errorf("%d: the error says %d", status, e.Status)
		}
	}
}

// Whatever a server makes up, only a 2xx delivers and the reason stays one of few.
func TestNoOtherStatusDelivers(t *testing.T) {
	t.Parallel()
	reasons := map[string]bool{}
	for status := range 1200 {
		e := transport.Classify(transport.Answer{Status: status})
		if delivered := status >= 200 && status < 300; delivered != (e == nil) {
			t.Errorf("%d: %v", status, e)
		}
		reasons[transport.StatusReason(status)] = true
	}
	if len(reasons) > 70 {
		t.Errorf("%d reasons, too many for a metric's label", len(reasons))
	}
}

func TestBodiesThatBlameTheEvent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		want   transport.Outcome
	}{
		{"Marquez can't parse it", 500, `{"code":400,"message":"Unexpected character"}`, transport.Permanent},
		{"the code comes last", 500, `{"message":"x","details":{"code":500},"code":400}`, transport.Permanent},
		{"the code is cut off", 500, `{"message":"Unexpected char`, transport.Retry},
		{"the rest is cut off", 500, `{"code":400,"message":"Unexpected char`, transport.Permanent},
		{"422 inside", 500, ` {"code":422}`, transport.Permanent},
		{"413 inside", 500, `{"code":413}`, transport.Permanent},
		{"its own fault", 500, `{"code":500,"message":"There was an error"}`, transport.Retry},
		{"401 inside", 500, `{"code":401}`, transport.Retry},
		{"a text for a code", 500, `{"code":"400"}`, transport.Retry},
		{"deeper", 500, `{"error":{"code":400}}`, transport.Retry},
		{"in a text", 500, `{"message":"{\"code\":400}"}`, transport.Retry},
		{"a list", 500, `[{"code":400}]`, transport.Retry},
		{"another status", 503, `{"code":400}`, transport.Retry},
		{"DataHub", 500, `{"status":500,"message":"Unable to determine orchestrator: http://x"}`, transport.Permanent},
		{"nothing", 500, ``, transport.Retry},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := transport.Classify(transport.Answer{Status: tt.status, Body: []byte(tt.body)})
			if e.Outcome != tt.want {
				t.Errorf("%v, want %v", e.Outcome, tt.want)
			}
		})
	}
}

// A certificate that is missing is nobody's event's fault.
func TestRefusalsOfTheConnection(t *testing.T) {
	t.Parallel()
	const page = "<html>\r\n<head><title>400 %s</title></head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>"
	for _, test := range []struct {
		name   string
		status int
		body   string
		held   bool
	}{
		{"nginx without a certificate", 400, fmt.Sprintf(page, "No required SSL certificate was sent"), true},
		{"nginx with a wrong one", 400, fmt.Sprintf(page, "The SSL certificate error"), true},
		{"nginx where TLS is spoken", 400, fmt.Sprintf(page, "The plain HTTP request was sent to HTTPS port"), true},
		{"httpd where TLS is spoken", 400, "<!DOCTYPE HTML><html><body>Reason: You're speaking plain HTTP to an SSL-enabled server port.", true},
		{"Go where TLS is spoken", 400, "Client sent an HTTP request to an HTTPS server.\n", true},
		{"nginx's own statuses", 496, "", true},
		{"an API about an event", 400, ` {"message":"the job is called SSL certificate check"}`, false},
		{"another 400", 400, fmt.Sprintf(page, "Bad Request"), false},
		{"another status", 422, fmt.Sprintf(page, "The SSL certificate error"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := transport.Classify(transport.Answer{Status: test.status, Body: []byte(test.body)})
			if held := e.Outcome == transport.Hold && e.Reason == transport.ReasonTLS; held != test.held {
				t.Errorf("%v %s", e.Outcome, e.Reason)
			}
		})
	}
}

func TestAWebPageIsNoDelivery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name              string
		status            int
		contentType, body string
		delivered         bool
	}{
		{"a login page", 200, "text/html; charset=utf-8", "\n <!DOCTYPE html><html>", false},
		{"an application of one page", 200, "Text/HTML", "<html lang=en>", false},
		{"a word", 200, "text/html", "ok", true},
		{"JSON", 200, "application/json", "{}", true},
		{"no type", 200, "", "<html>", true},
		{"created", 201, "text/html", "<html>", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := transport.Classify(transport.Answer{
				Status: tt.status, Header: http.Header{"Content-Type": {tt.contentType}}, Body: []byte(tt.body),
			})
			if tt.delivered != (e == nil) {
				t.Fatalf("%v, want delivered: %v", e, tt.delivered)
			}
			if e != nil && (e.Outcome != transport.Hold || e.Reason != transport.ReasonNotAPI) {
				t.Errorf("%v %q, want a hold", e.Outcome, e.Reason)
			}
		})
	}
}

func TestTooLargeForNow(t *testing.T) {
	t.Parallel()
	e := transport.Classify(transport.Answer{Status: 413, Header: http.Header{"Retry-After": {"7"}}})
	if e.Outcome != transport.Retry || e.RetryAfter != 7*time.Second {
		t.Errorf("%v after %v, want retry after 7s", e.Outcome, e.RetryAfter)
	}
}

func TestTheAnswerIsCutAndCopied(t *testing.T) {
	t.Parallel()
	body := []byte(strings.Repeat("x", 5000))
	e := transport.Classify(transport.Answer{Status: 400, Body: body})
	body[0] = 'y'
	if len(e.Answer) != transport.MaxAnswer || e.Answer[0] != 'x' {
		t.Errorf("%d bytes, beginning with %q", len(e.Answer), e.Answer[0])
	}
	if got, want := e.Error(), "answered 400 Bad Request"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	date := func(at time.Time) string { return at.Format(http.TimeFormat) }
	tests := []struct {
		name, value, date string
		want              time.Duration
		ok                bool
	}{
		{"none", "", "", 0, false},
		{"zero", "0", "", 0, true},
		{"seconds", " 120 ", "", 2 * time.Minute, true},
		{"the cap", "900", "", 15 * time.Minute, true},
		{"above the cap", "901", "", transport.MaxRetryAfter, true},
		{"as many as a day", "86400", "", transport.MaxRetryAfter, true},
		{"overflow", strings.Repeat("9", 400), "", transport.MaxRetryAfter, true},
		{"overflow of a duration", "9223372037", "", transport.MaxRetryAfter, true},
		{"negative", "-1", "", 0, false},
		{"a fraction", "1.5", "", 0, false},
		{"words", "in a moment", "", 0, false},
		{"a date", date(now.Add(time.Minute)), "", time.Minute, true},
		{"a past date", date(now.Add(-time.Minute)), "", 0, true},
		{"a far date", date(now.AddDate(100, 0, 0)), "", transport.MaxRetryAfter, true},
		{"a date of a server whose clock is an hour ahead", date(now.Add(time.Hour + time.Minute)), date(now.Add(time.Hour)), time.Minute, true},
		{"a date beside a Date that can't be read", date(now.Add(time.Minute)), "today", time.Minute, true},
		{"an RFC 850 date", now.Add(time.Minute).Format(time.RFC850), "", time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			if tt.value != "" {
				header.Set("Retry-After", tt.value)
			}
			if tt.date != "" {
				header.Set("Date", tt.date)
			}
			got, ok := transport.RetryAfter(header, now)
			if strings.Contains(tt.value, "GMT") || strings.Contains(tt.value, "UTC") {
				// dates have whole seconds
				got = got.Round(time.Second)
			}
			if got != tt.want || ok != tt.ok {
				t.Errorf("%v %v, want %v %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "120", "-1", "Wed, 21 Oct 2015 07:28:00 GMT", "9999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		wait, _ := transport.RetryAfter(http.Header{"Retry-After": {value}}, time.Now())
		if wait < 0 || wait > transport.MaxRetryAfter {
			t.Errorf("%q gives %v", value, wait)
		}
	})
}

func FuzzClassify(f *testing.F) {
	f.Add(500, `{"code":400}`)
	f.Add(200, `<html>`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := transport.Classify(transport.Answer{
			Status: status, Body: []byte(body), Header: http.Header{"Content-Type": {"text/html"}},
		})
		if (e == nil) && (status < 200 || status > 299) {
			t.Errorf("%d delivers", status)
		}
		if e != nil && (e.Reason == "" || len(e.Answer) > transport.MaxAnswer || e.Error() == "") {
			t.Error(fmt.Sprint("an incomplete error ", e))
		}
	})
}
