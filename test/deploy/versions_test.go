package deploy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/rig"
)

// TestVersions holds every place that names the version to VERSION, and those that name Prefect's to the one that is tested.
func TestVersions(t *testing.T) {
	t.Parallel()
	version := strings.TrimSpace(read(t, "VERSION"))
	for _, where := range []struct {
		file, pattern, want string
		times               int
	}{
		{chart + "/Chart.yaml", `(?m)^appVersion: (.+)$`, version, 1},
		{"deploy/compose/compose.yaml", `ghcr.io/prefect-openlineage/listener:([^}\s]+)`, version, 1},
		{"deploy/compose/.env.example", `ghcr.io/prefect-openlineage/listener:(\S+)`, version, 1},
		{"deploy/kubernetes/kustomization.yaml", `newTag: (\S+)`, version, 1},
		{"deploy/kubernetes/listener.yaml", `ghcr.io/prefect-openlineage/listener:(\S+)`, version, 1},
		{"deploy/kubernetes/sidecar/prefect-server.yaml", `ghcr.io/prefect-openlineage/listener:(\S+)`, version, 1},
		{"deploy/kubernetes/sidecar/prefect-server.yaml", `prefecthq/prefect:([0-9.]+)-`, rig.Newest, 1},
		{"deploy/compose/compose.yaml", `prefecthq/prefect:([0-9.]+)-`, rig.Newest, 1},
		{"deploy/compose/.env.example", `prefecthq/prefect:([0-9.]+)-`, rig.Newest, 1},
	} {
		found := regexp.MustCompile(where.pattern).FindAllStringSubmatch(read(t, where.file), -1)
		if len(found) != where.times {
			t.Errorf("%s has %q %d times", where.file, where.pattern, len(found))
		}
		for _, match := range found {
			if match[1] != where.want {
				t.Errorf("%s says %s, not %s", where.file, match[1], where.want)
			}
		}
	}
}

// TestImagesGo has the image built with a Go that go.mod allows.
func TestImagesGo(t *testing.T) {
	t.Parallel()
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	used := regexp.MustCompile(`golang:(\d+\.\d+)\.\d+-`).FindStringSubmatch(read(t, "Dockerfile"))
	if wanted == nil || used == nil || wanted[1] != used[1] {
		t.Errorf("go.mod says %v, the Dockerfile %v", wanted, used)
	}
}
