package transporttest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
)

// Target is what a transport over HTTP is made with.
type Target struct {
	URL     string        // perhaps with user and password
	Timeout time.Duration // for connecting and for the answer, each
	APIKey  string        // "": none
	Headers map[string]string
}

// HTTPSubject makes a transport that posts to a target, with the retry settings' defaults.
type HTTPSubject func(tb testing.TB, target Target) transport.Transport

// HTTPTraits are in what a kind differs from plain HTTP.
type HTTPTraits struct {
	// Undo changes back what the kind changes of a body on its way; nil: nothing.
	Undo func(body []byte) []byte
	// NoPassword: the kind's address has no user and password.
	NoPassword bool
}

// RunHTTP checks what holds for every kind that is HTTP underneath, Run's part included.
func RunHTTP(t *testing.T, subject HTTPSubject) {
	t.Helper()
	RunHTTPWith(t, HTTPTraits{}, subject)
}

// RunHTTPWith is RunHTTP for a kind that differs.
func RunHTTPWith(t *testing.T, traits HTTPTraits, subject HTTPSubject) {
	t.Helper()
	Run(t, func(tb testing.TB) (transport.Transport, func() [][]byte) {
		sink := NewSink(tb)
		return subject(tb, plain(sink)), func() [][]byte {
			var bodies [][]byte
			for _, r := range sink.Taken() {
				body := r.Body
				if traits.Undo != nil {
					body = traits.Undo(body)
				}
				bodies = append(bodies, body)
			}
			return bodies
		}
	})
	t.Run("every status has its outcome", func(t *testing.T) { runStatuses(t, subject) })
	t.Run("bodies that blame the event", func(t *testing.T) { runBlame(t, subject) })
	t.Run("Retry-After is honoured and capped", func(t *testing.T) { runRetryAfter(t, subject) })
	t.Run("faults of the connection", func(t *testing.T) { runFaults(t, subject) })
	t.Run("nobody listens", func(t *testing.T) { runNobody(t, subject) })
	t.Run("a hanging consumer", func(t *testing.T) { runHang(t, subject) })
	t.Run("no secret gets out", func(t *testing.T) { runSecrets(t, subject, !traits.NoPassword) })
	t.Run("repeats look the same", func(t *testing.T) { runRepeats(t, subject) })
}

func plain(sink *Sink) Target { return Target{URL: sink.URL(), Timeout: 5 * time.Second} }

// outcomes is the contract's table. 0 stands for delivered.
const (
	delivered = iota
	retry
	hold
	permanent
)

// Statuses returns each status with what has to become of an event that is answered so: nil for delivered.
func Statuses() map[int]*transport.Outcome {
	table := map[int][]int{
		delivered: {200, 201, 202, 203, 204, 205, 206, 207},
		retry: {
			408, 421, 423, 424, 425, 429, 499, 500, 502, 503, 504, 506, 507, 508, 510,
			520, 521, 522, 523, 524, 525, 526, 599, 700,
		},
		hold: {
			300, 301, 302, 303, 304, 305, 307, 308,
			401, 402, 403, 404, 405, 406, 407, 410, 411, 414, 417, 426, 428, 431, 451, 501, 505, 511,
		},
		permanent: {400, 409, 412, 413, 415, 416, 418, 422, 444},
	}
	statuses := map[int]*transport.Outcome{}
	for class, codes := range table {
		for _, code := range codes {
			statuses[code] = nil
			if class != delivered {
				outcome := []transport.Outcome{retry: transport.Retry, hold: transport.Hold, permanent: transport.Permanent}[class]
				statuses[code] = &outcome
			}
		}
	}
	return statuses
}

