package servers_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
	"github.com/prefect-openlineage/listener/transport/fit"
)

// command finds a program of the system. Debian keeps servers where only root's PATH looks.
func command(t *testing.T, name string) string {
	t.Helper()
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		if path := filepath.Join(folder, name); executable(path) {
			return path
		}
	}
	rig.Skip(t, "there is no "+name)
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// serve runs a server until the test ends, and returns once its port answers. Its output is shown where the test fails.
func serve(t *testing.T, port int, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // it was interrupted
		if t.Failed() {
			t.Logf("%s said:\n%s", name, output.String())
		}
	})
	rig.Eventually(t, 20*time.Second, name+" answers", func() bool {
		conn, err := net.DialTimeout("tcp", address(port), time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// nginx runs one with a server block and returns its port. In the block $PORT is where it listens.
func nginx(t *testing.T, block string) int {
	t.Helper()
	exe := command(t, "nginx")
	port := rig.FreePort(t)
	dir := t.TempDir()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // its workers must read what the test's folder holds
	}
	config := fmt.Sprintf(`%s
worker_processes 1;
daemon off;
pid %[2]s/pid;
error_log stderr;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path %[2]s/body;
  proxy_temp_path %[2]s/proxy;
  fastcgi_temp_path %[2]s/fastcgi;
  uwsgi_temp_path %[2]s/uwsgi;
  scgi_temp_path %[2]s/scgi;
  server {
%[3]s
  }
}
`, user, dir, strings.ReplaceAll(block, "$PORT", strconv.Itoa(port)))
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, port, exe, "-p", dir, "-e", "stderr", "-c", path)
	return port
}

// to builds the one destination of a configuration.
func to(t *testing.T, config map[string]any, reduced ...func(fit.Left)) transport.Transport {
	t.Helper()
	destinations, err := factory.Build(config, factory.Options{
		UserAgent: "test",
		Reduced: func(_ string, _ transport.Event, left fit.Left) {
			for _, tell := range reduced {
				tell(left)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = destinations[0].Transport.Close(context.Background()) }) // it can't fail
	return destinations[0].Transport
}

// get asks a server of the test's own for a page.
func get(t *testing.T, method, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %v", method, url, resp.StatusCode, err)
	}
	return string(body)
}

// held checks that a destination is set up wrongly and no event is to blame.
func held(t *testing.T, err error, reason string) {
	t.Helper()
	if err == nil {
		t.Fatal("delivered")
	}
	if e := transport.ClassifyError(err); e.Outcome != transport.Hold || e.Reason != reason {
		t.Errorf("%v %s: %v; want hold %s", e.Outcome, e.Reason, err, reason)
	}
}
