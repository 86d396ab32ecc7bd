package config

import (
	"fmt"

	"github.com/prefect-openlineage/listener/prefect"
)

// ClientConfig is what the Prefect client wants, with the secrets as they are now. version is the listener's own.
func (p Prefect) ClientConfig(version string) (prefect.Config, error) {
	key, auth, err := p.Credentials()
	if err != nil {
		return prefect.Config{}, err
	}
	headers, err := p.Headers.Value()
	if err != nil {
		return prefect.Config{}, fmt.Errorf("PREFECT_CLIENT_CUSTOM_HEADERS: %w", err)
	}
	return prefect.Config{
		URL: p.URL, APIKey: key, AuthString: auth, Headers: headers, InsecureSkipVerify: p.InsecureSkipVerify,
		CAFile: p.CertFile, RequestTimeout: p.RequestTimeout, MaxRequestsPerSecond: p.MaxRequestsPerSecond,
		UserAgent: prefect.DefaultUserAgent + "/" + version,
	}, nil
}

// Credentials are the API key and the user:password as they are now, for the client's SetCredentials.
func (p Prefect) Credentials() (key, auth string, err error) {
	secret, err := p.APIKey.Value()
	if err != nil {
		return "", "", fmt.Errorf("PREFECT_API_KEY: %w", err)
	}
	basic, err := p.AuthString.Value()
	if err != nil {
		return "", "", fmt.Errorf("PREFECT_API_AUTH_STRING: %w", err)
	}
	return secret.Reveal(), basic.Reveal(), nil
}
