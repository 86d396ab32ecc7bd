package gcplineage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/gcplineage"
	"github.com/prefect-openlineage/listener/transport/settings"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]any{"project_id": "demo"}, nil)
	want := map[string]any{
		"project_id": "demo", "location": "us-central1", "universe_domain": "googleapis.com", "timeout": "10s",
		"endpoint": "https://datalineage.googleapis.com", "unmapped": "custom", "max_event_bytes": 5_000_000, "parallel": 8,
	}
	if diff := cmp.Diff(want, c.Settings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if target := "https://datalineage.googleapis.com/v1/projects/demo/locations/us-central1"; c.Target() != target {
		t.Errorf("the target is %s", c.Target())
	}
}

// Keys go before the variables of Google's own clients.
func TestVariables(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"GOOGLE_APPLICATION_CREDENTIALS": "/env.json", "GOOGLE_CLOUD_UNIVERSE_DOMAIN": "cloud.example",
		"GOOGLE_CLOUD_QUOTA_PROJECT": "env-payer", "GCP_UNMAPPED": "Drop",
	}
	for _, tt := range []struct {
		name   string
		values map[string]any
		want   []string // credentials, endpoint, quota project, unmapped
	}{
		{"variables", map[string]any{}, []string{"/env.json", "https://datalineage.cloud.example", "env-payer", "drop"}},
		{
			"keys", map[string]any{
				"credentials_path": "/key.json", "universe_domain": "other.example", "quota_project": "payer", "unmapped": "asis",
			},
			[]string{"/key.json", "https://datalineage.other.example", "payer", "asis"},
		},
		{"a place of its own", map[string]any{"endpoint": "https://datalineage.eu.rep.googleapis.com/"}, []string{"/env.json", "https://datalineage.eu.rep.googleapis.com", "env-payer", "drop"}},
	} {
		tt.values["project_id"] = "example.com:demo"
		c := parse(t, tt.values, env)
		got := []string{c.Credentials, c.Endpoint.String(), c.QuotaProject, string(c.Unmapped)}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTimeoutAndRules(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]any{
		"project_id": "demo", "timeout": "90s", "async_transport_rules": map[string]any{"dbt": map[string]any{"*": true}},
	}, nil)
	if c.Timeout != 90*time.Second {
		t.Errorf("%v", c.Timeout)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	const rules = `t.async_transport_rules: must map integrations to maps of job types to true or false; such as {"dbt": {"*": true}}`
	for want, values := range map[string]map[string]any{
		"t.project_id: is missing; set it to the id of the project that keeps the lineage":                             {"project_id": ""},
		"t.project_id: holds a character that no name of Google's has":                                                 {"project_id": "a/b"},
		"t.location: holds a character that no name of Google's has":                                                   {"location": "EU west"},
		"t.endpoint: is not an http or https address; such as https://datalineage.googleapis.com":                      {"endpoint": "datalineage"},
		"t.endpoint: holds a user or password, which Google does not take; credentials_path is for credentials":        {"endpoint": "https://u:p@h"},
		"t.universe_domain: is not a domain; such as googleapis.com (also in GOOGLE_CLOUD_UNIVERSE_DOMAIN)":            {"universe_domain": "https://x"},
		"t.quota_project: is not the id of a project; such as my-billing-project (also in GOOGLE_CLOUD_QUOTA_PROJECT)": {"quota_project": "a b"},
		`t.unmapped: "keep" is not known; custom, drop and asis are (also in GCP_UNMAPPED)`:                            {"unmapped": "keep"},
		"t.timeout: must be a number of seconds above 0 and at most a day":                                             {"timeout": 0},
		"t.max_event_bytes: must be a number of bytes; such as 5000000":                                                {"max_event_bytes": -1},
		rules:        {"async_transport_rules": true},
		rules + " ":  {"async_transport_rules": map[string]any{"dbt": true}},
		rules + "  ": {"async_transport_rules": map[string]any{"dbt": map[string]any{"*": "perhaps"}}},
	} {
		if _, ok := values["project_id"]; !ok {
			values["project_id"] = "demo"
		}
		s := settings.New("t", values)
		gcplineage.Parse(s, func(string) string { return "" })
		if err := s.Err(); err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("%v: %v", values, err)
		}
	}
}

func TestUnknownKey(t *testing.T) {
	t.Parallel()
	s := settings.New("t", map[string]any{"project_id": "demo", "projectId": "x", "credential_path": "/x"})
	gcplineage.Parse(s, func(string) string { return "" })
	if diff := cmp.Diff([]string{"t.credential_path: is not known and has no effect; did you mean credentials_path?"}, s.Warnings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
