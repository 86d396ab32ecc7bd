// Package console writes events to standard output, one JSON line each, for people and for pipes.
package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/prefect-openlineage/listener/transport"
)

// Transport writes events to one writer. It is safe for concurrent use: lines never mix.
//
// A reader that went away (a broken pipe) holds the destination: no event is lost, and none can pass until the process
// is started with a reader again. The process must ignore SIGPIPE, or the runtime ends it when standard output breaks.
type Transport struct {
	mu   sync.Mutex
	out  io.Writer
	torn bool // the last line was cut off in its middle
}

var _ transport.Transport = (*Transport)(nil)

// New returns a transport that writes to out.
func New(out io.Writer) *Transport { return &Transport{out: out} }

// Emit writes one line.
func (t *Transport) Emit(ctx context.Context, event transport.Event) error {
	if err := ctx.Err(); err != nil {
		return transport.ClassifyError(fmt.Errorf("writing to the console: %w", err))
	}
	line := Line(event.Body)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := t.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		t.torn = t.torn || n > 0
		return transport.ClassifyError(fmt.Errorf("writing to the console: %w", err))
	}
	t.torn = false
	return nil
}

// Close does nothing: the writer is the caller's.
func (t *Transport) Close(context.Context) error { return nil }

// Line returns a body as one line with its end. A body that spreads over lines, which canonical JSON does not, is
// compacted first.
func Line(body []byte) []byte {
	var line bytes.Buffer
	line.Grow(len(body) + 1)
	if !bytes.ContainsAny(body, "\r\n") || json.Compact(&line, body) != nil {
		line.Reset()
		line.Write(body)
	}
	line.WriteByte('\n')
	return line.Bytes()
}
