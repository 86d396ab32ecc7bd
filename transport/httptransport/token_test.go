package httptransport_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

const secretKey = "cl13nt/s3cr3t"

// oauth2 is a sink's settings with a token endpoint.
func oauth2(sink, idp *transporttest.Sink, changes ...map[string]any) map[string]any {
	auth := map[string]any{
		"type": "oauth2", "clientId": "li:st", "clientSecret": secretKey, "tokenEndpoint": idp.URL() + "/token", "scope": "lineage",
	}
	return map[string]any{"url": sink.URL(), "auth": with(auth, changes...)}
}

func grant(body string) transporttest.Script {
	return transporttest.Always(transporttest.Reply{Status: 200, Body: body})
}

// numbered grants token-1, token-2 and so on.
func numbered(idp *transporttest.Sink, life string) transporttest.Script {
	return func(r transporttest.Request) transporttest.Reply {
		return transporttest.Reply{Status: 200, Body: fmt.Sprintf(`{"access_token":"token-%d"%s}`, r.N, life)}
	}
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *clock) option(o *httptransport.Options) { o.Now = c.now }

func newClock() *clock { return &clock{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func TestTokenRequests(t *testing.T) {
	t.Parallel()
	jwt := map[string]any{"type": "jwt", "scope": nil, "apiKey": secretKey}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("li%3Ast:cl13nt%2Fs3cr3t"))
	tests := []struct {
		name    string
		changes map[string]any
		form    url.Values
		basic   string
	}{
		{"oauth2", nil, url.Values{"grant_type": {"client_credentials"}, "scope": {"lineage"}}, basic},
		{
			"oauth2 in the form", map[string]any{"clientAuthMethod": "client_secret_post"},
			url.Values{"grant_type": {"client_credentials"}, "scope": {"lineage"}, "client_id": {"li:st"}, "client_secret": {secretKey}}, "",
		},
		{
			"jwt", jwt,
			url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "response_type": {"token"}, "apikey": {secretKey}}, "",
		},
		{
			"jwt with other types", with(jwt, map[string]any{"grantType": "g", "response_type": "r"}),
			url.Values{"grant_type": {"g"}, "response_type": {"r"}, "apikey": {secretKey}}, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink, idp := transporttest.NewSink(t), transporttest.NewSink(t)
			idp.Script(grant(`{"access_token":"t0ken","expires_in":3600}`))
			deliver(t, build(t, oauth2(sink, idp, tt.changes)))
			got := idp.Requests()[0]
			form, err := url.ParseQuery(string(got.Body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.form, form); diff != "" {
				t.Error(diff)
			}
			if got.Header.Get("Authorization") != tt.basic || got.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
				t.Errorf("%v", got.Header)
			}
			if got := sink.Taken()[0].Header.Get("Authorization"); got != "Bearer t0ken" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, newClock().at.Add(time.Hour).Unix()))
	selfDated := "h." + claims + ".s"
	tests := []struct {
		name, body string
		changes    map[string]any
		token      string
		lives      time.Duration // it is used for as long
	}{
		{"seconds", `{"access_token":"a","expires_in":3600}`, nil, "a", 58 * time.Minute},
		{"seconds as text", `{"access_token":"a","expires_in":"3600"}`, nil, "a", 58 * time.Minute},
		{"another case", `{"Access_Token":"a","Expires_In":3600}`, nil, "a", 58 * time.Minute},
		{"without underscores", `{"access_token":"a","expiresIn":3600}`, nil, "a", 58 * time.Minute},
		{"a field of one's own", `{"x":"a","y":3600}`, map[string]any{"tokenFields": "x", "expires_in_field": "y"}, "a", 58 * time.Minute},
		{"the first of several", `{"b":"second","a":"first","expires_in":3600}`, map[string]any{"token_fields": []any{"z", "a", "b"}}, "first", 58 * time.Minute},
		{"a buffer of one's own", `{"access_token":"a","expires_in":3600}`, map[string]any{"tokenRefreshBuffer": 600}, "a", 50 * time.Minute},
		{"the token's own claim", `{"access_token":"` + selfDated + `"}`, nil, selfDated, 58 * time.Minute},
		{"nothing said", `{"access_token":"a"}`, nil, "a", 150 * time.Second},
		{"a short life", `{"access_token":"a","expires_in":60}`, nil, "a", 30 * time.Second},
		{"an absurd life", `{"access_token":"a","expires_in":1e300}`, nil, "a", 29 * 24 * time.Hour},
		{"a life that is over", `{"access_token":"a","expires_in":-5}`, nil, "a", 150 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink, idp, c := transporttest.NewSink(t), transporttest.NewSink(t), newClock()
			idp.Script(grant(tt.body))
			tr := build(t, oauth2(sink, idp, tt.changes), c.option)
			deliver(t, tr)
			if got := sink.Taken()[0].Header.Get("Authorization"); got != "Bearer "+tt.token {
				t.Errorf("%q", got)
			}
			c.move(tt.lives - time.Second)
			deliver(t, tr)
			if n := len(idp.Requests()); n != 1 {
				t.Errorf("%d tokens before the end, want 1", n)
			}
			c.move(25 * time.Hour)
			deliver(t, tr)
			if n := len(idp.Requests()); n != 2 {
				t.Errorf("%d tokens after the end, want 2", n)
			}
		})
	}
}

