package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/rig"
)

// compose is the Compose file with everything filled in, from the example of settings with passwords in it.
func compose(t *testing.T) object {
	t.Helper()
	env := filepath.Join(t.TempDir(), "env")
	filled := strings.ReplaceAll(read(t, "deploy", "compose", ".env.example"), "PASSWORD=\n", "PASSWORD=word1234\n")
	if err := os.WriteFile(env, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
	out := output(t, command(tool(t, "composecheck"), path("deploy", "compose", "compose.yaml"), env))
	var project object
	if err := json.Unmarshal([]byte(out), &project); err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose(t *testing.T) {
	t.Parallel()
	project := compose(t)
	services, _ := asMap(project["services"])
	if len(services) != 5 {
		t.Errorf("%d services", len(services))
	}
	for name, value := range services {
		service, _ := asMap(value)
		o := object(service)
		if o.at("healthcheck", "test") == nil {
			t.Errorf("%s says nothing of its health", name)
		}
		if o["read_only"] != true || !slices.Equal(texts(o["cap_drop"]), []string{"ALL"}) || !slices.Equal(texts(o["security_opt"]), []string{"no-new-privileges:true"}) {
			t.Errorf("%s is not locked up", name)
		}
		// The listener's image has a user of its own.
		if user := o.text("user"); name != "listener" && (user == "" || user == "root" || user == "0") {
			t.Errorf("%s runs as %q", name, user)
		}
		for _, port := range o.list("ports") {
			if port.text("host_ip") != "127.0.0.1" {
				t.Errorf("%s is open to others than this machine: %v", name, port)
			}
		}
		if image := o.text("image"); strings.HasSuffix(image, ":latest") || !strings.Contains(image, ":") {
			t.Errorf("%s runs any version: %s", name, image)
		}
	}
	if grace := project.text("services", "listener", "stop_grace_period"); grace != "30s" {
		t.Errorf("the grace is %q", grace)
	}
	if condition := project.text("services", "listener", "depends_on", "prefect", "condition"); condition != "service_healthy" {
		t.Errorf("the listener starts when Prefect is %q", condition)
	}
	if image := project.text("services", "prefect", "image"); !strings.Contains(image, ":"+rig.Newest+"-") {
		t.Errorf("Prefect is %s, and the newest that is tested is %s", image, rig.Newest)
	}
}

func texts(value any) []string {
	var all []string
	items, _ := value.([]any)
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}

// The example of settings holds no password, and the file starts with none.
func TestComposeWantsPasswords(t *testing.T) {
	t.Parallel()
	example := path("deploy", "compose", ".env.example")
	out, err := command(tool(t, "composecheck"), path("deploy", "compose", "compose.yaml"), example).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "put it into .env") {
		t.Errorf("%v: %s", err, out)
	}
}
