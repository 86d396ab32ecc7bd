package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/state/sqlite"
)

// The test binary runs itself as a process that can be killed: what it is to do stands in its environment.
const (
	childEnv = "LISTENER_STATE_TEST_CHILD" // work, hold, open or recover
	pathEnv  = "LISTENER_STATE_TEST_PATH"
)

// What the child says on its standard output, a line each, once the store has said yes.
const (
	saidReady     = "ready"
	saidCommitted = "committed"
	saidSettled   = "settled"
	saidError     = "error"
)

func child() int {
	runtime.LockOSThread() // strace counts the system calls of each thread for itself
	ctx := context.Background()
	if os.Getenv(childEnv) == "recover" {
		if _, err := sqlite.Recover(ctx, os.Getenv(pathEnv), sqlite.Options{}); err != nil {
			return say(err)
		}
		return 0
	}
	s, err := sqlite.Open(ctx, os.Getenv(pathEnv), sqlite.Options{Daemon: true})
	if err != nil {
		return say(err)
	}
	fmt.Println(saidReady)
	switch os.Getenv(childEnv) {
	case "hold":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "work":
		if err := work(ctx, s); err != nil {
			code := say(err)
			// After the disk failed nothing more may be written, whoever asks.
			if _, err := s.Commit(ctx, state.Batch{Cursors: map[string][]byte{"poll": []byte("-1")}}); errors.Is(err, state.ErrFatalIO) {
				code = 5
			}
			_ = s.Close()
			return code
		}
	}
	if err := s.Close(); err != nil {
		return say(err)
	}
	return 0
}

func say(err error) int {
	fmt.Println(saidError, err)
	return 1
}

// perCommit is how many events each of the child's transactions makes.
const perCommit = 3

// work goes on from the cursor: three events and the cursor in each transaction, and two deliveries after it.
func work(ctx context.Context, s *sqlite.Store) error {
	if err := s.Register(ctx, []state.Destination{{Name: "one", Kind: "http"}}); err != nil {
		return err
	}
	at, err := position(ctx, s)
	if err != nil {
		return err
	}
	for i := at + 1; ; i++ {
		if _, err := s.Commit(ctx, portion(i)); err != nil {
			return err
		}
		fmt.Println(saidCommitted, i)
		due, err := s.Claim(ctx, "one", time.Now(), 2, nil)
		if err != nil {
			return err
		}
		var settlements []state.Settlement
		for _, d := range due {
			settlements = append(settlements, state.Settlement{Seq: d.Seq})
		}
		if err := s.Settle(ctx, "one", settlements); err != nil {
			return err
		}
		for _, d := range due {
			fmt.Println(saidSettled, d.Seq)
		}
	}
}

func portion(i int) state.Batch {
	run := uuid.NewSHA1(uuid.NameSpaceOID, []byte(fmt.Sprint("run ", i)))
	job := adapter.RunRef{RunID: run, Namespace: "test", Name: "etl"}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
	batch := state.Batch{
		Told: []adapter.Told{{ID: run, Kind: adapter.FlowRun, Run: job, Phase: adapter.Ended, Start: at,
			EndType: adapter.Complete, End: at}},
		Cursors: map[string][]byte{"poll": []byte(fmt.Sprint(i))},
	}
	for _, kind := range []adapter.EventType{adapter.Start, adapter.Running, adapter.Complete} {
		batch.Events = append(batch.Events, adapter.Event{
			Run: run, First: kind == adapter.Start, Type: kind, Time: at, Job: job,
			Body: []byte(strings.Repeat(fmt.Sprintf(`{"event":"%s %d"}`, kind, i), 40)),
		})
	}
	return batch
}

func position(ctx context.Context, s *sqlite.Store) (int, error) {
	text, err := s.Cursor(ctx, "poll")
	if err != nil || text == nil {
		return 0, err
	}
	var i int
	_, err = fmt.Sscan(string(text), &i)
	return i, err
}

// heard is what a child promised so far.
type heard struct {
	committed int // the last
	settled   map[int64]bool
	err       string
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	stop  io.Closer // ends a child that holds a store
	heard heard
}

// startChild runs the test binary as that kind of child, under the given program if there is one.
func startChild(t *testing.T, kind, path string, under ...string) *process {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	args := slices.Concat(under, []string{self, "-test.run=^$"})
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+kind, pathEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{cmd: cmd, lines: make(chan string, 1<<16), stop: in, heard: heard{settled: map[int64]bool{}}}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p
}

// await waits for the child to say that word, and fails the test if it ends first.
func (p *process) await(t *testing.T, word string) {
	t.Helper()
	for line := range p.lines {
		p.note(t, line)
		if strings.HasPrefix(line, word) {
			return
		}
	}
	t.Fatalf("the child ended before it said %q: %v, %s", word, p.cmd.Wait(), p.heard.err)
}

// listen reads to the end of the child's words and waits for its end.
func (p *process) listen(t *testing.T) (heard, error) {
	t.Helper()
	for line := range p.lines {
		p.note(t, line)
	}
	return p.heard, p.cmd.Wait()
}

func (p *process) note(t *testing.T, line string) {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case saidCommitted:
		_, err := fmt.Sscan(rest, &p.heard.committed)
		must(t, err)
	case saidSettled:
		var seq int64
		_, err := fmt.Sscan(rest, &seq)
		must(t, err)
		p.heard.settled[seq] = true
	case saidError:
		p.heard.err = rest
	}
}
