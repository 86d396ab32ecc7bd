package librdkafka_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
)

const keyPassword = "kennwort"

func read(tb testing.TB, name string) string {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// Keys as openssl writes them, in the ways in which it encrypts them.
func TestKeys(t *testing.T) {
	t.Parallel()
	for name, encrypted := range map[string]bool{
		"plain.pem": false, "pkcs8-plain.pem": false, "legacy.pem": true, "pkcs8-aes-128-cbc.pem": true, "pkcs8-aes-192-cbc.pem": true,
		"pkcs8-aes-256-cbc.pem": true, "pkcs8-des3.pem": true, "pkcs8-sha1.pem": true, "pkcs8-sha512.pem": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", name)
			for _, right := range []librdkafka.TLS{
				{Cert: "testdata/cert.pem", Key: path, KeyPassword: keyPassword},
				{CertPEM: read(t, "cert.pem"), KeyPEM: read(t, name), KeyPassword: keyPassword},
				{CertPEM: read(t, name) + read(t, "cert.pem"), KeyPassword: keyPassword},
			} {
				config, err := right.Load()
				if err != nil || len(config.Certificates) != 1 {
					t.Error(err)
				}
			}
			for password, want := range map[string]string{"": "set ssl.key.password", "wr0ng-one": "decrypting it: "} {
				_, err := librdkafka.TLS{Cert: "testdata/cert.pem", Key: path, KeyPassword: password}.Load()
				if !encrypted {
					continue
				}
				if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "client certificate") || strings.Contains(err.Error(), "wr0ng") {
					t.Errorf("with password %q: %v", password, err)
				}
			}
		})
	}
}

func TestWhatCanNotBeLoaded(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		tls  librdkafka.TLS
		want string
	}{
		{"no CA", librdkafka.TLS{CA: "/no/such"}, "reading the CA: stat /no/such"},
		{"a CA without certificates", librdkafka.TLS{CA: empty}, "holds no certificate"},
		{"a folder without certificates", librdkafka.TLS{CA: filepath.Dir(empty)}, "holds no certificate"},
		{"a text without certificates", librdkafka.TLS{CAPEM: "-----BEGIN x"}, "the text holds no certificate"},
		{"no certificate", librdkafka.TLS{Cert: "/no/such"}, "reading the client certificate: open /no/such"},
		{"no key", librdkafka.TLS{Cert: "testdata/cert.pem", Key: "/no/such"}, "reading the client's key: open /no/such"},
		{"a certificate without a key", librdkafka.TLS{Cert: "testdata/cert.pem"}, "reading the client certificate: tls: "},
		{"another encryption", librdkafka.TLS{Cert: "testdata/cert.pem", Key: "testdata/pkcs8-scrypt.pem", KeyPassword: keyPassword}, "openssl pkcs8 -topk8"},
	} {
		_, err := test.tls.Load()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestAuthorities(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.pem": read(t, "cert.pem"), "readme": "nothing"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []librdkafka.TLS{{CA: dir}, {CA: filepath.Join(dir, "a.pem")}, {CAPEM: read(t, "cert.pem")}} {
		if config, err := one.Load(); err != nil || config.RootCAs == nil {
			t.Error(err)
		}
	}
	if config, err := (librdkafka.TLS{}).Load(); err != nil || config.RootCAs != nil {
		t.Error("the system's authorities are not taken", err)
	}
}

// Whatever a key file holds, nothing panics.
func FuzzKey(f *testing.F) {
	for _, name := range []string{"plain.pem", "legacy.pem", "pkcs8-aes-256-cbc.pem"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4096 {
			_, _ = librdkafka.TLS{CertPEM: read(t, "cert.pem"), KeyPEM: text, KeyPassword: "x"}.Load()
		}
	})
}
