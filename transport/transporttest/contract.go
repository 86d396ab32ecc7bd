package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
)

// Subject makes a fresh transport and a function that returns the bodies which its consumer has by now.
type Subject func(tb testing.TB) (t transport.Transport, taken func() [][]byte)

// Run checks what holds for every kind of transport. Kinds that change bodies on their way have taken change them back.
func Run(t *testing.T, subject Subject) {
	t.Helper()
	t.Run("bodies arrive byte for byte", func(t *testing.T) { runBodies(t, subject) })
	t.Run("many goroutines lose and mix nothing", func(t *testing.T) { runMany(t, subject) })
	t.Run("the caller's event stays as it is", func(t *testing.T) { runUntouched(t, subject) })
	t.Run("a cancelled context ends it", func(t *testing.T) { runCancelled(t, subject) })
	t.Run("closing twice is no harm", func(t *testing.T) { runClose(t, subject) })
}

// Bodies are bodies that encoders and line formats trip over; all are JSON objects on one line.
func Bodies() map[string][]byte {
	return map[string][]byte{
		"an event":      Event(1, 0).Body,
		"escapes":       []byte(`{"a":"\u003c<>&\\\"\n\u0000","b":"\ud83d\ude00 😀"}`),
		"spaces":        []byte(`{ "a" : [ 1 , 2.50 , 1e400 ] , "b" : null }`),
		"big":           fmt.Appendf(nil, `{"a":%q}`, strings.Repeat("0123456789abcdef", 1<<16)),
		"a long number": []byte(`{"n":123456789012345678901234567890.000}`),
	}
}

func runBodies(t *testing.T, subject Subject) {
	tr, taken := subject(t)
	defer closed(t, tr)
	for name, body := range Bodies() {
		event := Event(1, 0)
		event.Body = body
		before := len(taken())
		if err := tr.Emit(t.Context(), event); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := taken()
		if len(got) != before+1 || !bytes.Equal(got[len(got)-1], body) {
			t.Errorf("%s: %d came, the last with %d bytes, want one with the %d that were sent",
				name, len(got)-before, len(got[len(got)-1]), len(body))
		}
	}
}

func runMany(t *testing.T, subject Subject) {
	tr, taken := subject(t)
	defer closed(t, tr)
	const goroutines, each = 16, 5
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for n := range each {
				if err := tr.Emit(t.Context(), Event(g, n)); err != nil {
					t.Errorf("event %d of run %d: %v", n, g, err)
				}
			}
		})
	}
	wg.Wait()
	var want, got []string
	for g := range goroutines {
		for n := range each {
			want = append(want, string(Event(g, n).Body))
		}
	}
	for _, body := range taken() {
		got = append(got, string(body))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d events came, want each of the %d once", len(got), len(want))
	}
}

func runUntouched(t *testing.T, subject Subject) {
	tr, _ := subject(t)
	defer closed(t, tr)
	event := Event(3, 1)
	// Room behind the body: an append to it would write into what others share.
	backing := append(make([]byte, 0, len(event.Body)+64), event.Body...)
	event.Body = backing
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if full := backing[:cap(backing)]; !bytes.Equal(full[:len(backing)], Event(3, 1).Body) ||
		len(bytes.Trim(full[len(backing):], "\x00")) > 0 {
		t.Error("the transport wrote into the event's body")
	}
}

func runCancelled(t *testing.T, subject Subject) {
	tr, taken := subject(t)
	defer closed(t, tr)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := RequireError(t, tr.Emit(ctx, Event(1, 0)))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled {
		t.Errorf("got %v %q, want retry and cancelled", e.Outcome, e.Reason)
	}
	if n := len(taken()); n > 0 {
		t.Errorf("%d events came all the same", n)
	}
}

func runClose(t *testing.T, subject Subject) {
	tr, _ := subject(t)
	for range 2 {
		if err := tr.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func closed(t *testing.T, tr transport.Transport) {
	t.Helper()
	if err := tr.Close(context.Background()); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// RequireError returns the *transport.Error that err is or wraps, and fails the test when there is none.
func RequireError(tb testing.TB, err error) *transport.Error {
	tb.Helper()
	if err == nil {
		tb.Fatal("no error")
	}
	e := transport.ClassifyError(err)
	if e == nil || e.Reason == "" || e.Error() == "" {
		tb.Fatalf("%v is no whole *transport.Error", err)
	}
	if len(e.Answer) > transport.MaxAnswer {
		tb.Errorf("the answer has %d bytes, over the limit", len(e.Answer))
	}
	if strings.ContainsAny(err.Error(), "\r\n") {
		tb.Errorf("the text spreads over lines: %q", err.Error())
	}
	return e
}

// within fails the test when f takes longer than the limit.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > limit {
		t.Errorf("took %v, want at most %v", took, limit)
	}
}
