package deploy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestReleaseSettings has goreleaser read what a release is made of.
func TestReleaseSettings(t *testing.T) {
	t.Parallel()
	output(t, command(tool(t, "goreleaser"), "check", "--config", path(".goreleaser.yaml")))
}

// TestRelease makes a release for this machine's kind alone, all but the images and the publishing, and looks into it.
func TestRelease(t *testing.T) {
	t.Parallel()
	goreleaser, dpkg := tool(t, "goreleaser"), installed(t, "dpkg-deb")
	tool(t, "cyclonedx-gomod")
	var settings object
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &settings); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	dist := filepath.Join(dir, "dist")
	settings["dist"] = dist
	settings.list("builds")[0]["targets"] = []string{"linux_" + runtime.GOARCH}
	text, err := yaml.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "goreleaser.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(goreleaser, "release", "--snapshot", "--skip=docker", "--config", filepath.Join(dir, "goreleaser.yaml"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(goreleaser)+":"+os.Getenv("PATH"))
	output(t, cmd)

	files := summed(t, dist)
	one := func(end string) string {
		for name := range files {
			if strings.HasSuffix(name, end) {
				return filepath.Join(dist, name)
			}
		}
		t.Fatalf("there is no %s among %v", end, files)
		return ""
	}
	listed := output(t, command("tar", "-tzf", one(".tar.gz")))
	for _, want := range []string{"/listener\n", "/LICENSE\n", "/README.md\n", "/docs/deploying.md\n", "/deploy/systemd/" + unit + "\n", "/deploy/compose/compose.yaml\n"} {
		if !strings.Contains(listed, want) {
			t.Errorf("the archive has no %s:\n%s", strings.TrimSpace(want), listed)
		}
	}
	root := filepath.Join(dir, "root")
	deb := one(".deb")
	output(t, command(dpkg, "--extract", deb, root))
	if said := output(t, command(filepath.Join(root, "usr", "bin", "listener"), "version")); !strings.Contains(said, "-snapshot.") {
		t.Errorf("the packaged binary says %s", said)
	}
	for file, mode := range map[string]os.FileMode{
		"usr/lib/systemd/system/" + unit: 0o644, "etc/prefect-openlineage-listener.env": 0o600,
	} {
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	if conf := output(t, command(dpkg, "--info", deb, "conffiles")); strings.TrimSpace(conf) != "/etc/prefect-openlineage-listener.env" {
		t.Errorf("an upgrade leaves alone: %s", conf)
	}
	if head, err := os.ReadFile(one(".rpm")); err != nil || !strings.HasPrefix(string(head), "\xed\xab\xee\xdb") {
		t.Errorf("the rpm is none: %v", err)
	}
	var sbom struct{ Components []struct{ Name string } }
	content, err := os.ReadFile(one(".cdx.json"))
	if err != nil || json.Unmarshal(content, &sbom) != nil || len(sbom.Components) < 20 {
		t.Errorf("the bill of materials names %d modules: %v", len(sbom.Components), err)
	}
}

// summed are the files that SHA256SUMS lists, each looked at.
func summed(t *testing.T, dist string) map[string]bool {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join(dist, name))
		if got := sha256.Sum256(content); err != nil || hex.EncodeToString(got[:]) != sum {
			t.Errorf("the sum of %s is another one: %v", name, err)
		}
		files[name] = true
	}
	return files
}

// TestPackagesScripts runs what a package runs, where systemd is not the init: it must do nothing and end well.
func TestPackagesScripts(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"postinstall.sh", "configure"}, {"preremove.sh", "upgrade"}, {"preremove.sh", "remove"}, {"preremove.sh", "0"}} {
		output(t, command("sh", "-n", path("deploy", "packages", args[0])))
		if _, err := os.Stat("/run/systemd/system"); err != nil {
			output(t, command("sh", path("deploy", "packages", args[0]), args[1]))
		}
	}
}
