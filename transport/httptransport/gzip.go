package httptransport

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prefect-openlineage/listener/transport"
)

// gzipLevel is the Python client's.
const gzipLevel = 3

// compression makes gzip bodies and remembers whether the consumer takes them.
type compression struct {
	state   atomic.Int32
	writers sync.Pool
}

// What is known of the consumer. It may know gzip and still refuse an event; it may also take the compressed bytes for
// broken JSON and blame the event.
const (
	gzipUnknown int32 = iota
	gzipAccepted
	gzipRefused
)

func (c *compression) wanted() bool { return c.state.Load() != gzipRefused }
func (c *compression) refuse()      { c.state.Store(gzipRefused) }
func (c *compression) accept()      { c.state.CompareAndSwap(gzipUnknown, gzipAccepted) }

// blamed reports whether a refusal may be about the compression, so that the event deserves to be sent plain once.
func (c *compression) blamed(e *transport.Error) bool {
	if e == nil || e.Outcome != transport.Permanent {
		return false
	}
	if e.Status == http.StatusUnsupportedMediaType {
		return true
	}
	return c.state.Load() == gzipUnknown && e.Status != http.StatusRequestEntityTooLarge
}

// compress returns body in gzip form, the same bytes for the same body.
func (c *compression) compress(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w, _ := c.writers.Get().(*gzip.Writer)
	if w == nil {
		var err error
		if w, err = gzip.NewWriterLevel(&out, gzipLevel); err != nil {
			return nil, fmt.Errorf("compressing an event: %w", err)
		}
	} else {
		w.Reset(&out)
	}
	if _, err := w.Write(body); err != nil {
		return nil, fmt.Errorf("compressing an event: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing an event: %w", err)
	}
	w.Reset(io.Discard) // a pooled writer must not hold on to the body
	c.writers.Put(w)
	return out.Bytes(), nil
}
