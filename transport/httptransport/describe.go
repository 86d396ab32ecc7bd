package httptransport

import "github.com/prefect-openlineage/listener/transport"

// Target returns where events are posted, for people and as an identity: without secrets.
func (c Config) Target() string { return Display(c.URL) }

// Settings returns the effective settings under their documented names, defaults included and secrets masked.
func (c Config) Settings() map[string]any {
	shown := map[string]any{
		"url":     c.Target(),
		"timeout": c.Timeout.String(),
		"verify":  !c.TLS.SkipVerify,
		"retry": map[string]any{
			"quick_try": c.Retry.OnConnect || c.Retry.OnRead || c.Retry.OnStatus, "status_forcelist": c.Retry.Statuses,
			"backoff_factor": c.Retry.Factor.String(), "respect_retry_after_header": c.Retry.RetryAfter,
			"retry_after_max": c.Retry.MaxRetryAfter.String(),
		},
		"parallel": c.Parallel,
	}
	if c.MaxBytes > 0 {
		shown["max_event_bytes"] = c.MaxBytes
	}
	if c.User != nil {
		shown["user"] = transport.Masked
	}
	if c.Gzip {
		shown["compression"] = "gzip"
	}
	if len(c.Headers) > 0 {
		headers := map[string]any{}
		for name := range c.Headers {
			headers[name] = transport.Masked
		}
		shown["custom_headers"] = headers
	}
	if c.Auth.Kind != AuthNone {
		shown["auth"] = c.Auth.settings()
	}
	files := map[string]any{}
	for name, path := range map[string]string{
		"caCertPath": c.TLS.CA, "clientCertPath": c.TLS.Cert, "clientKeyPath": c.TLS.Key,
	} {
		if path != "" {
			files[name] = path
		}
	}
	if len(files) > 0 {
		shown["sslContext"] = files
	}
	return shown
}

func (a Auth) settings() map[string]any {
	shown := map[string]any{"type": string(a.Kind)}
	secret := "apiKey"
	if a.Kind == AuthOAuth2 {
		secret = "clientSecret"
		shown["clientId"] = a.Token.ClientID
	}
	if a.Key.File != "" {
		shown[secret+"File"] = a.Key.File
	} else {
		shown[secret] = transport.Masked
	}
	if a.Token.Endpoint != nil {
		shown["tokenEndpoint"] = Display(a.Token.Endpoint)
		shown["tokenRefreshBuffer"] = a.Token.Buffer.String()
	}
	if a.Token.Scope != "" {
		shown["scope"] = a.Token.Scope
	}
	return shown
}