func runStatuses(t *testing.T, subject HTTPSubject) {
	sink := NewSink(t)
	tr := subject(t, plain(sink))
	defer closed(t, tr)
	for status, want := range Statuses() {
		reply := Reply{Status: status}
		if status != 204 && status != 304 && status != 205 {
			reply.Body = fmt.Sprintf("this is %d", status)
		}
		sink.Script(Always(reply))
		err := tr.Emit(t.Context(), Event(status, 0))
		if want == nil {
			if err != nil {
				t.Errorf("%d: %v, want it delivered", status, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%d: delivered, want %v", status, *want)
			continue
		}
		e := RequireError(t, err)
		if e.Outcome != *want || e.Status != status || string(e.Answer) != reply.Body {
			t.Errorf("%d: %v, status %d, answer %q; want %v and the answer", status, e.Outcome, e.Status, e.Answer, *want)
		}
	}
}

func runBlame(t *testing.T, subject HTTPSubject) {
	sink := NewSink(t)
	tr := subject(t, plain(sink))
	defer closed(t, tr)
	tests := []struct {
		name  string
		reply Reply
		want  transport.Outcome
	}{
		{"Marquez can't parse it", Reply{Status: 500, Body: `{"code":400,"message":"Unexpected end-of-input"}`}, transport.Permanent},
		{"Marquez itself failed", Reply{Status: 500, Body: `{"code":500,"message":"There was an error"}`}, transport.Retry},
		{"400 inside the message", Reply{Status: 500, Body: `{"code":500,"message":"\"code\":400"}`}, transport.Retry},
		{"an error page", Reply{Status: 500, Body: `<html>index row size exceeds</html>`}, transport.Retry},
		{"DataHub knows no orchestrator", Reply{Status: 500, Body: `java.lang.RuntimeException: Unable to determine orchestrator: x`}, transport.Permanent},
		{
			"a login page", Reply{
				Status: 200, Body: "\n<!DOCTYPE html><html><body>Sign in", Header: map[string]string{"Content-Type": "text/html; charset=utf-8"},
			}, transport.Hold,
		},
	}
	for _, tt := range tests {
		sink.Script(Always(tt.reply))
		if e := RequireError(t, tr.Emit(t.Context(), Event(1, 0))); e.Outcome != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, e.Outcome, tt.want)
		}
	}
	long := strings.Repeat("0123456789", 100_000)
	sink.Script(Always(Reply{Status: 422, Body: long}))
	if e := RequireError(t, tr.Emit(t.Context(), Event(1, 0))); string(e.Answer) != long[:transport.MaxAnswer] {
		t.Errorf("of a long answer %d bytes are kept, want the first %d", len(e.Answer), transport.MaxAnswer)
	}
}

func runRetryAfter(t *testing.T, subject HTTPSubject) {
	sink := NewSink(t)
	tr := subject(t, plain(sink))
	defer closed(t, tr)
	const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"
	tests := []struct {
		name, value string
		least, most time.Duration
	}{
		{"seconds", "120", 120 * time.Second, 120 * time.Second},
		{"a day", "86400", transport.MaxRetryAfter, transport.MaxRetryAfter},
		{"more than fits", "99999999999999999999999", transport.MaxRetryAfter, transport.MaxRetryAfter},
		{"a date", time.Now().UTC().Add(5 * time.Minute).Format(httpDate), 4 * time.Minute, 6 * time.Minute},
		{"a date in the past", time.Now().UTC().Add(-time.Hour).Format(httpDate), 0, 0},
		{"a date in a century", "Fri, 31 Dec 2126 23:59:59 GMT", transport.MaxRetryAfter, transport.MaxRetryAfter},
		{"negative", "-5", 0, 0},
		{"nonsense", "soon", 0, 0},
	}
	for _, tt := range tests {
		for _, status := range []int{429, 503} {
			sink.Script(Always(After(status, tt.value)))
			before := len(sink.Requests())
			e := RequireError(t, tr.Emit(t.Context(), Event(1, 0)))
			if e.Outcome != transport.Retry || e.RetryAfter < tt.least || e.RetryAfter > tt.most {
				t.Errorf("%d, %s: %v after %v, want retry after %v to %v", status, tt.name, e.Outcome, e.RetryAfter, tt.least, tt.most)
			}
			if n := len(sink.Requests()) - before; n != 1 {
				t.Errorf("%d, %s: asked to wait and was sent %d requests", status, tt.name, n)
			}
		}
	}
}

func runFaults(t *testing.T, subject HTTPSubject) {
	tests := []struct {
		name      string
		reply     Reply
		delivered bool
	}{
		{"reset before the event is taken", Break(ResetBefore), false},
		{"reset after the event was taken", Break(ResetAfter), false},
		{"cut off in the status line", Break(CutHead), false},
		{"cut off in the answer's body", Break(CutBody), true},
		{"an answer without an end", Break(Endless), true},
		{"a refusal that is cut off", Reply{Status: 422, Fault: CutBody}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := NewSink(t)
			tr := subject(t, plain(sink))
			defer closed(t, tr)
			sink.Script(Always(tt.reply))
			err := tr.Emit(t.Context(), Event(1, 0))
			if tt.delivered != (err == nil) {
				t.Fatalf("got %v, want delivered: %v", err, tt.delivered)
			}
			if n := len(sink.Requests()); n > 2 {
				t.Errorf("%d requests in one Emit, want at most 2", n)
			}
			sink.Script(nil)
			if err := tr.Emit(t.Context(), Event(1, 0)); err != nil {
				t.Errorf("after the fault: %v", err)
			}
			if tt.delivered {
				return
			}
			want := transport.Retry
			if tt.reply.Status == 422 {
				want = transport.Permanent
			}
			if e := RequireError(t, err); e.Outcome != want {
				t.Errorf("got %v, want %v", e.Outcome, want)
			}
		})
	}
}

