package httptransport_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestWhomAConnectionTrusts(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewTLSSink(t, nil)
	ca := file(t, "ca.pem", sink.CertPEM())
	other := file(t, "other.pem", newAuthority(t).pem)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.pem"), string(sink.CertPEM()))
	write(t, filepath.Join(folder, "readme"), "no certificate")
	if err := os.Mkdir(filepath.Join(folder, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name      string
		values    map[string]any
		delivered bool
	}{
		{"the system, which does not know it", map[string]any{}, false},
		{"anyone", map[string]any{"verify": false}, true},
		{"its CA", map[string]any{"verify": ca}, true},
		{"a folder of CAs", map[string]any{"verify": folder}, true},
		{"another CA", map[string]any{"verify": other}, false},
		{"its CA by the context", map[string]any{"sslContext": map[string]any{"caCertPath": ca}}, true},
		{"another CA by the context, which goes before verify: false", map[string]any{
			"verify": false, "ssl_context": map[string]any{"ca_cert_path": other},
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := emit(t, build(t, with(map[string]any{"url": sink.URL(), "retry": fast}, tt.values)))
			if tt.delivered != (err == nil) {
				t.Fatalf("%v, want delivered: %v", err, tt.delivered)
			}
			if err == nil {
				return
			}
			if e := transporttest.RequireError(t, err); e.Outcome != transport.Hold || e.Reason != transport.ReasonTLS {
				t.Errorf("%v %q, want hold and tls", e.Outcome, e.Reason)
			}
		})
	}
}

func TestBadTLSHolds(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	old := ca.issue(t, "server", time.Now().Add(-time.Hour)).pair(t)
	good := ca.issue(t, "server", time.Now().Add(time.Hour)).pair(t)
	expired := transporttest.NewTLSSink(t, &tls.Config{Certificates: []tls.Certificate{old}})
	named := transporttest.NewTLSSink(t, &tls.Config{Certificates: []tls.Certificate{good}})
	plain := transporttest.NewSink(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	demanding := transporttest.NewTLSSink(t, &tls.Config{
		Certificates: []tls.Certificate{good}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	})
	tests := map[string]string{
		"an expired certificate":    expired.URL(),
		"another name":              strings.Replace(named.URL(), "127.0.0.1", "localhost", 1),
		"plain HTTP under https":    strings.Replace(plain.URL(), "http:", "https:", 1),
		"a certificate is demanded": demanding.URL(),
	}
	path := file(t, "ca.pem", ca.pem)
	for name, url := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": url, "verify": path, "retry": fast})))
			if e.Outcome != transport.Hold || e.Reason != transport.ReasonTLS {
				t.Errorf("%v %q, want hold and tls: %v", e.Outcome, e.Reason, e)
			}
		})
	}
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	end := time.Now().Add(time.Hour)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	config := &tls.Config{
		Certificates: []tls.Certificate{ca.issue(t, "server", end).pair(t)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
	sink, other := transporttest.NewTLSSink(t, config.Clone()), transporttest.NewTLSSink(t, config.Clone())
	client := ca.issue(t, "client", end)
	caFile := file(t, "ca.pem", ca.pem)
	settings := func(files map[string]any) map[string]any {
		return map[string]any{"url": sink.URL(), "sslContext": with(map[string]any{"caCertPath": caFile}, files)}
	}
	apart := settings(map[string]any{"clientCertPath": file(t, "c.pem", client.cert), "clientKeyPath": file(t, "k.pem", client.key)})
	deliver(t, build(t, apart))
	deliver(t, build(t, settings(map[string]any{"client_cert_path": file(t, "both.pem", client.key, client.cert)})))

	sink.Script(transporttest.Always(to(307, other.URL())))
	e := transporttest.RequireError(t, emit(t, build(t, apart)))
	if e.Outcome != transport.Hold || len(other.Requests()) > 0 {
		t.Errorf("%v; another host was shown the certificate %d times", e.Outcome, len(other.Requests()))
	}
	sink.Script(transporttest.Sequence(to(307, "/moved")))
	deliver(t, build(t, apart))
}

func TestCertificateFilesThatCannotBeUsedStopTheStart(t *testing.T) {
	t.Parallel()
	garbage := file(t, "garbage.pem", []byte("no certificate"))
	for name, values := range map[string]map[string]any{
		"no such CA":      {"verify": "/does/not/exist.pem"},
		"no certificate":  {"verify": garbage},
		"an empty folder": {"verify": t.TempDir()},
		"no such client":  {"sslContext": map[string]any{"clientCertPath": "/does/not/exist.pem"}},
		"no key":          {"sslContext": map[string]any{"clientCertPath": file(t, "c.pem", newAuthority(t).pem)}},
		"for tokens":      {"verify": garbage, "auth": map[string]any{"type": "jwt", "apiKey": "k", "tokenEndpoint": "https://idp/t"}},
	} {
		c := parse(t, with(map[string]any{"url": "https://h"}, values))
		if _, err := httptransport.New(c, httptransport.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A rotated CA is taken up within seconds; a file that is half written leaves what was.
func TestCertificateFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	sink, c := transporttest.NewTLSSink(t, nil), newClock()
	path := file(t, "ca.pem", newAuthority(t).pem)
	tr := build(t, map[string]any{"url": sink.URL(), "verify": path}, c.option)
	if e := transporttest.RequireError(t, emit(t, tr)); e.Reason != transport.ReasonTLS {
		t.Fatalf("%q", e.Reason)
	}
	write(t, path, string(sink.CertPEM()))
	c.move(10 * time.Second)
	deliver(t, tr)
	write(t, path, "half")
	c.move(10 * time.Second)
	deliver(t, tr)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.move(10 * time.Second)
	deliver(t, tr)
}

// The token endpoint may stand inside, behind the configured CA; it never sees an unverified connection.
func TestTheTokenEndpointsTLS(t *testing.T) {
	t.Parallel()
	sink, idp := transporttest.NewSink(t), transporttest.NewTLSSink(t, nil)
	idp.Script(grant(`{"access_token":"t0ken"}`))
	values := oauth2(sink, idp)
	deliver(t, build(t, with(values, map[string]any{"verify": file(t, "ca.pem", idp.CertPEM())})))
	e := transporttest.RequireError(t, emit(t, build(t, with(values, map[string]any{"verify": false}))))
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonTLS {
		t.Errorf("%v %q, want hold and tls", e.Outcome, e.Reason)
	}
}
