package prefect_test

import (
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// secureServer returns a server that speaks TLS with a certificate that no one trusts, and that certificate's file.
func secureServer(t *testing.T, handler http.Handler) (address, caFile string) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail on purpose
	server.StartTLS()
	t.Cleanup(server.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(caFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL + "/api", caFile
}

func TestTLS(t *testing.T) {
	t.Parallel()
	address, caFile := secureServer(t, prefecttest.NewServer())
	plain := httptest.NewServer(prefecttest.NewServer())
	t.Cleanup(plain.Close)
	for _, test := range []struct {
		name string
		cfg  prefect.Config
		says string // empty: it works
	}{
		{"its authority", prefect.Config{URL: address, CAFile: caFile}, ""},
		{"no check", prefect.Config{URL: address, InsecureSkipVerify: true}, ""},
		{"no check wins", prefect.Config{URL: address, CAFile: caFile, InsecureSkipVerify: true}, ""},
		{"the system's authorities", prefect.Config{URL: address}, "PREFECT_API_SSL_CERT_FILE"},
		{"plain http", prefect.Config{URL: strings.Replace(plain.URL, "http:", "https:", 1) + "/api"}, "speaks plain http"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var seen results
			client, err := prefect.NewClient(test.cfg, nil, &seen)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			err = client.Health(t.Context())
			if test.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			fault := faultOf(t, err)
			if !errors.Is(err, prefect.ErrUnavailable) || fault.Reason != "tls" || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v (%s), want one that says %s", err, fault.Reason, test.says)
			}
			if got := len(seen.all()); got != 1 {
				t.Errorf("%d tries: a certificate does not mend itself", got)
			}
		})
	}
}

// TestHTTPToHTTPS: a redirect to the same server's TLS port is followed, with the credentials.
func TestHTTPToHTTPS(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewServer(prefecttest.BearerAuth("pnu_key"))
	server.AddFlow("One")
	secure, caFile := secureServer(t, server)
	plain := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", secure+"/flows/filter")
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	client := handlerClientWith(t, plain, "/api", func(cfg *prefect.Config) { cfg.CAFile, cfg.APIKey = caFile, "pnu_key" })
	page, err := client.Flows(t.Context(), one)
	if err != nil || len(page.Rows) != 1 {
		t.Errorf("%d rows, %v", len(page.Rows), err)
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	server := prefecttest.NewServer()
	var through []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = append(through, r.URL.String())
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	by := func(user *url.Userinfo) func(cfg *prefect.Config) {
		return func(cfg *prefect.Config) {
			cfg.URL = "http://prefect.example/api"
			cfg.Proxy = func(*http.Request) (*url.URL, error) {
				address, err := url.Parse(proxy.URL)
				if err == nil {
					address.User = user
				}
				return address, err
			}
		}
	}
	client := handlerClientWith(t, server, "", by(url.UserPassword("me", "s3cret")))
	if err := client.Health(t.Context()); err != nil {
		t.Error(err)
	}
	if len(through) != 1 || through[0] != "http://prefect.example/api/health" {
		t.Errorf("the proxy saw %v", through)
	}
	refused := handlerClientWith(t, server, "", by(nil)).Health(t.Context())
	if !errors.Is(refused, prefect.ErrUnauthorized) || !strings.Contains(refused.Error(), "HTTP_PROXY") {
		t.Errorf("a proxy that refuses: %v", refused)
	}
}

// TestNoServer: nothing listens, or no such name.
func TestNoServer(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	closedProxy := func(*http.Request) (*url.URL, error) { return url.Parse("http://me:s3cret@" + address) }
	brokenProxy := func(*http.Request) (*url.URL, error) {
		return nil, errors.New(`invalid proxy address "http://me:s3cret@h h"`)
	}
	for _, test := range []struct {
		name   string
		cfg    prefect.Config
		reason string
		says   string
	}{
		{"nothing listens", prefect.Config{URL: "http://me:s3cret@" + address + "/api"}, "connection", "connection refused"},
		{"no such name", prefect.Config{URL: "http://nowhere.invalid/api"}, "dns", "check PREFECT_API_URL"},
		{"no proxy", prefect.Config{URL: "https://prefect.example/api", Proxy: closedProxy}, "proxy", "check HTTP_PROXY"},
		{"wrong proxy", prefect.Config{URL: "https://prefect.example/api", Proxy: brokenProxy}, "connection", "http://***@h"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client, err := prefect.NewClient(test.cfg, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			err = client.Health(t.Context())
			fault := faultOf(t, err)
			if !errors.Is(err, prefect.ErrUnavailable) || fault.Reason != test.reason || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v (%s), want %s that says %s", err, fault.Reason, test.reason, test.says)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a password is in the error: %v", err)
			}
		})
	}
}
