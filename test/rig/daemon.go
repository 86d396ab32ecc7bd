package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Binary builds the listener once for all tests of a process and returns its path.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatalf("building the listener: %v", err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(Root(), ".cache", "test-bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "listener")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/listener")
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// Listener is the binary with settings. It can be started, killed and started again on the same state.
type Listener struct {
	// State is the store's file.
	State string
	Env   []string

	t      testing.TB
	binary string
	dir    string
	log    lockedBuffer
	daemon *process
}

// NewListener prepares a listener for a Prefect with further settings, such as OPENLINEAGE_URL=….
func NewListener(t testing.TB, prefectURL string, env ...string) *Listener {
	t.Helper()
	dir := t.TempDir()
	state := filepath.Join(dir, "state", "listener.db")
	l := &Listener{State: state, t: t, binary: Binary(t), dir: dir}
	l.Env = append([]string{
		"PREFECT_API_URL=" + prefectURL, "LISTENER_STATE=sqlite://" + state, "LISTENER_HTTP_ADDR=127.0.0.1:0",
		"LISTENER_LOG_FORMAT=json", "HOME=" + dir, "PATH=" + os.Getenv("PATH"),
	}, env...)
	return l
}

// Start starts the daemon.
func (l *Listener) Start(args ...string) {
	l.t.Helper()
	cmd := l.Command(append([]string{"run"}, args...)...)
	cmd.Stdout = nil
	cmd.Stderr = &l.log
	l.daemon = start(l.t, cmd)
}

// Kill ends the daemon as a power cut would.
func (l *Listener) Kill() { l.daemon.kill() }

// Stop asks the daemon to end, waits for it and returns its exit code.
func (l *Listener) Stop() int {
	l.t.Helper()
	signalGroup(l.daemon.Process.Pid, syscall.SIGTERM)
	select {
	case <-l.daemon.done:
		return l.daemon.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		l.t.Fatalf("the listener did not end within 30 s of SIGTERM; its log:\n%s", l.Log())
		return -1
	}
}

// Alive says whether the daemon still runs.
func (l *Listener) Alive() bool {
	select {
	case <-l.daemon.done:
		return false
	default:
		return true
	}
}

// Log is all that the daemon wrote to standard error so far, over restarts.
func (l *Listener) Log() string { return l.log.String() }

// LogLines are the log's lines that hold a text.
func (l *Listener) LogLines(text string) []string {
	var lines []string
	for line := range strings.Lines(l.Log()) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Addr is where the daemon's log says that it serves metrics and health; empty before it does.
func (l *Listener) Addr() string {
	for _, line := range l.LogLines(`"started"`) {
		var started struct{ HTTP string }
		if json.Unmarshal([]byte(line), &started) == nil {
			return started.HTTP
		}
	}
	return ""
}

// Command prepares a call of the binary with the same settings.
func (l *Listener) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(l.binary, args...)
	cmd.Env = l.Env
	cmd.Dir = l.dir
	return cmd
}

// Run calls the binary and returns its exit code and what it printed.
func (l *Listener) Run(args ...string) (code int, stdout, stderr string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.binary, args...)
	cmd.Env, cmd.Dir = l.Env, l.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatalf("running listener %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// lockedBuffer is a buffer that a process writes while a test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
