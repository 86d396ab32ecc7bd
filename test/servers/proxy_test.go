package servers_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// shortLoopback is this machine under a name that does not look so: proxies don't apply to this machine itself.
const shortLoopback = "127.1"

// proxy runs a tinyproxy that asks for user and password, and returns its port.
func proxy(t *testing.T, user, password string) int {
	t.Helper()
	exe := command(t, "tinyproxy")
	port := rig.FreePort(t)
	path := filepath.Join(t.TempDir(), "tinyproxy.conf")
	config := fmt.Sprintf("Port %d\nListen 127.0.0.1\nTimeout 30\nMaxClients 20\nBasicAuth %s %s\nLogLevel Info\n", port, user, password)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, port, exe, "-d", "-c", path)
	return port
}

// ended is a Prefect with one flow run that has ended.
func ended(t *testing.T) string {
	t.Helper()
	server := prefecttest.NewTCP(t)
	flow := server.AddFlow("etl")
	end := time.Now().Add(-time.Minute).Truncate(time.Second)
	server.AddFlowRun(prefect.FlowRun{
		FlowID: flow.ID, RunCount: 1, StartTime: new(end.Add(-time.Minute)), EndTime: &end,
		State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: end},
	})
	return server.URL
}

// Events go through a proxy that asks for a password, over http and, by CONNECT, over https. A wrong password holds the
// destination and stands in no output.
func TestAProxyThatAsksForAPassword(t *testing.T) {
	t.Parallel()
	command(t, "tinyproxy")
	port, dir := proxy(t, "ann", "hunter2"), t.TempDir()
	ours := newAuthority(t, dir, "ours")
	ours.server("server")
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.pem"), filepath.Join(dir, "server-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https"} {
		sink := transporttest.NewSink(t)
		if scheme == "https" {
			sink = transporttest.NewTLSSink(t, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}})
		}
		_, at, _ := strings.Cut(sink.URL(), "127.0.0.1:")
		spec, err := json.Marshal(map[string]any{
			"type": "http", "url": scheme + "://" + shortLoopback + ":" + at,
			"sslContext": map[string]any{"caCertPath": filepath.Join(dir, "ours.pem")},
		})
		if err != nil {
			t.Fatal(err)
		}
		listener := func(t *testing.T, credentials string) *rig.Listener {
			way := "http://" + credentials + "127.0.0.1:" + strconv.Itoa(port)
			return rig.NewListener(t, ended(t), "OPENLINEAGE__TRANSPORT="+string(spec), "HTTP_PROXY="+way, "HTTPS_PROXY="+way)
		}
		t.Run(scheme, func(t *testing.T) {
			code, _, stderr := listener(t, "ann:hunter2@").Run("backfill", "--since", "1h")
			if code != 0 || len(sink.Taken()) != 2 {
				t.Errorf("exit code %d, %d events\n%s", code, len(sink.Taken()), stderr)
			}
		})
		t.Run(scheme+" with a wrong password", func(t *testing.T) {
			l := listener(t, "ann:hunter3@")
			l.Start()
			rig.Eventually(t, 30*time.Second, "the proxy has refused", func() bool { return strings.Contains(l.Log(), "401 Unauthorized") })
			if code := l.Stop(); code != 0 || len(sink.Taken()) != 2 {
				t.Errorf("exit code %d, %d events", code, len(sink.Taken()))
			}
			_, status, _ := l.Run("status")
			if log := l.Log() + status; strings.Contains(log, "hunter3") || !strings.Contains(log, "held") {
				t.Error(log)
			}
		})
	}
}
