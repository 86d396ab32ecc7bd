package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Prefect is a real Prefect server on a port of its own, with a database of its own.
type Prefect struct {
	// URL is the API's address.
	URL string

	t      testing.TB
	python string
	home   string
	port   int
	env    []string
	server *process
}

// StartPrefect starts a server and waits until it answers. It ends with the test. Env are further variables of the
// server, the flows included.
func StartPrefect(t testing.TB, env ...string) *Prefect {
	t.Helper()
	return StartVersion(t, Newest, env...)
}

// StartVersion starts a server of a version as StartPrefect does. Its flows run on the same version.
func StartVersion(t testing.TB, version string, env ...string) *Prefect {
	t.Helper()
	port := FreePort(t)
	p := &Prefect{
		URL: fmt.Sprintf("http://127.0.0.1:%d/api", port), t: t, python: pythonOf(t, version), home: t.TempDir(), port: port,
		env: env,
	}
	p.Start()
	return p
}

// Start starts the server again after Stop, on the same port and database.
func (p *Prefect) Start() {
	p.t.Helper()
	log, err := os.OpenFile(filepath.Join(p.home, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(filepath.Dir(p.python), "prefect"), "server", "start", "--host", "127.0.0.1", "--port", itoa(p.port))
	cmd.Env = p.environ()
	cmd.Stdout, cmd.Stderr = log, log
	p.server = start(p.t, cmd)
	Eventually(p.t, 4*time.Minute, "the Prefect server answers", func() bool {
		select {
		case <-p.server.done:
			text, _ := os.ReadFile(log.Name())
			p.t.Fatalf("the Prefect server ended: %s", text)
		default:
		}
		return p.healthy()
	})
}

// Stop ends the server; its database stays.
func (p *Prefect) Stop() {
	p.t.Helper()
	signalGroup(p.server.Process.Pid, syscall.SIGTERM)
	select {
	case <-p.server.done:
	case <-time.After(20 * time.Second):
	}
	p.server.kill()
}

func (p *Prefect) healthy() bool {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, p.URL+"/health", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body) == "true"
}

// Environ is the environment of a process that uses this server.
func (p *Prefect) environ() []string {
	env := []string{
		"PREFECT_HOME=" + p.home, "PREFECT_API_URL=" + p.URL, "PREFECT_SERVER_ANALYTICS_ENABLED=false",
		"PREFECT_LOGGING_LEVEL=WARNING", "PREFECT_CLI_PROMPT=false", "PATH=" + os.Getenv("PATH"), "HOME=" + p.home,
	}
	return append(env, p.env...)
}

// RunFlows runs cases of test/flows/kinds.py in one process and waits for it.
func (p *Prefect) RunFlows(cases ...string) {
	p.t.Helper()
	out, err := p.flows(cases...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("running the flows %v: %v\n%s", cases, err, out)
	}
	for _, name := range cases {
		if !bytes.Contains(out, []byte("done "+name+"\n")) {
			p.t.Fatalf("the flow %s did not end:\n%s", name, out)
		}
	}
}

// StartFlows starts cases of test/flows/kinds.py and returns a function that waits for their end.
func (p *Prefect) StartFlows(cases ...string) (wait func()) {
	p.t.Helper()
	var out bytes.Buffer
	cmd := p.flows(cases...)
	cmd.Stdout, cmd.Stderr = &out, &out
	running := start(p.t, cmd)
	return func() {
		p.t.Helper()
		<-running.done
		if running.err != nil {
			p.t.Fatalf("running the flows %v: %v\n%s", cases, running.err, out.String())
		}
	}
}

func (p *Prefect) flows(cases ...string) *exec.Cmd {
	cmd := exec.Command(p.python, append([]string{filepath.Join(Root(), "test", "flows", "kinds.py")}, cases...)...)
	cmd.Env = p.environ()
	cmd.Dir = p.home
	return cmd
}

// Filter asks a list endpoint, such as task_runs, for all its rows.
func (p *Prefect) Filter(resource string, filter map[string]any) []map[string]any {
	p.t.Helper()
	var all []map[string]any
	for offset := 0; ; offset += 200 {
		body := map[string]any{"limit": 200, "offset": offset}
		maps.Copy(body, filter)
		var rows []map[string]any
		p.Post("/"+resource+"/filter", body, &rows)
		all = append(all, rows...)
		if len(rows) < 200 {
			return all
		}
	}
}

// Post sends JSON to the API and decodes the answer, when into is not nil.
func (p *Prefect) Post(path string, body, into any) {
	p.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.URL+path, strings.NewReader(string(text)))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		p.t.Fatalf("POST %s: %s %v: %s", path, answer.Status, err, got)
	}
	if into != nil {
		if err := json.Unmarshal(got, into); err != nil {
			p.t.Fatalf("POST %s: %v", path, err)
		}
	}
}

// RunScript runs a Python program of the checkout against the server and returns its exit code.
func (p *Prefect) RunScript(path string, env ...string) int {
	p.t.Helper()
	cmd := exec.Command(p.python, filepath.Join(Root(), path))
	cmd.Env = append(p.environ(), env...)
	cmd.Dir = p.home
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		p.t.Fatalf("running %s: %v\n%s", path, err, out)
	}
	return cmd.ProcessState.ExitCode()
}
