package rest_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*rest.Config)
		header string
		want   string
	}{
		"token":         {func(c *rest.Config) { c.Token = "tok" }, "Authorization", "Bearer tok"},
		"system client": {func(c *rest.Config) { c.SystemClientID, c.SystemClientSecret = "id", "secret" }, "Authorization", "Basic id:secret"},
		"both": {func(c *rest.Config) {
			c.Token, c.SystemClientID, c.SystemClientSecret = "tok", "id", "secret"
		}, "Authorization", "Bearer tok"},
		"in the url": {func(c *rest.Config) {
			c.Server = strings.Replace(c.Server, "://", "://u:p@", 1)
		}, "Authorization", "Basic dTpw"},
		"extra": {func(c *rest.Config) {
			c.Token, c.Headers = "tok", map[string]string{"authorization": "Custom x"}
		}, "Authorization", "Custom x"},
		"client": {func(c *rest.Config) {
			c.Client, c.ClientVersion, c.ClientMode = "prog", "1.2", "cli"
		}, "User-Agent", "DataHub-Client/1.0 (cli; prog; 1.2) Go-http-client"},
		"nobody":                {func(*rest.Config) {}, "User-Agent", "DataHub-Client/1.0 (sdk; prefect-openlineage-listener; unknown) Go-http-client"},
		"no key of ours":        {func(*rest.Config) {}, "Idempotency-Key", ""},
		"no claim to be Python": {func(*rest.Config) {}, "X-DataHub-Py-Cli-Version", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, nil)
			e, _ := newEmitter(t, g.URL, c.change)
			if _, err := e.Emit(t.Context(), proposal(t, 1)); err != nil {
				t.Fatal(err)
			}
			if got := g.requests()[0].header.Get(c.header); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheHostHeader(t *testing.T) {
	t.Parallel()
	var host string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { host = r.Host }))
	defer server.Close()
	e, _ := newEmitter(t, server.URL, func(c *rest.Config) { c.Headers = map[string]string{"host": "gms.internal"} })
	if _, err := e.Emit(t.Context(), proposal(t, 1)); err != nil || host != "gms.internal" {
		t.Errorf("got %q, %v", host, err)
	}
}

// TestNoSecretIsTold has a server that echoes what it was sent, in all it says.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 302, 400, 401, 503} {
		g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
			echo := fmt.Sprintf("%s %s", r.header.Get("Authorization"), r.header.Get("X-Api-Key"))
			if status == 200 {
				says(status, page+echo)(w, r)
				return
			}
			says(status, fmt.Sprintf(`{"message":%q}`, echo), "Location", "http://x/"+r.header.Get("X-Api-Key"))(w, r)
		})
		e, _ := newEmitter(t, strings.Replace(g.URL, "://", "://user:pass-secret@", 1), func(c *rest.Config) {
			c.Token, c.Headers = "tok-secret", map[string]string{"X-Api-Key": "key-secret"}
			c.Observe = func(a rest.Attempt) {
				if strings.Contains(fmt.Sprintf("%+v", a), "secret") {
					t.Errorf("an attempt tells: %+v", a)
				}
			}
		})
		_, err := e.Emit(t.Context(), proposal(t, 1))
		problem, ok := errors.AsType[*rest.Error](err)
		if !ok || strings.Contains(fmt.Sprintf("%+v %s %s", *problem, problem.Body, err)+e.Server(), "secret") {
			t.Errorf("%d: got %v, %s", status, err, problem.Body)
		}
	}
}

// rotating is a source whose token is new after it was refused.
type rotating struct {
	mu      sync.Mutex
	n       int
	refused []string
}

func (r *rotating) Token(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("token-%d", r.n), nil
}

func (r *rotating) Refused(token string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, token)
	r.n++
	return true
}

func TestATokenThatExpired(t *testing.T) {
	t.Parallel()
	g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
		if r.header.Get("Authorization") != "Bearer token-1" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	source := &rotating{}
	e, clock := newEmitter(t, g.URL, func(c *rest.Config) { c.TokenSource = source })
	if _, err := e.Emit(t.Context(), proposal(t, 1)); err != nil || len(clock.Slept()) != 0 {
		t.Errorf("got %v", err)
	}
	source.n = 5
	if _, err := e.Emit(t.Context(), proposal(t, 1)); err == nil || source.n != 6 {
		t.Errorf("a token that stays refused: %v after %v", err, source.refused)
	}
}

type broken struct{}

func (broken) Token(context.Context) (string, error) { return "", errors.New("no key file") }

func TestATokenThatIsNotToBeHad(t *testing.T) {
	t.Parallel()
	g := newGMS(t, nil)
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.TokenSource = broken{} })
	r, err := e.Emit(t.Context(), proposal(t, 1))
	if err == nil || !strings.Contains(err.Error(), "getting the token: no key file") || len(g.requests()) != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestASilentServer takes the connection, begins an answer or none, and goes silent; a slow one that moves is waited for.
func TestASilentServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer answer
		ok     bool
	}{
		"says nothing": {func(w http.ResponseWriter, _ sentRequest) { time.Sleep(3 * time.Second) }, false},
		"stops in its answer": {func(w http.ResponseWriter, _ sentRequest) {
			fmt.Fprint(w, "{")
			w.(http.Flusher).Flush()
			time.Sleep(3 * time.Second)
		}, false},
		"is slow": {func(w http.ResponseWriter, _ sentRequest) {
			for range 5 {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(200 * time.Millisecond)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, c.answer)
			e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.ReadTimeout, c.Retry.Max, c.Now = 800*time.Millisecond, -1, nil })
			r, err := e.Emit(t.Context(), proposal(t, 1))
			if c.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			timeout, ok := errors.AsType[net.Error](err)
			if !ok || !timeout.Timeout() || r.State != rest.Unknown || !strings.Contains(err.Error(), "did not move for 800ms") {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

// TestTheDeadlineIsNotSleptOver has a server that would be tried again after the context's end.
func TestTheDeadlineIsNotSleptOver(t *testing.T) {
	t.Parallel()
	g := newGMS(t, says(503, `{"message":"later"}`))
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Now, c.Sleep = nil, nil })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	started := time.Now()
	_, err := e.Emit(ctx, proposal(t, 1))
	problem, ok := errors.AsType[*rest.Error](err)
	if !ok || problem.Attempts != 2 || problem.Message != "later" || time.Since(started) > 2*time.Second {
		t.Errorf("got %v after %s", err, time.Since(started))
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := clientCertificate(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) != 1 {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	writePEM(t, ca, "CERTIFICATE", server.Certificate().Raw)
	for name, c := range map[string]struct {
		tls rest.TLS
		ok  bool
	}{
		"trusted":        {rest.TLS{CA: ca, Cert: cert, Key: key}, true},
		"not looked at":  {rest.TLS{SkipVerify: true, Cert: cert, Key: key}, true},
		"not trusted":    {rest.TLS{Cert: cert, Key: key}, false},
		"no client cert": {rest.TLS{CA: ca}, false},
	} {
		e, clock := newEmitter(t, server.URL, func(config *rest.Config) { config.TLS = c.tls })
		_, err := e.Emit(t.Context(), proposal(t, 1))
		if (err == nil) != c.ok || len(clock.Slept()) != 0 { // a bad certificate stays so: it is not tried again
			t.Errorf("%s: got %v, slept %v", name, err, clock.Slept())
		}
	}
}

func clientCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	writePEM(t, cert, "CERTIFICATE", raw)
	writePEM(t, key, "EC PRIVATE KEY", der)
	return cert, key
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
