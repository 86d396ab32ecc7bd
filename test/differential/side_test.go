package differential_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// configuration is one way of setting OpenLineage up. In env, yaml and files these stand for what differs between
// machines: $SINK, the consumer's address; $HOST, its host and port; $OUT, a folder for files; $WORK and $HOMEDIR, the working and the home folder;
// $CA, $CERT, $KEY and $PEM, certificates for a consumer that speaks TLS; $$ is a dollar sign.
type configuration struct {
	name  string
	env   []string
	yaml  string            // openlineage.yml in the working folder; empty: there is none
	files map[string]string // further files, below the folder that holds the working and the home folder

	script func() transporttest.Script // nil: takes everything
	tls    consumerTLS
	waits  bool // the listener keeps the events and tries again, so that it has to be stopped
}

type consumerTLS uint8

const (
	plain consumerTLS = iota
	tlsServer
	tlsWithClient // asks for a client certificate
)

// The results, in the words of both sides.
const (
	delivered = "delivered" // or written, or printed, or left out because that is what was asked for
	refused   = "refused"   // the configuration
	failed    = "failed"    // at least one event was given up
	waiting   = "waiting"   // kept for another try
)

// observation is what one side did.
type observation struct {
	result   string
	why      string // for people
	requests []transporttest.Request
	files    map[string][]byte
	console  []json.RawMessage
}

// side is a folder of its own and what the names in a configuration stand for.
type side struct {
	dir  string
	env  map[string]string
	sink *transporttest.Sink
}

func prepare(t *testing.T, c configuration) side {
	t.Helper()
	s := side{dir: t.TempDir(), sink: startSink(t, c)}
	for _, dir := range []string{"work", "home", "out"} {
		if err := os.Mkdir(filepath.Join(s.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	values := map[string]string{
		"$": "$", "SINK": s.sink.URL(), "HOST": strings.TrimPrefix(s.sink.URL(), "http://"),
		"OUT": filepath.Join(s.dir, "out"), "WORK": filepath.Join(s.dir, "work"), "HOMEDIR": filepath.Join(s.dir, "home"),
	}
	if c.tls != plain {
		maps.Copy(values, certificates(t, s.dir, s.sink))
	}
	fill := func(text string) string { return os.Expand(text, func(name string) string { return values[name] }) }
	files := maps.Clone(c.files)
	if files == nil {
		files = map[string]string{}
	}
	if c.yaml != "" {
		files["work/openlineage.yml"] = c.yaml
	}
	for name, text := range files {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fill(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.env = map[string]string{"PATH": os.Getenv("PATH"), "HOME": values["HOMEDIR"]}
	for _, pair := range c.env {
		name, value, _ := strings.Cut(pair, "=")
		s.env[name] = fill(value)
	}
	return s
}

func startSink(t *testing.T, c configuration) *transporttest.Sink {
	t.Helper()
	var sink *transporttest.Sink
	switch c.tls {
	case tlsServer:
		sink = transporttest.NewTLSSink(t, nil)
	case tlsWithClient:
		sink = transporttest.NewTLSSink(t, clientWanted())
	case plain:
		sink = transporttest.NewSink(t)
	}
	if c.script != nil {
		sink.Script(c.script())
	}
	return sink
}

// viaPython is what the Python client does.
func viaPython(t *testing.T, w *world, c configuration) observation {
	t.Helper()
	s := prepare(t, c)
	a := w.python.emit(t, task{Env: s.env, Dir: filepath.Join(s.dir, "work"), Events: w.events})
	o := s.observe(t)
	o.console = a.Console
	switch {
	case a.Refused != "":
		o.result, o.why = refused, a.Refused
	case len(a.Failed) > 0:
		o.result, o.why = failed, strings.Join(a.Failed, "; ")
	default:
		o.result = delivered
	}
	return o
}

// viaListener is what the listener does.
func viaListener(t *testing.T, w *world, c configuration) observation {
	t.Helper()
	s := prepare(t, c)
	s.env["PREFECT_API_URL"] = w.prefect
	s.env["LISTENER_STATE"] = "sqlite://" + filepath.Join(s.dir, "state", "listener.db")
	s.env["LISTENER_HTTP_ADDR"] = "127.0.0.1:0"
	code, stdout, stderr := s.listener(t, c.waits, "backfill", "--since", "1h")
	o := s.observe(t)
	o.why = stderr
	for line := range bytes.Lines([]byte(stdout)) {
		o.console = append(o.console, json.RawMessage(bytes.TrimSpace(line)))
	}
	switch code {
	case 0:
		o.result = delivered
		if c.script == nil { // nobody refuses anything
			break
		}
		if _, letters, _ := s.listener(t, false, "deadletters", "list", "-o", "json"); strings.Contains(letters, `"reason"`) {
			o.result = failed
		}
	case 2:
		o.result = refused
	default:
		o.result = waiting
	}
	return o
}

// patience is how long a call of the listener may take.
const patience = 20 * time.Second

// listener calls the binary. With stop it asks it to end once it has said that an event could not be delivered.
func (s side) listener(t *testing.T, stop bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, rig.Binary(t), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir, cmd.Env = filepath.Join(s.dir, "work"), []string{}
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	errs := log{}
	if stop {
		errs.onFailure = cancel
	}
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		t.Fatalf("running listener %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), string(errs.text)
}

// log is what the listener says. One goroutine writes it, and it is read when that is over.
type log struct {
	text      []byte
	onFailure func()
}

func (l *log) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	if l.onFailure != nil && bytes.Contains(l.text, []byte(`"logger":"deliver"`)) {
		l.onFailure()
	}
	return len(p), nil
}

// observe collects what arrived.
func (s side) observe(t *testing.T) observation {
	t.Helper()
	o := observation{requests: s.sink.Requests(), files: map[string][]byte{}}
	root := os.DirFS(filepath.Join(s.dir, "out"))
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		o.files[path], err = fs.ReadFile(root, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