func TestManyEventsFetchOneToken(t *testing.T) {
	t.Parallel()
	sink, idp := transporttest.NewSink(t), transporttest.NewSink(t)
	idp.Script(numbered(idp, `,"expires_in":3600`))
	tr := build(t, oauth2(sink, idp))
	var wg sync.WaitGroup
	for run := range 20 {
		wg.Go(func() {
			if err := tr.Emit(t.Context(), transporttest.Event(run, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(idp.Requests()); n != 1 {
		t.Errorf("%d tokens, want 1", n)
	}
}

func TestARevokedTokenIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	sink, idp := transporttest.NewSink(t), transporttest.NewSink(t)
	idp.Script(numbered(idp, `,"expires_in":3600`))
	tr := build(t, oauth2(sink, idp))
	deliver(t, tr)
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		if r.Header.Get("Authorization") == "Bearer token-1" {
			return transporttest.Status(401)
		}
		return transporttest.OK()
	})
	deliver(t, tr)
	if n := len(idp.Requests()); n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}
	sink.Script(transporttest.Always(transporttest.Reply{Status: 401, Body: "token-3?"}))
	before := len(sink.Requests())
	e := transporttest.RequireError(t, emit(t, tr))
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonAuth || strings.Contains(string(e.Answer)+e.Error(), "token-3") {
		t.Errorf("%v %q %q: %v", e.Outcome, e.Reason, e.Answer, e)
	}
	if n := len(sink.Requests()) - before; n != 2 {
		t.Errorf("%d requests with tokens that nobody wants, want 2", n)
	}
}

func TestTokenFailures(t *testing.T) {
	t.Parallel()
	echo := secretKey + " " + url.QueryEscape(secretKey) + " " +
		base64.StdEncoding.EncodeToString([]byte("li%3Ast:cl13nt%2Fs3cr3t"))
	tests := []struct {
		name    string
		reply   transporttest.Reply
		outcome transport.Outcome
		reason  string
		after   time.Duration
	}{
		{"wrong credentials", transporttest.Reply{Status: 401, Body: echo}, transport.Hold, transport.ReasonAuth, 0},
		{"a bad request", transporttest.Reply{Status: 400, Body: `{"error":"invalid_client"}` + echo}, transport.Hold, transport.ReasonAuth, 0},
		{"the wrong address", transporttest.Reply{Status: 404, Body: echo}, transport.Hold, transport.ReasonAuth, 0},
		{"a redirect", transporttest.Reply{Status: 307, Header: map[string]string{"Location": "/x"}}, transport.Hold, transport.ReasonAuth, 0},
		{"in trouble", transporttest.Reply{Status: 503, Body: echo}, transport.Retry, "status-503", 0},
		{"too much", transporttest.After(429, "30"), transport.Retry, "status-429", 30 * time.Second},
		{"no JSON", transporttest.Reply{Status: 200, Body: "<html>" + echo}, transport.Hold, transport.ReasonAuth, 0},
		{"no token", transporttest.Reply{Status: 200, Body: `{"x":"` + echo + `"}`}, transport.Hold, transport.ReasonAuth, 0},
		{"no text for a token", transporttest.Reply{Status: 200, Body: `{"access_token":5}`}, transport.Hold, transport.ReasonAuth, 0},
		{"a token of two lines", transporttest.Reply{Status: 200, Body: `{"access_token":"a\nb"}`}, transport.Hold, transport.ReasonAuth, 0},
		{"cut off", transporttest.Reply{Status: 200, Fault: transporttest.CutBody}, transport.Retry, transport.ReasonConnection, 0},
		{"reset", transporttest.Break(transporttest.ResetBefore), transport.Retry, transport.ReasonConnection, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink, idp := transporttest.NewSink(t), transporttest.NewSink(t)
			idp.Script(transporttest.Always(tt.reply))
			err := emit(t, build(t, oauth2(sink, idp)))
			e := transporttest.RequireError(t, err)
			if e.Outcome != tt.outcome || e.Reason != tt.reason || e.RetryAfter != tt.after || e.Status != 0 {
				t.Errorf("%v %q %v %d: %v", e.Outcome, e.Reason, e.RetryAfter, e.Status, err)
			}
			if !strings.HasPrefix(err.Error(), "token endpoint "+idp.URL()+"/token") {
				t.Errorf("it is not said where: %v", err)
			}
			for secret := range strings.FieldsSeq(echo) {
				if strings.Contains(err.Error()+string(e.Answer), secret) {
					t.Errorf("%q is in %q or %q", secret, err, e.Answer)
				}
			}
			if n := len(sink.Requests()); n > 0 {
				t.Errorf("%d events without a token", n)
			}
			if tt.reply.Status == 307 && len(idp.Requests()) > 1 {
				t.Error("the secret followed a redirect")
			}
		})
	}
}

