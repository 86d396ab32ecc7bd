package oracle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

// daemon is the real binary on one store, over as many starts as a test likes.
type daemon struct {
	t      testing.TB
	binary string
	dir    string
	state  string // the store's file
	env    []string
	// under is a command that the next starts run under, such as strace, and args are further arguments.
	under, args []string

	mu      sync.Mutex
	log     bytes.Buffer // over all starts
	began   int          // where the log of the last start begins
	process *exec.Cmd
	done    chan struct{} // closed when the process has ended
}

// newDaemon prepares a listener with a store in a folder of its own. Env are further settings; the last of a name counts.
func newDaemon(t testing.TB, prefectURL string, env ...string) *daemon {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{t: t, binary: rig.Binary(t), dir: dir}
	d.env = append([]string{
		"PREFECT_API_URL=" + prefectURL, "LISTENER_HTTP_ADDR=127.0.0.1:0", "LISTENER_LOG_FORMAT=json",
		"LISTENER_POLL_INTERVAL=500ms", "LISTENER_MAX_REQUESTS_PER_SECOND=200", "HOME=" + dir, "PATH=" + os.Getenv("PATH"),
	}, env...)
	d.keepIn(filepath.Join(dir, "state"))
	t.Cleanup(d.kill)
	return d
}

// keepIn puts the store into another folder.
func (d *daemon) keepIn(dir string) {
	d.state = filepath.Join(dir, "listener.db")
	d.set("LISTENER_STATE", "sqlite://"+d.state)
}

func (d *daemon) set(name, value string) { d.env = append(d.env, name+"="+value) }

// unset takes a variable away.
func (d *daemon) unset(name string) {
	d.env = slices.DeleteFunc(d.env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// Write takes what the process says.
func (d *daemon) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

// launch starts the process and does not wait for anything.
func (d *daemon) launch() {
	d.t.Helper()
	args := slices.Concat(d.under, []string{d.binary, "run"}, d.args)
	process := exec.Command(args[0], args[1:]...)
	process.Env, process.Dir, process.Stderr = d.env, d.dir, d
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.WaitDelay = time.Minute
	done := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = d.log.Len()
	if err := process.Start(); err != nil {
		d.t.Fatalf("starting the listener: %v", err)
	}
	d.process, d.done = process, done
	go func() {
		defer close(done)
		_ = process.Wait() // the exit code says it
	}()
}

// start starts the process and waits until it is ready. It returns how long that took.
func (d *daemon) start() time.Duration {
	d.t.Helper()
	began := time.Now()
	d.launch()
	for {
		code, body := d.get("/readyz")
		switch {
		case code == http.StatusOK:
			return time.Since(began)
		case !d.alive():
			d.t.Fatalf("the listener ended with %d: %s", d.exitCode(), d.said())
		case time.Since(began) > 30*time.Second:
			d.t.Fatalf("the listener is not ready after 30 s: %s; it said: %s", body, d.said())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (d *daemon) current() (*exec.Cmd, chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process, d.done
}

// signal sends a signal to the process and to what it runs under.
func (d *daemon) signal(s syscall.Signal) {
	if process, _ := d.current(); process != nil {
		_ = syscall.Kill(-process.Process.Pid, s)
	}
}

// kill ends the process as a power cut would, and waits for that.
func (d *daemon) kill() {
	if process, done := d.current(); process != nil {
		d.signal(syscall.SIGKILL)
		<-done
	}
}

// ended waits for the process to end by itself and returns its exit code and how long that took.
func (d *daemon) ended(within time.Duration) (int, time.Duration) {
	d.t.Helper()
	began := time.Now()
	_, done := d.current()
	select {
	case <-done:
	case <-time.After(within):
		d.t.Fatalf("the listener did not end within %s: %s", within, d.said())
	}
	return d.exitCode(), time.Since(began)
}

// stop asks the process to end and wants that to be well.
func (d *daemon) stop() {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	if code, _ := d.ended(30 * time.Second); code != 0 {
		d.t.Errorf("the listener ended with %d: %s", code, d.said())
	}
}

func (d *daemon) alive() bool {
	_, done := d.current()
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// exitCode is that of a process that has ended; one that a signal ended has 128 and the signal's number, as in a shell.
func (d *daemon) exitCode() int {
	process, _ := d.current()
	if status, ok := process.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return process.ProcessState.ExitCode()
}

// said is what the process has logged since it was last started.
func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()[d.began:]
}

// lastWords ends a process that does not do what it should, and returns what it has said since its start and where its
// goroutines stood. The text is cut to what people read.
func (d *daemon) lastWords() string {
	const most = 30_000
	log := d.said()
	if len(log) > most/3 {
		log = "..." + log[len(log)-most/3:]
	}
	if !d.alive() {
		return log
	}
	before := len(d.said())
	d.signal(syscall.SIGQUIT)
	_, done := d.current()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
	dump := d.said()[before:]
	return log + dump[:min(len(dump), most)]
}

// lines are the log's lines, of all starts, that hold a text.
func (d *daemon) lines(text string) []string {
	d.mu.Lock()
	all := d.log.String()
	d.mu.Unlock()
	var found []string
	for line := range strings.Lines(all) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// address is where the process serves metrics and health. Empty: it has not said so yet.
func (d *daemon) address() string {
	for line := range strings.Lines(d.said()) {
		var entry struct {
			Message string `json:"message"`
			HTTP    string `json:"http"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.HTTP != "" {
			return entry.HTTP
		}
	}
	return ""
}

// get asks the process. 0: it does not answer.
func (d *daemon) get(path string) (code int, body string) {
	address := d.address()
	if address == "" {
		return 0, ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// metric is the value of a series, such as outbox_pending{transport="a"}, its labels in the order of their names. -1: the
// process does not answer.
func (d *daemon) metric(series string) float64 {
	d.t.Helper()
	code, text := d.get("/metrics")
	if code == 0 {
		return -1
	}
	for line := range strings.Lines(text) {
		value, found := strings.CutPrefix(strings.TrimSpace(line), "prefect_openlineage_"+series+" ")
		if !found {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			d.t.Fatalf("metric %s: %v", series, err)
		}
		return number
	}
	d.t.Fatalf("there is no metric %s", series)
	return -1
}

// memory is what the process holds in RAM, in MiB.
func (d *daemon) memory() float64 {
	d.t.Helper()
	process, _ := d.current()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kilobytes); n == 1 {
			return kilobytes / 1024
		}
	}
	d.t.Fatal("the process has no VmRSS")
	return 0
}

// command prepares a call of the binary with the same settings.
func (d *daemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.binary, args...)
	cmd.Env, cmd.Dir = d.env, d.dir
	return cmd
}

// run calls the binary, wants it to end well, and returns what it printed.
func (d *daemon) run(args ...string) string {
	d.t.Helper()
	var out, errs bytes.Buffer
	cmd := d.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		d.t.Errorf("listener %v ended with %d: %s", args, exit.ExitCode(), errs.String())
	} else if err != nil {
		d.t.Fatalf("running listener %v: %v", args, err)
	}
	return out.String()
}

// ask calls the binary for JSON.
func (d *daemon) ask(into any, args ...string) {
	d.t.Helper()
	out := d.run(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		d.t.Fatalf("listener %v: %v: %s", args, err, out)
	}
}
