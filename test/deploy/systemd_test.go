package deploy_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
)

const unit = "prefect-openlineage-listener.service"

// unitHere is the unit with the binary and the settings' file of this machine in it.
func unitHere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	env := filepath.Join(dir, "env")
	if err := os.WriteFile(env, []byte(read(t, "deploy", "systemd", "listener.env")), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("ExecStart=listener ", "ExecStart="+rig.Binary(t)+" ", "/etc/prefect-openlineage-listener.env", env).
		Replace(read(t, "deploy", "systemd", unit))
	file := filepath.Join(dir, unit)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestUnit has systemd read the unit, and say how much of the machine the service could still harm.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze := installed(t, "systemd-analyze")
	file := unitHere(t)
	out, err := command(analyze, "verify", "--man=no", "--recursive-errors=no", file).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// 0 is no exposure, 10 that of a service without any of its settings. Threshold 20 is an exposure of 2.0.
	out, err = command(analyze, "security", "--no-pager", "--offline=true", "--threshold=20", file).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// The listener tells its service manager when it is ready, that it lives, and that it stops.
func TestUnitsProtocol(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sd") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", &address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	l := rig.NewListener(t, prefecttest.NewTCP(t).URL, "NOTIFY_SOCKET="+address.Name, "WATCHDOG_USEC=600000")
	l.Start()
	heard := func() string {
		text := make([]byte, 100)
		if err := socket.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := socket.Read(text)
		if err != nil {
			t.Fatalf("%v; its log:\n%s", err, l.Log())
		}
		return string(text[:n])
	}
	if first := heard(); first != "READY=1" {
		t.Errorf("first it says %s", first)
	}
	for range 3 {
		if sign := heard(); sign != "WATCHDOG=1" {
			t.Errorf("then it says %s", sign)
		}
	}
	if code := l.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	last := ""
	for last != "STOPPING=1" {
		if last = heard(); last != "STOPPING=1" && last != "WATCHDOG=1" {
			t.Fatalf("at last it says %s", last)
		}
	}
}

// What waits for the listener's end waits longer than the end may take: the sends' patience and two rounds of closing.
func TestGraceFitsTheDrain(t *testing.T) {
	t.Parallel()
	drain := seconds(t, `DefaultShutdownTimeout = (\d+) \* time.Second`, "cmd", "listener", "internal", "deliver", "deliver.go") +
		seconds(t, `stopTimeout = (\d+) \* time.Second`, "cmd", "listener", "internal", "app", "options.go") +
		seconds(t, `stopTimeout = (\d+) \* time.Second`, "cmd", "listener", "internal", "ops", "server.go")
	for _, where := range []struct {
		pattern string
		file    []string
	}{
		{`TimeoutStopSec=(\d+)s`, []string{"deploy", "systemd", unit}},
		{`stop_grace_period: (\d+)s`, []string{"deploy", "compose", "compose.yaml"}},
		{`terminationGracePeriodSeconds: (\d+)`, []string{chart, "values.yaml"}},
		{`then everything is closed.",\s+"type": "integer",\s+"minimum": (\d+)`, []string{chart, "values.schema.json"}},
		{`terminationGracePeriodSeconds: (\d+)`, []string{"deploy", "kubernetes", "listener.yaml"}},
		{`terminationGracePeriodSeconds: (\d+)`, []string{"deploy", "kubernetes", "sidecar", "prefect-server.yaml"}},
	} {
		if grace := seconds(t, where.pattern, where.file...); grace < drain {
			t.Errorf("%v waits %d s, and the listener may take %d s", where.file, grace, drain)
		}
	}
}

// seconds is the number that a pattern finds in a file.
func seconds(t *testing.T, pattern string, file ...string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file...))
	if found == nil {
		t.Fatalf("%v has no %s", file, pattern)
	}
	var n int
	if _, err := fmt.Sscan(found[1], &n); err != nil {
		t.Fatal(err)
	}
	return n
}
