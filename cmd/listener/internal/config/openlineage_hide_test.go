package config_test

import (
	"strings"
	"testing"
)

// A key that is misspelt is shown, one that is no key at all is not: it is most likely the secret.
func TestKeysOfAuth(t *testing.T) {
	t.Parallel()
	cfg, _ := mustLoad(t, system{
		files: yml("transport:\n  type: http\n  url: http://h\n  auth: {type: api_key, apKey: k, hunter2, api_key: {hunter2: , other: x}}\n  custom_headers: {X-Team: a}\n"),
	})
	var names []string
	for _, s := range cfg.Settings {
		if strings.HasPrefix(s.Name, "transport.auth") || strings.HasPrefix(s.Name, "transport.custom") {
			names = append(names, s.Name)
		}
	}
	equal(t, []string{
		"transport.auth.type", "transport.auth.apKey", "transport.auth.***", "transport.auth.api_key.***",
		"transport.custom_headers.X-Team",
	}, names)
	equal(t, "/srv/app/openlineage.yml:4: transport.auth.***: has no effect", cfg.OpenLineage.ExplainWarning("transport.auth.***: has no effect").String())
}
