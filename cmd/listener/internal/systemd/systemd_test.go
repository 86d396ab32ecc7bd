package systemd_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/systemd"
)

func getenv(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	const there = "/run/systemd/notify"
	for _, test := range []struct {
		name      string
		variables map[string]string
		manager   bool
		patience  time.Duration
	}{
		{"no manager", nil, false, 0},
		{"a watchdog without a socket", map[string]string{"WATCHDOG_USEC": "1000000"}, false, 0},
		{"a socket of another family", map[string]string{"NOTIFY_SOCKET": "vsock:2:1234"}, false, 0},
		{"no watchdog", map[string]string{"NOTIFY_SOCKET": there}, true, 0},
		{"an abstract socket", map[string]string{"NOTIFY_SOCKET": "@notify"}, true, 0},
		{"a watchdog", map[string]string{"NOTIFY_SOCKET": there, "WATCHDOG_USEC": "120000000"}, true, 2 * time.Minute},
		{"of this process", map[string]string{"NOTIFY_SOCKET": there, "WATCHDOG_USEC": "5", "WATCHDOG_PID": "42"}, true, 5 * time.Microsecond},
		{"of another process", map[string]string{"NOTIFY_SOCKET": there, "WATCHDOG_USEC": "5", "WATCHDOG_PID": "43"}, true, 0},
		{"of no length", map[string]string{"NOTIFY_SOCKET": there, "WATCHDOG_USEC": "0"}, true, 0},
		{"no number", map[string]string{"NOTIFY_SOCKET": there, "WATCHDOG_USEC": "2min"}, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := systemd.FromEnv(getenv(test.variables), 42)
			if (m != nil) != test.manager {
				t.Fatalf("manager: %v", m)
			}
			if m != nil && m.Patience() != test.patience {
				t.Errorf("patience: %s", m.Patience())
			}
		})
	}
}

func TestTells(t *testing.T) {
	t.Parallel()
	// Paths of sockets are short, those of t.TempDir may be too long.
	dir, err := os.MkdirTemp("", "sd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", &address)
	if err != nil {
		t.Fatal(err)
	}
	m := systemd.FromEnv(getenv(map[string]string{"NOTIFY_SOCKET": address.Name}), 42)
	var got []string
	for _, tell := range []func() error{m.Ready, m.Alive, m.Stopping} {
		if err := tell(); err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 100)
		n, err := socket.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text[:n]))
	}
	if diff := cmp.Diff([]string{"READY=1", "WATCHDOG=1", "STOPPING=1"}, got); diff != "" {
		t.Error(diff)
	}
	socket.Close()
	if err := m.Alive(); err == nil {
		t.Error("nobody listens, and nothing is said of it")
	}
}
