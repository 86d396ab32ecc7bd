package console_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/console"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, func(testing.TB) (transport.Transport, func() [][]byte) {
		var out buffer
		return console.New(&out), func() [][]byte {
			if out.crossed.Load() {
				t.Error("two writes were under way at once")
			}
			return out.lines()
		}
	})
}

// buffer is a writer that can be read while it is written, and notes writes that cross.
type buffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	writing atomic.Int32
	crossed atomic.Bool
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.writing.Add(1) > 1 {
		b.crossed.Store(true)
	}
	defer b.writing.Add(-1)
	runtime.Gosched()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) lines() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines [][]byte
	for line := range bytes.Lines(b.text.Bytes()) {
		lines = append(lines, bytes.TrimSuffix(bytes.Clone(line), []byte("\n")))
	}
	return lines
}

// failing gives its results in turn and writes properly afterwards.
type failing struct {
	out     bytes.Buffer
	results []result
}

type result struct {
	n   int
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if len(f.results) == 0 {
		return f.out.Write(p)
	}
	r := f.results[0]
	f.results = f.results[1:]
	f.out.Write(p[:r.n])
	return r.n, r.err
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		result  result
		outcome transport.Outcome
		reason  string
		before  string // what stands before the line of the repeat
	}{
		{"nobody reads", result{0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}, transport.Hold, transport.ReasonBrokenPipe, ""},
		{"it is closed", result{0, os.ErrClosed}, transport.Hold, transport.ReasonBrokenPipe, ""},
		{"the disk is full", result{4, &os.PathError{Op: "write", Path: "out", Err: syscall.ENOSPC}}, transport.Retry, transport.ReasonFull, "abcd\n"},
		{"a short write", result{2, nil}, transport.Retry, transport.ReasonConnection, "ab\n"},
		{"something", result{0, errors.New("something")}, transport.Retry, transport.ReasonConnection, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := &failing{results: []result{tt.result}}
			tr := console.New(out)
			event := transport.Event{Body: []byte("abcdef")}
			e := transporttest.RequireError(t, tr.Emit(t.Context(), event))
			if e.Outcome != tt.outcome || e.Reason != tt.reason {
				t.Errorf("%v %q, want %v %q", e.Outcome, e.Reason, tt.outcome, tt.reason)
			}
			for range 2 {
				if err := tr.Emit(t.Context(), event); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := out.out.String(), tt.before+"abcdef\nabcdef\n"; got != want {
				t.Errorf("%q, want %q: a torn line must not swallow the next", got, want)
			}
		})
	}
}

func TestABrokenPipeOfTheSystem(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_ = r.Close()
	e := transporttest.RequireError(t, console.New(w).Emit(t.Context(), transporttest.Event(1, 0)))
	if e.Outcome != transport.Hold || e.Reason != transport.ReasonBrokenPipe {
		t.Errorf("%v %q", e.Outcome, e.Reason)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"a": 1}`:                 `{"a": 1}`,
		"{\n  \"a\": \"b c\"\r\n}": `{"a":"b c"}`,
		"not\njson":                "not\njson",
	} {
		if got := string(console.Line([]byte(body))); got != want+"\n" {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

func BenchmarkEmit(b *testing.B) {
	tr := console.New(io.Discard)
	event := transporttest.Event(1, 0)
	event.Body = []byte(strings.Repeat("x", 3000))
	for b.Loop() {
		if err := tr.Emit(b.Context(), event); err != nil {
			b.Fatal(err)
		}
	}
}
