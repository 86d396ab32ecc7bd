package httptransport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prefect-openlineage/listener/transport/settings"
)

// TLS says whom an https connection trusts and what it shows of itself. Files are PEM.
type TLS struct {
	// CA is a file, or a folder of files, with the only authorities that are trusted; empty: those of the system.
	CA string
	// SkipVerify takes any certificate.
	SkipVerify bool
	// Cert and Key are the client's certificate. A Cert without a Key holds both.
	Cert, Key string
}

// parseTLS reads verify and sslContext. The context's CA goes before verify, also before verify: false.
func parseTLS(s *settings.Section) TLS {
	var t TLS
	switch verify := s.Value("verify").(type) {
	case nil:
	default:
		if on, ok := settings.AsBool(verify); ok {
			t.SkipVerify = !on
		} else if path, ok := verify.(string); ok {
			t.CA = path
		} else {
			s.Refuse("verify", "must be true, false or the path of a CA file", "")
		}
	}
	context := s.Map("sslContext")
	if ca := context.String("caCertPath"); ca != "" {
		t.CA, t.SkipVerify = ca, false
	}
	t.Cert = context.String("clientCertPath")
	t.Key = context.String("clientKeyPath")
	if t.Key != "" && t.Cert == "" {
		context.Refuse("clientKeyPath", "needs clientCertPath beside it", "")
	}
	context.Finish()
	if t.SkipVerify {
		s.Warn("verify", "is off: whoever answers at the address is believed")
	}
	return t
}

// files are the paths whose change calls for a new connection pool.
func (t TLS) files() []string {
	var files []string
	for _, path := range []string{t.CA, t.Cert, t.Key} {
		if path != "" {
			files = append(files, path)
		}
	}
	return files
}

// load reads the files.
func (t TLS) load() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify} //nolint:gosec // the operator asked for it
	if t.CA != "" {
		pool := x509.NewCertPool()
		if err := appendCA(pool, t.CA); err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if t.Cert != "" {
		key := t.Key
		if key == "" {
			key = t.Cert
		}
		pair, err := tls.LoadX509KeyPair(t.Cert, key)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// loadForTokens returns what a token endpoint is reached with: the system's authorities and the configured one, since
// the endpoint may stand inside or outside; no client certificate, and never without verification.
func (t TLS) loadForTokens() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA == "" {
		return config, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if err := appendCA(pool, t.CA); err != nil {
		return nil, err
	}
	config.RootCAs = pool
	return config, nil
}

// appendCA adds the certificates of a file, or of each file in a folder.
func appendCA(pool *x509.CertPool, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("reading the CA: %w", err)
	}
	paths := []string{path}
	if info.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(path, "*")); err != nil {
			return fmt.Errorf("reading the CA folder: %w", err)
		}
	}
	found := false
	for _, p := range paths {
		pem, err := os.ReadFile(p)
		if err != nil {
			if info.IsDir() {
				continue // a folder may hold others' files
			}
			return fmt.Errorf("reading the CA: %w", err)
		}
		found = pool.AppendCertsFromPEM(pem) || found
	}
	if !found {
		return fmt.Errorf("reading the CA: %s holds no certificate", path)
	}
	return nil
}
