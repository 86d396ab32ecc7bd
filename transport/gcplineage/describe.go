package gcplineage

import "github.com/prefect-openlineage/listener/transport/httptransport"

// parent is the resource that owns what is sent.
func (c Config) parent() string { return "projects/" + c.Project + "/locations/" + c.Location }

// Target returns where events go, for people and as an identity.
func (c Config) Target() string { return httptransport.Display(c.Endpoint) + "/v1/" + c.parent() }

// Settings returns the effective settings under their documented names, defaults included. None is a secret.
func (c Config) Settings() map[string]any {
	shown := map[string]any{
		"project_id":      c.Project,
		"location":        c.Location,
		"universe_domain": c.Universe,
		"endpoint":        httptransport.Display(c.Endpoint),
		"unmapped":        string(c.Unmapped),
		"timeout":         c.Timeout.String(),
		"max_event_bytes": c.MaxBytes,
		"parallel":        httptransport.DefaultParallel,
	}
	if c.Credentials != "" {
		shown["credentials_path"] = c.Credentials
	}
	if c.QuotaProject != "" {
		shown["quota_project"] = c.QuotaProject
	}
	return shown
}
