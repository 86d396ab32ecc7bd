// Package rig starts what the end-to-end tests need: a real Prefect server, flows on it, and the listener as a binary.
package rig

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// Root is the checkout's folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Skip leaves a test out because something it needs is not on this machine. In CI everything must be there, so that a
// green run means that every test ran.
func Skip(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("CI must not skip: %s", what)
	}
	t.Skip("skipped: " + what)
}

// Newest is the version of Prefect that the listener is built against.
const Newest = "3.9.1"

// Python is the interpreter of the checkout's virtual environment, which `make test` sets up.
func Python(t testing.TB) string {
	t.Helper()
	return pythonOf(t, Newest)
}

// pythonOf is the interpreter of the virtual environment that holds a version of Prefect.
func pythonOf(t testing.TB, version string) string {
	t.Helper()
	venv := filepath.Join(".cache", "venv")
	if version != Newest {
		venv += "-" + version
	}
	python := filepath.Join(Root(), venv, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		Skip(t, "no Prefect in "+venv+"; run make test")
	}
	return python
}

// SpecDir is the folder of OpenLineage's own schemas beside the checkout.
func SpecDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(Root(), "..", "shared", "openlineage-spec")
	if _, err := os.Stat(dir); err != nil {
		Skip(t, "OpenLineage's schemas are not beside the checkout")
	}
	return dir
}

// FreePort asks the kernel for a port that nobody uses.
func FreePort(t testing.TB) int {
	t.Helper()
	return FreePorts(t, 1)[0]
}

// FreePorts asks for several, each another one: a port that was given back can be given out again at once.
func FreePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	var config net.ListenConfig
	for i := range ports {
		listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// Eventually asks until the answer is yes, and fails the test when that takes longer than allowed. It is for state
// that only a question can show, such as a server's answer.
func Eventually(t testing.TB, within time.Duration, what string, yes func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !yes() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// process runs a command in a group of its own, so that whatever it starts ends with it.
type process struct {
	*exec.Cmd
	done chan struct{}
	err  error
}

func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", cmd.Path, err)
	}
	p := &process{Cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	killGroup(p.Process.Pid)
	<-p.done
}

func itoa(n int) string { return strconv.Itoa(n) }
