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

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/transport/transporttest"
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

// Whoever reads the console's events may go away: the other destinations get theirs all the same.
func TestBrokenStandardOutput(t *testing.T) {
	t.Parallel()
	prefect := prefecttest.NewTCP(t)
	prefect.AddHistory(prefecttest.History{
		Flows: 1, FlowRuns: 50, Tasks: 1, From: time.Now().Add(-30 * time.Minute), Every: time.Second, Lasts: time.Second,
	})
	sink := transporttest.NewSink(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	dir := t.TempDir()
	daemon := exec.CommandContext(ctx, "listener", "run")
	daemon.Stdout = writer
	daemon.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LISTENER_STATE=sqlite://" + dir + "/listener.db",
		"LISTENER_HTTP_ADDR=127.0.0.1:0", "PREFECT_API_URL=" + prefect.URL,
		`OPENLINEAGE__TRANSPORT={"type":"composite","transports":{"screen":{"type":"console"},"sink":{"type":"http","url":"` + sink.URL() + `"}}}`,
	}
	var said bytes.Buffer
	daemon.Stderr = &said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	sink.WaitTaken(t, 200)
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon ends with %v\n%s", err, said.String())
	}
}
