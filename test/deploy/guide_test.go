package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/test/rig"
)

// elsewhere are lines of docs/deploying.md that want what no test has: an engine, a cluster, a machine of their own. The
// tests named run what is behind them as far as it goes without.
var elsewhere = map[string]string{
	"docker compose up --detach --wait":                           "TestCompose",
	"PREFECT_API_URL=http://localhost:4200/api python my_flow.py": "test/e2e",
	"docker build -t prefect-openlineage-listener .":              "TestImage",
	"docker run --read-only --cap-drop ALL --env PREFECT_API_URL --env OPENLINEAGE_URL --volume listener:/var/lib/listener --publish 127.0.0.1:4280:8080 prefect-openlineage-listener": "TestImage",
	"helm test lineage --namespace lineage":                          "TestImage runs its command",
	"make deploy-tools":                                              "tool makes them",
	"kubectl apply -k deploy/kubernetes":                             "TestPlainManifests",
	"apt-get install ./prefect-openlineage-listener_0.1.0_amd64.deb": "TestRelease",
	"editor /etc/prefect-openlineage-listener.env":                   "TestUnit",
	"systemctl enable --now prefect-openlineage-listener":            "TestUnit",
	"systemctl status prefect-openlineage-listener":                  "TestUnitsProtocol",
	"systemd-run --pipe --property=EnvironmentFile=/etc/prefect-openlineage-listener.env --setenv=LISTENER_STATE=sqlite:///var/lib/prefect-openlineage-listener/listener.db listener status": "cmd/listener",
}

// without makes of a line what needs no cluster.
var without = strings.NewReplacer(
	"helm upgrade --install", "helm upgrade --install --dry-run=client --disable-openapi-validation",
	"helm install", "helm install --dry-run=client --disable-openapi-validation",
	"kubectl create", "echo ---; kubectl create --dry-run=client --output yaml",
)

// TestTheGuidesCommands runs every command line of docs/deploying.md that can be run here, as it stands there, in a copy of
// the checkout's deploy folder.
func TestTheGuidesCommands(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"kubectl", "sed", "od"} {
		installed(t, program)
	}
	dir := t.TempDir()
	output(t, command("cp", "-a", path("deploy"), dir))
	if err := os.WriteFile(filepath.Join(dir, "openlineage.yml"), []byte("transport: {type: console}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(script string) string {
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(helmEnv(t, dir), "PATH="+filepath.Dir(tool(t, "helm"))+":"+os.Getenv("PATH"))
		return output(t, cmd)
	}
	for _, c := range docs.Commands(t, rig.Root(), chart+"/README.md") {
		run(without.Replace(c.Line))
	}
	left := map[string]bool{}
	for line := range elsewhere {
		left[line] = true
	}
	ran := 0
	for _, section := range docs.Read(t, path("docs", "deploying.md")) {
		for _, fence := range section.Fences {
			if fence.Language != "sh" {
				continue
			}
			script := "set -eu\n"
			for line := range strings.Lines(fence.Text) {
				if line = strings.TrimSpace(line); left[line] || elsewhere[line] != "" {
					delete(left, line)
					continue
				}
				script += without.Replace(line) + "\n"
				ran++
			}
			out := run(script)
			if strings.Contains(script, "kubectl ") && !strings.Contains(script, "manifestcheck") {
				checkedOnly(t, out)
			}
		}
	}
	if ran < 8 {
		t.Errorf("%d lines were run", ran)
	}
	for line := range left {
		t.Errorf("the guide no longer says %q", line)
	}
	env, err := os.ReadFile(filepath.Join(dir, "deploy", "compose", ".env"))
	if err != nil || strings.Contains(string(env), "PASSWORD=\n") {
		t.Errorf("passwords are missing: %v", err)
	}
}

// checkedOnly holds what kubectl printed to Kubernetes' own types, and to nothing else: part of it may be elsewhere.
func checkedOnly(t *testing.T, text string) {
	t.Helper()
	cmd := command(tool(t, "manifestcheck"))
	cmd.Stdin = strings.NewReader(text)
	if out := output(t, cmd); out == "" {
		t.Errorf("kubectl made nothing:\n%s", text)
	}
}

// TestTheGuidesExamples tries what stands there as YAML: values of the chart, and Prometheus' settings.
func TestTheGuidesExamples(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, section := range docs.Read(t, path("docs", "deploying.md")) {
		for _, fence := range section.Fences {
			if fence.Language != "yaml" {
				continue
			}
			tried++
			file := filepath.Join(t.TempDir(), "example.yaml")
			if err := os.WriteFile(file, []byte(fence.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			if section.Heading == "Helm" {
				if got := kinds(render(t, "--values", file)); !slices.Contains(got, "PrometheusRule") {
					t.Errorf("the example makes %v", got)
				}
				continue
			}
			var settings object
			if err := yaml.Unmarshal([]byte(fence.Text), &settings); err != nil {
				t.Fatal(err)
			}
			output(t, command("cp", path("deploy", "prometheus", "alerts.yml"), filepath.Dir(file)))
			output(t, command(installed(t, "promtool"), "check", "config", file))
			if job := settings.list("scrape_configs")[0].text("job_name"); !strings.Contains(rules(t)[0].Expr, fmt.Sprintf("job=%q", job)) {
				t.Errorf("the alerts want another job than %s", job)
			}
		}
	}
	if tried != 2 {
		t.Errorf("%d examples", tried)
	}
}
