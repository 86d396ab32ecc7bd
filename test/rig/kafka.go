package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Kafka is a real one-node broker with a real schema registry, on ports and with data of their own.
type Kafka struct {
	// Bootstrap is the broker as host:port, Registry the registry's address.
	Bootstrap, Registry string

	t      testing.TB
	script string
	dir    string
	env    []string
}

// StartKafka starts both by the script beside the checkout, and waits until they answer. They end with the test. The
// first start downloads them.
func StartKafka(t testing.TB, topics ...string) *Kafka {
	t.Helper()
	script := filepath.Join(Root(), "..", "shared", "servers", "start-kafka.sh")
	if _, err := os.Stat(script); err != nil {
		Skip(t, "the script that starts Kafka is not beside the checkout")
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		Skip(t, "no Maven, which downloads Kafka")
	}
	base := filepath.Join(Root(), ".cache", "kafka")
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "run-")
	if err != nil {
		t.Fatal(err)
	}
	k := &Kafka{t: t, script: script, dir: dir}
	t.Cleanup(func() {
		_, _ = k.run("stop")
		_ = os.RemoveAll(dir) // what is left there harms nobody
	})
	k.env = append(os.Environ(), "DIR="+dir, "TOPICS="+strings.Join(topics, " "))
	names := []string{"KAFKA_PORT", "CTRL_PORT", "REGISTRY_PORT", "REGISTRY_MGMT_PORT"}
	for i, port := range FreePorts(t, len(names)) {
		k.env = append(k.env, names[i]+"="+strconv.Itoa(port))
	}
	k.lend(base)
	out, err := k.run("start")
	for range 3 {
		if err == nil || !strings.Contains(out, "argument --cluster-id") {
			break
		}
		out, err = k.run("start") // it drew an id that begins with a dash, which Kafka takes for an option
	}
	if err != nil {
		t.Fatalf("starting Kafka: %v\n%s", err, out)
	}
	k.Bootstrap, k.Registry = said(out, "KAFKA_BOOTSTRAP"), said(out, "SCHEMA_REGISTRY_URL")
	if k.Bootstrap == "" || k.Registry == "" {
		t.Fatalf("starting Kafka gave no addresses:\n%s", out)
	}
	k.keep(base)
	return k
}

// downloads are the folders that the script fills once, a finished one last.
var downloads = []string{"libs", "apicurio"}

// lend lets the script find what an earlier start has downloaded.
func (k *Kafka) lend(base string) {
	for _, name := range downloads {
		if _, err := os.Stat(filepath.Join(base, name)); err == nil {
			_ = os.Symlink(filepath.Join(base, name), filepath.Join(k.dir, name)) // without it there is a download
		}
	}
}

// keep leaves what was downloaded for the next start. The servers go on finding it where they began.
func (k *Kafka) keep(base string) {
	for _, name := range downloads {
		here, there := filepath.Join(k.dir, name), filepath.Join(base, name)
		if info, err := os.Lstat(here); err != nil || info.Mode()&os.ModeSymlink != 0 {
			continue
		}
		if os.Rename(here, there) == nil {
			_ = os.Symlink(there, here)
		}
	}
}

func (k *Kafka) run(what string, env ...string) (string, error) {
	cmd := exec.Command(k.script, what)
	cmd.Env = slices.Concat(k.env, env)
	// A group of its own, so that an interrupted test still stops its servers itself.
	cmd.SysProcAttr = ownGroup()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// KillBroker ends the broker as a power cut would. The registry goes on.
func (k *Kafka) KillBroker() {
	k.t.Helper()
	text, err := os.ReadFile(filepath.Join(k.dir, "kafka.pid"))
	if err != nil {
		k.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		k.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		k.t.Fatalf("ending the broker: %v", err)
	}
	Eventually(k.t, 20*time.Second, "the broker has ended", func() bool { return syscall.Kill(pid, 0) != nil })
}

// StartBroker starts the broker again, on the same port and data, and waits until it answers.
func (k *Kafka) StartBroker() {
	k.t.Helper()
	if out, err := k.run("start", "REGISTRY=0"); err != nil {
		k.t.Fatalf("starting the broker again: %v\n%s", err, out)
	}
}

// RegistryHost is where the registry listens, as host:port, and Path what follows it in its address.
func (k *Kafka) RegistryHost() (host, path string) {
	host, path, _ = strings.Cut(strings.TrimPrefix(k.Registry, "http://"), "/")
	return host, "/" + path
}

// DatahubPython is the interpreter of the virtual environment that has DataHub's own client.
func DatahubPython(t testing.TB) string {
	t.Helper()
	python := filepath.Join(Root(), ".cache", "datahub-venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		Skip(t, fmt.Sprintf("DataHub's client is not there; run make test: %v", err))
	}
	return python
}

// said is the value behind a name. What downloads the servers may leave the codes of its colours before it.
func said(out, name string) string {
	_, rest, _ := strings.Cut(out, name+"=")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}
