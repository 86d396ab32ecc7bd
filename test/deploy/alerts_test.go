package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/test/rig"
)

func prometheusDir() string { return filepath.Join(rig.Root(), "deploy", "prometheus") }

// rules are those of the alert rules' file, as far as the tests look at them.
func rules(t *testing.T) []rule {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(prometheusDir(), "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) == 0 {
		t.Fatalf("%d groups of rules", len(file.Groups))
	}
	return file.Groups[0].Rules
}

type rule struct {
	Alert, Expr string
	Annotations map[string]string
}

// TestAlertRules has Prometheus' own tool read the rules and run their tests.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		rig.Skip(t, "promtool is not installed")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = prometheusDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestAlertsHaveTests looks for an alert that no test of the rules expects.
func TestAlertsHaveTests(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(prometheusDir(), "alerts_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t) {
		if !strings.Contains(string(content), "alertname: "+r.Alert+"\n        exp_alerts:") {
			t.Errorf("no test expects %s", r.Alert)
		}
	}
}

// TestRunbooks follows each alert's link, and looks for sections that no alert leads to.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	sections := map[string]bool{}
	for _, s := range docs.Read(t, filepath.Join(rig.Root(), "docs", "operations.md")) {
		if s.Level == 3 {
			sections[s.Heading] = false
		}
	}
	const page = "https://github.com/prefect-openlineage/listener/blob/main/docs/operations.md#"
	for _, r := range rules(t) {
		if _, ok := sections[r.Alert]; !ok {
			t.Errorf("docs/operations.md says nothing of %s", r.Alert)
		}
		sections[r.Alert] = true
		if url := r.Annotations["runbook_url"]; url != page+strings.ToLower(r.Alert) {
			t.Errorf("%s leads to %s", r.Alert, url)
		}
	}
	for heading, used := range sections {
		if !used {
			t.Errorf("no alert leads to %s", heading)
		}
	}
}
