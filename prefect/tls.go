package prefect

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"
)

// idleTimeout closes unused connections before the server does: uvicorn, which serves Prefect, drops them after 5
// seconds, and a request that is sent at that moment is lost.
const idleTimeout = 4 * time.Second

// tls returns the TLS settings. A CA file replaces the system's authorities, as in Prefect's own client.
func (c Config) tls() (*tls.Config, error) {
	settings := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: c.InsecureSkipVerify, //nolint:gosec // the operator's explicit wish, warned about at the start
	}
	if c.CAFile == "" {
		return settings, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("PREFECT_API_SSL_CERT_FILE: %w", err)
	}
	settings.RootCAs = x509.NewCertPool()
	if !settings.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("PREFECT_API_SSL_CERT_FILE: %s holds no PEM certificate", c.CAFile)
	}
	return settings, nil
}

// newTransport returns the connections to the server. They speak HTTP/1.1, as Prefect's own client does.
func newTransport(cfg Config, settings *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  cfg.Proxy,
		DialContext:            cfg.DialContext,
		TLSClientConfig:        settings,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           cfg.MaxInFlight,
		MaxIdleConnsPerHost:    cfg.MaxInFlight,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 256 << 10,
	}
}
