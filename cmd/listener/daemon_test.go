package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A daemon that is told to stop ends well, also while Prefect is away.
func TestDaemonStops(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{})
			var once sync.Once
			away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				once.Do(func() { close(asked) })
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			defer away.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			daemon := exec.CommandContext(ctx, "listener", "run")
			// One that hangs shows where.
			daemon.Cancel = func() error { return daemon.Process.Signal(syscall.SIGQUIT) }
			dir := t.TempDir()
			daemon.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LISTENER_STATE=sqlite://" + dir + "/listener.db",
				"LISTENER_HTTP_ADDR=127.0.0.1:0", "PREFECT_API_URL=" + away.URL + "/api", "OPENLINEAGE__TRANSPORT__TYPE=noop",
				"GOTRACEBACK=all",
			}
			var said bytes.Buffer
			daemon.Stderr = &said
			if err := daemon.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-asked:
			case <-ctx.Done():
			}
			if err := daemon.Process.Signal(signal); err != nil {
				t.Error(err)
			}
			if err := daemon.Wait(); err != nil {
				t.Errorf("the daemon ends with %v\n%s", err, said.String())
			}
		})
	}
}
