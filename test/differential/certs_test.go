package differential_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// clientWanted asks for a client certificate, whoever issued it.
func clientWanted() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}
}

// certificates writes the consumer's certificate and one for a client, and returns the names and paths.
func certificates(t *testing.T, dir string, sink *transporttest.Sink) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "client"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	paths := map[string]string{}
	for name, text := range map[string][]byte{
		"CA": sink.CertPEM(), "CERT": cert, "KEY": keyPEM, "PEM": slices.Concat(cert, keyPEM),
	} {
		paths[name] = filepath.Join(dir, name+".pem")
		if err := os.WriteFile(paths[name], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}
