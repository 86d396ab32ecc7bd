package app

import (
	"fmt"
	"io"
	"time"
)

// screen writes one line over and over, so that a person sees that long work goes on. It is written by one goroutine.
type screen struct {
	to   io.Writer // nil: nobody looks
	last time.Time
}

const screenEvery = 200 * time.Millisecond

func newScreen(to io.Writer) *screen { return &screen{to: to} }

func (s *screen) read(r BackfillResult) {
	s.line("read %d runs, %d events, %d told before", r.Runs, r.Events, r.Repeated)
}

func (s *screen) delivering(name string, pending int64) {
	s.line("%d events wait for %s", pending, name)
}

func (s *screen) line(format string, args ...any) {
	if s.to == nil || time.Since(s.last) < screenEvery {
		return
	}
	s.last = time.Now()
	fmt.Fprintf(s.to, "\r\x1b[K"+format, args...)
}

func (s *screen) clear() {
	if s.to != nil && !s.last.IsZero() {
		fmt.Fprint(s.to, "\r\x1b[K")
	}
}
