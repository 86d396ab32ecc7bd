package gcplineage_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// key makes a private key as it stands in a service account's file.
var key = sync.OnceValue(func() string {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

type m = map[string]any

func serviceAccount(endpoint string) m {
	return m{
		"type": "service_account", "project_id": "demo", "private_key_id": "1", "private_key": key(),
		"client_email": "listener@demo.iam.gserviceaccount.com", "client_id": "1", "token_uri": endpoint + "/token",
	}
}

// workload is a file of workload identity federation, with a token of somebody else's in a file beside it.
func workload(dir, endpoint string) m {
	subject := filepath.Join(dir, "subject")
	if err := os.WriteFile(subject, []byte("subject-t0ken"), 0o600); err != nil {
		panic(err)
	}
	return m{
		"type": "external_account", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": endpoint + "/sts",
		"audience":          "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p",
		"credential_source": m{"file": subject},
	}
}

// google is a sink that answers for the token endpoints too.
func google(tb testing.TB, scripts map[string]transporttest.Script) *transporttest.Sink {
	tb.Helper()
	sink := transporttest.NewSink(tb)
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		if script, ok := scripts[r.URL.Path]; ok {
			return script(r)
		}
		switch {
		case r.URL.Path == "/token", r.URL.Path == "/sts":
			return transporttest.Reply{
				Status: 200, Header: map[string]string{"Content-Type": "application/json"},
				Body: `{"access_token":"t0ken","token_type":"Bearer","expires_in":3600,"issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}`,
			}
		case strings.HasSuffix(r.URL.Path, ":generateAccessToken"):
			until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			return transporttest.Reply{
				Status: 200, Header: map[string]string{"Content-Type": "application/json"},
				Body: fmt.Sprintf(`{"accessToken":"impersonated","expireTime":%q}`, until),
			}
		default:
			return transporttest.OK()
		}
	})
	return sink
}

