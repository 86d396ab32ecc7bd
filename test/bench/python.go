package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

// runPackage starts openlineage-prefect as its own page says.
const runPackage = `import asyncio
from openlineage_prefect.prefect_adapter.listener import PrefectOpenLineageListener
asyncio.run(PrefectOpenLineageListener().collect_and_process_runs())`

// pythonPackage starts openlineage-prefect, from a virtual environment of its own.
func (b *bench) pythonPackage(prefectURL, sinkURL string) func() {
	python := filepath.Join(rig.Root(), ".cache", "bench-venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		b.Fatalf("openlineage-prefect is not there (make bench sets it up): %v", err)
	}
	home := b.TempDir()
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), python, "-c", runPackage)
	cmd.Dir = home
	cmd.Env = []string{
		"PREFECT_API_URL=" + prefectURL, "OPENLINEAGE_URL=" + sinkURL, "PREFECT_HOME=" + home, "HOME=" + home,
		"PREFECT_LOGGING_LEVEL=WARNING", "PATH=" + os.Getenv("PATH"),
	}
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		b.Fatalf("starting openlineage-prefect: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // it is ended by a signal, or has ended itself, which shows in what came
	}()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	}
	b.Cleanup(stop)
	return stop
}
