//go:build unix

package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// fileVariables name a file, with a content that passes.
func fileVariables(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"OPENLINEAGE_CONFIG":                        "transport: {type: noop}\n",
		"PREFECT_API_SSL_CERT_FILE":                 certificate(t),
		"PREFECT_PROFILES_PATH":                     "",
		"PREFECT_API_KEY_FILE":                      "pnu_1\n",
		"OPENLINEAGE__TRANSPORT__AUTH__APIKEY_FILE": "key\n",
	}
}

// onDisk loads from the real file system.
func onDisk(line string) (config.Config, error) {
	in := system{env: []string{line}}.input()
	in.Files = os.DirFS("/")
	if strings.Contains(line, "__") {
		in.Environ = append(in.Environ, "OPENLINEAGE__TRANSPORT__TYPE=noop")
	}
	cfg, _, err := config.Load(in)
	return cfg, err
}

// A file without an end, or one that nobody writes to, neither fills the memory nor holds up the start.
func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	for name := range fileVariables(t) {
		for _, path := range []string{"/dev/zero", "/dev/null", dir, fifo, link} {
			_, err := onDisk(name + "=" + path)
			if err == nil || !strings.HasPrefix(err.Error(), name+"="+path+": takes ") || !strings.HasSuffix(err.Error(), ": it is no regular file") {
				t.Errorf("%s=%s: %v, want that it is no regular file", name, path, err)
			}
		}
	}
}

// Kubernetes mounts a secret as a link to a link.
func TestLoadFollowsLinks(t *testing.T) {
	t.Parallel()
	for name, content := range fileVariables(t) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "..2026"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "..2026", "x"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for link, target := range map[string]string{"..data": "..2026", "x": "..data/x"} {
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := onDisk(name + "=" + filepath.Join(dir, "x")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A shell's process substitution is a pipe that it hands over, to be read once.
func TestLoadReadsAPipeThatWasHandedOver(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"OPENLINEAGE_CONFIG": "transport: {type: noop}\n", "PREFECT_API_KEY_FILE": "pnu_1\n"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write.WriteString(content); err != nil {
			t.Fatal(err)
		}
		if err := write.Close(); err != nil {
			t.Fatal(err)
		}
		cfg, err := onDisk(fmt.Sprintf("%s=/dev/fd/%d", name, read.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		if name == "PREFECT_API_KEY_FILE" {
			for range 2 {
				key, err := cfg.Prefect.APIKey.Value()
				equal(t, []any{"pnu_1", nil}, []any{key.Reveal(), err})
			}
		}
		if err := read.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConfigFileSize(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	content := "transport: {type: noop}\n#"
	content += strings.Repeat("x", most-len(content))
	_, _ = mustLoad(t, system{files: yml(content)})
	equal(t, []string{"/srv/app/openlineage.yml: can't be read: it is over 1MiB"}, problems(system{files: yml(content + "x")}))
	equal(t, []string{"OPENLINEAGE_CONFIG=/x.yml: takes an openlineage.yml: it is over 1MiB"},
		problems(system{env: []string{"OPENLINEAGE_CONFIG=/x.yml"}, files: map[string]string{"/x.yml": content + "x"}}))
}