func TestTheTokenEndpointsOwnUser(t *testing.T) {
	t.Parallel()
	sink, idp := transporttest.NewSink(t), transporttest.NewSink(t)
	idp.Script(transporttest.Always(transporttest.Reply{Status: 401, Body: "not idp-password"}))
	endpoint := strings.Replace(idp.URL(), "http://", "http://u:idp-password@", 1)
	tr := build(t, map[string]any{"url": sink.URL(), "auth": map[string]any{"type": "jwt", "apiKey": "abcdef", "tokenEndpoint": endpoint}})
	err := emit(t, tr)
	if strings.Contains(err.Error(), "idp-password") {
		t.Error(err)
	}
	r := http.Request{Header: idp.Requests()[0].Header}
	if user, password, _ := r.BasicAuth(); user != "u" || password != "idp-password" {
		t.Errorf("%q %q", user, password)
	}
}

func TestWhoWaitsForATokenCanGiveUp(t *testing.T) {
	t.Parallel()
	sink, idp := transporttest.NewSink(t), transporttest.NewSink(t)
	idp.Script(transporttest.Always(transporttest.Break(transporttest.Hang)))
	tr := build(t, oauth2(sink, idp))
	first, stopFirst := withCause(t)
	second, stopSecond := withCause(t)
	done := make(chan error)
	go func() { done <- tr.Emit(first, transporttest.Event(1, 0)) }()
	idp.Wait(t, "the token's request", func() bool { return len(idp.Requests()) == 1 })
	stopSecond(errStopping)
	e := transporttest.RequireError(t, tr.Emit(second, transporttest.Event(2, 0)))
	if e.Outcome != transport.Retry {
		t.Errorf("%v", e.Outcome)
	}
	stopFirst(errStopping)
	if e := transporttest.RequireError(t, <-done); e.Reason != transport.ReasonCancelled {
		t.Errorf("%q", e.Reason)
	}
}

func TestASecretFileOfOAuth2(t *testing.T) {
	t.Parallel()
	sink, idp := transporttest.NewSink(t), transporttest.NewSink(t)
	idp.Script(grant(`{"access_token":"t0ken"}`))
	file := filepath.Join(t.TempDir(), "secret")
	write(t, file, "from-file\n")
	deliver(t, build(t, oauth2(sink, idp, map[string]any{"clientSecret": nil, "client_secret_file": file, "clientAuthMethod": "client_secret_post"})))
	if got := string(idp.Requests()[0].Body); !strings.Contains(got, "client_secret=from-file") || strings.Contains(got, "%0A") {
		t.Error(got)
	}
}