func write(tb testing.TB, path string, content any) {
	tb.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func paths(sink *transporttest.Sink) []string {
	var all []string
	for _, r := range sink.Requests() {
		all = append(all, r.URL.Path+" "+r.Header.Get("Authorization"))
	}
	return all
}

const sent = "/v1/projects/demo/locations/us-central1:processOpenLineageRunEvent Bearer "

// Tokens come from a service account's key, and by workload identity federation with and without impersonation.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		file func(dir, endpoint string) m
		want []string
	}{
		{"service account", func(_, endpoint string) m { return serviceAccount(endpoint) }, []string{"/token ", sent + "t0ken"}},
		{"workload identity", workload, []string{"/sts ", sent + "t0ken"}},
		{"workload identity that impersonates", func(dir, endpoint string) m {
			f := workload(dir, endpoint)
			f["service_account_impersonation_url"] = endpoint + "/v1/projects/-/serviceAccounts/listener@demo.iam.gserviceaccount.com:generateAccessToken"
			return f
		}, []string{
			"/sts ", "/v1/projects/-/serviceAccounts/listener@demo.iam.gserviceaccount.com:generateAccessToken Bearer t0ken", sent + "impersonated",
		}},
		{"impersonated service account", func(_, endpoint string) m {
			return m{
				"type": "impersonated_service_account", "source_credentials": serviceAccount(endpoint),
				"service_account_impersonation_url": endpoint + "/v1/projects/-/serviceAccounts/other@demo.iam.gserviceaccount.com:generateAccessToken",
			}
		}, []string{
			"/token ", "/v1/projects/-/serviceAccounts/other@demo.iam.gserviceaccount.com:generateAccessToken Bearer t0ken", sent + "impersonated",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink, dir := google(t, nil), t.TempDir()
			path := filepath.Join(dir, "credentials.json")
			write(t, path, tt.file(dir, sink.URL()))
			tr := to(t, sink, m{"credentials_path": path}, nil)
			for n := range 3 {
				if err := tr.Emit(t.Context(), transporttest.Event(n, 0)); err != nil {
					t.Fatal(err)
				}
			}
			last := tt.want[len(tt.want)-1]
			if diff := cmp.Diff(append(tt.want, last, last), paths(sink)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The assertion is a JWT of the service account for the token endpoint, with the one scope.
func TestAssertion(t *testing.T) {
	t.Parallel()
	sink, path := google(t, nil), filepath.Join(t.TempDir(), "credentials.json")
	write(t, path, serviceAccount(sink.URL()))
	if err := to(t, sink, m{"credentials_path": path}, nil).Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	form, err := url.ParseQuery(string(sink.Requests()[0].Body))
	if err != nil {
		t.Fatal(err)
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(form.Get("assertion"), ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Iss, Aud, Scope string }
	if err := json.Unmarshal(claims, &got); err != nil {
		t.Fatal(err)
	}
	want := struct{ Iss, Aud, Scope string }{
		"listener@demo.iam.gserviceaccount.com", sink.URL() + "/token", "https://www.googleapis.com/auth/cloud-platform",
	}
	if got != want {
		t.Errorf("%+v", got)
	}
}

// Trouble on the way to a token is sorted as trouble on the way to the API is: none is an event's fault.
func TestNoToken(t *testing.T) {
	t.Parallel()
	gone := transporttest.NewSink(t)
	gone.Close()
	refuse := func(path string, reply transporttest.Reply) *transporttest.Sink {
		return google(t, map[string]transporttest.Script{path: transporttest.Always(reply)})
	}
	grant := refuse("/token", transporttest.Reply{Status: 400, Body: `{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token"}`})
	busy := refuse("/token", transporttest.Reply{Status: 503, Body: "busy", Header: map[string]string{"Retry-After": "7"}})
	denied := refuse("/sts", transporttest.Reply{Status: 403, Body: `{"error":"unauthorized_client","error_description":"The given credential is rejected by the attribute condition."}`})
	page := refuse("/token", transporttest.Reply{Status: 200, Body: "<!doctype html><title>Log in</title>"})
	dir := t.TempDir()
	unreadable := workload(dir, denied.URL())
	unreadable["credential_source"] = m{"file": filepath.Join(dir, "nowhere")}
	for _, tt := range []struct {
		name    string
		file    any
		outcome transport.Outcome
		reason  string
		text    string
	}{
		{"a revoked key", serviceAccount(grant.URL()), transport.Hold, "auth", grant.URL() + "/token answered 400 Bad Request: {\"error\":\"invalid_grant\""},
		{"a web page in place of the endpoint", serviceAccount(page.URL()), transport.Hold, "auth", "getting a token: what " + page.URL() + "/token answered is none: "},
		{"the endpoint is busy", serviceAccount(busy.URL()), transport.Retry, "status-503", busy.URL() + "/token answered 503"},
		{"the endpoint is away", serviceAccount(gone.URL()), transport.Retry, "connection", "getting a token from " + gone.URL() + "/token: dial tcp"},
		{"federation refuses", workload(dir, denied.URL()), transport.Hold, "auth", "rejected by the attribute condition"},
		{"federation is away", workload(dir, gone.URL()), transport.Retry, "connection", gone.URL() + "/sts"},
		{"no token to trade", unreadable, transport.Hold, "auth", "nowhere"},
		{"no JSON", "x", transport.Hold, "auth", "is no credentials file"},
		{"no type", m{"client_email": "x"}, transport.Hold, "auth", "it has no type"},
		{"another type", m{"type": "carrier_pigeon"}, transport.Hold, "auth", "carrier_pigeon"},
		{"a key that is none", m{"type": "service_account", "private_key": "none-at-all", "client_email": "x", "token_uri": gone.URL()}, transport.Hold, "auth", "getting a token"},
		{"another cloud", m{"type": "service_account", "universe_domain": "cloud.example"}, transport.Hold, "auth", "is for cloud.example, and the settings are for googleapis.com: set universe_domain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink, path := google(t, nil), filepath.Join(t.TempDir(), "credentials.json")
			write(t, path, tt.file)
			e := transporttest.RequireError(t, to(t, sink, m{"credentials_path": path}, nil).Emit(t.Context(), transporttest.Event(1, 0)))
			if e.Outcome != tt.outcome || e.Reason != tt.reason || e.Status != 0 || !strings.Contains(e.Error(), tt.text) {
				t.Errorf("%v %s, status %d: %v\nwant %v %s: %s", e.Outcome, e.Reason, e.Status, e, tt.outcome, tt.reason, tt.text)
			}
			if tt.outcome == transport.Retry && tt.reason == "status-503" && e.RetryAfter != 7*time.Second {
				t.Errorf("to be tried after %v", e.RetryAfter)
			}
			if strings.Contains(e.Error()+string(e.Answer), "PRIVATE KEY") || strings.Contains(e.Error(), "subject-t0ken") {
				t.Errorf("a secret got out: %v", e)
			}
			if n := len(sink.Requests()); n != 0 {
				t.Errorf("%d requests without a token", n)
			}
		})
	}
}

// An endpoint that echoes what it was sent shows no secret.
func TestEchoedSecrets(t *testing.T) {
	t.Parallel()
	var sentForm string
	sink := google(t, map[string]transporttest.Script{"/sts": func(r transporttest.Request) transporttest.Reply {
		sentForm = string(r.Body)
		return transporttest.Reply{Status: 400, Body: "no: " + sentForm}
	}})
	dir := t.TempDir()
	path := filepath.Join(dir, "credentials.json")
	write(t, path, workload(dir, sink.URL()))
	e := transporttest.RequireError(t, to(t, sink, m{"credentials_path": path}, nil).Emit(t.Context(), transporttest.Event(1, 0)))
	if !strings.Contains(sentForm, "subject-t0ken") || strings.Contains(e.Error()+string(e.Answer), "subject-t0ken") {
		t.Errorf("sent %s, said %v", sentForm, e)
	}
}

// A file that is exchanged is read when the next token is needed, and at once where the old one's is refused.
func TestExchangedFile(t *testing.T) {
	t.Parallel()
	old := google(t, nil)
	sink := google(t, map[string]transporttest.Script{"/v1/projects/demo/locations/us-central1:processOpenLineageRunEvent": func(r transporttest.Request) transporttest.Reply {
		if r.Header.Get("Authorization") == "Bearer new" {
			return transporttest.OK()
		}
		return transporttest.Reply{Status: http.StatusUnauthorized, Body: said("UNAUTHENTICATED", "expired")}
	}, "/token": transporttest.Always(transporttest.Reply{
		Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"access_token":"new","expires_in":3600}`,
	})})
	path := filepath.Join(t.TempDir(), "credentials.json")
	write(t, path, serviceAccount(old.URL()))
	tr := to(t, sink, m{"credentials_path": path}, nil)
	if e := transporttest.RequireError(t, tr.Emit(t.Context(), transporttest.Event(1, 0))); e.Outcome != transport.Hold || e.Reason != "auth" {
		t.Fatalf("%v", e)
	}
	write(t, path, serviceAccount(sink.URL()))
	if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Error(err)
	}
}

// A token endpoint that hangs ends with the caller.
func TestHangingTokenEndpoint(t *testing.T) {
	t.Parallel()
	sink := google(t, map[string]transporttest.Script{"/token": transporttest.Always(transporttest.Break(transporttest.Hang))})
	path := filepath.Join(t.TempDir(), "credentials.json")
	write(t, path, serviceAccount(sink.URL()))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	e := transporttest.RequireError(t, to(t, sink, m{"credentials_path": path}, nil).Emit(ctx, transporttest.Event(1, 0)))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled || time.Since(began) > 5*time.Second {
		t.Errorf("%v %s after %v", e.Outcome, e.Reason, time.Since(began))
	}
}

// Many events at once fetch one token.
func TestOneTokenForMany(t *testing.T) {
	t.Parallel()
	sink, path := google(t, nil), filepath.Join(t.TempDir(), "credentials.json")
	write(t, path, serviceAccount(sink.URL()))
	tr := to(t, sink, m{"credentials_path": path}, nil)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			if err := tr.Emit(t.Context(), transporttest.Event(n, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	fetched := 0
	for _, path := range paths(sink) {
		if path == "/token " {
			fetched++
		}
	}
	if fetched != 1 {
		t.Errorf("%d tokens", fetched)
	}
}