func runNobody(t *testing.T, subject HTTPSubject) {
	sink := NewSink(t)
	target := plain(sink)
	sink.Close()
	tr := subject(t, target)
	defer closed(t, tr)
	e := RequireError(t, tr.Emit(t.Context(), Event(1, 0)))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonConnection || e.Status != 0 {
		t.Errorf("got %v %q %d, want retry and connection", e.Outcome, e.Reason, e.Status)
	}
	target.URL = "http://no-such-host.invalid:5000"
	unknown := subject(t, target)
	defer closed(t, unknown)
	if e := RequireError(t, unknown.Emit(t.Context(), Event(1, 0))); e.Outcome != transport.Retry {
		t.Errorf("an unknown host: %v, want retry", e.Outcome)
	}
}

func runHang(t *testing.T, subject HTTPSubject) {
	sink := NewSink(t)
	sink.Script(Always(Break(Hang)))
	target := plain(sink)
	target.Timeout = 200 * time.Millisecond
	tr := subject(t, target)
	defer closed(t, tr)
	within(t, 3*time.Second, func() {
		e := RequireError(t, tr.Emit(t.Context(), Event(1, 0)))
		if e.Outcome != transport.Retry || e.Reason != transport.ReasonTimeout {
			t.Errorf("got %v %q, want retry and timeout", e.Outcome, e.Reason)
		}
	})
	patient := subject(t, plain(sink))
	defer closed(t, patient)
	ctx, cancel := context.WithCancel(t.Context())
	before := len(sink.Requests())
	time.AfterFunc(50*time.Millisecond, cancel)
	within(t, 3*time.Second, func() {
		e := RequireError(t, patient.Emit(ctx, Event(1, 0)))
		if e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled {
			t.Errorf("cancelled: got %v %q, want retry and cancelled", e.Outcome, e.Reason)
		}
	})
	if n := len(sink.Requests()) - before; n > 1 {
		t.Errorf("%d requests after the caller gave up", n)
	}
}

// runSecrets has a consumer echo everything that it is sent, as debugging proxies do.
func runSecrets(t *testing.T, subject HTTPSubject, withPassword bool) {
	const password, key, header = "pa55/w0rd+ü", "sk-live-4242", "hdr-s3cr3t-1"
	secrets := []string{password, url.QueryEscape(password), url.PathEscape(password), key, header, "dXNlcjpwYTU1"}
	sink := NewSink(t)
	target := plain(sink)
	if withPassword {
		target.URL = strings.Replace(target.URL, "http://", "http://user:"+url.QueryEscape(password)+"@", 1)
	}
	target.APIKey = key
	target.Headers = map[string]string{"X-Api-Token": header}
	gone := NewSink(t)
	gone.Close()
	refused := target
	refused.URL = strings.Replace(target.URL, sink.URL()[len("http://"):], gone.URL()[len("http://"):], 1)
	for name, to := range map[string]Target{"answers": target, "connections": refused} {
		tr := subject(t, to)
		defer closed(t, tr)
		for _, status := range []int{301, 302, 401, 404, 422, 500, 503} {
			sink.Script(func(r Request) Reply {
				echo := fmt.Sprintf("%v %s", r.Header, key)
				if withPassword {
					echo += " " + password + " " + url.QueryEscape(password)
				}
				return Reply{Status: status, Body: echo, Header: map[string]string{
					"Location": "http://u:" + url.QueryEscape(password) + "@elsewhere.invalid/?key=" + key,
				}}
			})
			err := tr.Emit(t.Context(), Event(1, 0))
			e := RequireError(t, err)
			for _, secret := range secrets {
				if strings.Contains(err.Error(), secret) || strings.Contains(string(e.Answer), secret) {
					t.Errorf("%s, %d: %q is in the error %q or the answer %q", name, status, secret, err, e.Answer)
				}
			}
		}
	}
}

// runRepeats: whoever drops copies has to recognise them.
func runRepeats(t *testing.T, subject HTTPSubject) {
	sink := NewSink(t)
	tr := subject(t, plain(sink))
	defer closed(t, tr)
	for range 2 {
		if err := tr.Emit(t.Context(), Event(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	got := sink.Taken()
	if len(got) != 2 {
		t.Fatalf("%d came, want 2", len(got))
	}
	first, second := got[0].Header.Clone(), got[1].Header.Clone()
	if fmt.Sprint(first) != fmt.Sprint(second) || string(got[0].Raw) != string(got[1].Raw) {
		t.Errorf("copies differ: %v %v", first, second)
	}
	if got[0].Header.Get("Content-Length") == "" && got[0].Header.Get("Transfer-Encoding") != "" {
		t.Error("the body came in chunks, without its length")
	}
	key := Event(1, 0).Key
	found := false
	for _, values := range first {
		found = found || (len(values) == 1 && values[0] == key)
	}
	if !found {
		t.Errorf("no header holds the event's key: %v", first)
	}
}
