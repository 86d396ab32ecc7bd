package servers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// authority issues certificates into a folder.
type authority struct {
	t    *testing.T
	dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes one and writes its certificate as NAME.pem.
func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: dir, name: name}
	a.cert, a.key = a.issue(name, &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour),
	})
	return a
}

// issue writes a certificate as NAME.pem and its key as NAME-key.pem.
func (a *authority) issue(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore = time.Now().Add(-2 * time.Hour)
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + "-key.pem": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key
}

func (a *authority) server(name string) {
	a.issue(name, &x509.Certificate{
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{shortLoopback},
	})
}

func (a *authority) client(name string, until time.Duration) {
	a.issue(name, &x509.Certificate{
		NotAfter: time.Now().Add(until), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// A consumer behind nginx that wants client certificates gets events from those who have one, and holds all others: the
// certificate is to blame and not the event.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	command(t, "nginx")
	sink, dir := transporttest.NewSink(t), t.TempDir()
	ours := newAuthority(t, dir, "ours")
	ours.server("server")
	ours.client("client", time.Hour)
	ours.client("expired", -time.Hour)
	newAuthority(t, dir, "theirs").client("stranger", time.Hour)
	port := nginx(t, fmt.Sprintf(`
    listen 127.0.0.1:$PORT ssl;
    ssl_certificate %[1]s/server.pem;
    ssl_certificate_key %[1]s/server-key.pem;
    ssl_client_certificate %[1]s/ours.pem;
    ssl_verify_client on;
    location / { proxy_pass %[2]s; }
`, dir, sink.URL()))
	file := func(name string) string { return filepath.Join(dir, name+".pem") }
	config := func(scheme string, context map[string]any) map[string]any {
		return map[string]any{"type": "http", "url": scheme + "://" + address(port), "sslContext": context}
	}
	with := func(name string) map[string]any {
		return map[string]any{"caCertPath": file("ours"), "clientCertPath": file(name), "clientKeyPath": file(name + "-key")}
	}
	if err := to(t, config("https", with("client"))).Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := len(sink.Taken()); got != 1 {
		t.Fatalf("%d events have arrived", got)
	}
	for _, test := range []struct {
		name, scheme string
		context      map[string]any
	}{
		{"none", "https", map[string]any{"caCertPath": file("ours")}},
		{"expired", "https", with("expired")},
		{"a stranger's", "https", with("stranger")},
		{"a server that nobody vouches for", "https", map[string]any{"clientCertPath": file("client"), "clientKeyPath": file("client-key")}},
		{"no TLS", "http", map[string]any{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			held(t, to(t, config(test.scheme, test.context)).Emit(t.Context(), transporttest.Event(2, 0)), transport.ReasonTLS)
		})
	}
	if got := len(sink.Taken()); got != 1 {
		t.Errorf("%d events have arrived", got)
	}
}

// A certificate that is exchanged is taken up without a restart.
func TestClientCertificateThatIsExchanged(t *testing.T) {
	t.Parallel()
	command(t, "nginx")
	sink, dir := transporttest.NewSink(t), t.TempDir()
	ours := newAuthority(t, dir, "ours")
	ours.server("server")
	ours.client("client", -time.Hour)
	port := nginx(t, fmt.Sprintf(`
    listen 127.0.0.1:$PORT ssl;
    ssl_certificate %[1]s/server.pem;
    ssl_certificate_key %[1]s/server-key.pem;
    ssl_client_certificate %[1]s/ours.pem;
    ssl_verify_client on;
    location / { proxy_pass %[2]s; }
`, dir, sink.URL()))
	via := to(t, map[string]any{"type": "http", "url": "https://" + address(port), "sslContext": map[string]any{
		"caCertPath": filepath.Join(dir, "ours.pem"), "clientCertPath": filepath.Join(dir, "client.pem"),
		"clientKeyPath": filepath.Join(dir, "client-key.pem"),
	}})
	held(t, via.Emit(t.Context(), transporttest.Event(1, 0)), transport.ReasonTLS)
	ours.client("client", time.Hour)
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := via.Emit(t.Context(), transporttest.Event(1, 0))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // files are looked at every five
	}
	if got := len(sink.Taken()); got != 1 {
		t.Errorf("%d events have arrived", got)
	}
}
