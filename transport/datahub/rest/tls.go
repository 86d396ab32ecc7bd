package rest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLS is how the server is known and how the client shows itself. All are paths of PEM files.
type TLS struct {
	// CA is trusted instead of the system's authorities.
	CA string
	// Cert is the client's certificate, with its key unless Key names that.
	Cert, Key string
	// SkipVerify takes any certificate: whoever stands in between can read the token.
	SkipVerify bool
}

// load reads the files.
func (t TLS) load() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify} //nolint:gosec // the caller asked for it
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("reading the CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading the CA: %s holds no certificate", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, orDefault(t.Key, t.Cert))
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
