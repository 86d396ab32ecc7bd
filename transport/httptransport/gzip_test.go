package httptransport_test

import (
	"bytes"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// withoutGzip answers compressed requests with a reply and leaves the others to a script.
func withoutGzip(refusal transporttest.Reply, rest transporttest.Script) transporttest.Script {
	return func(r transporttest.Request) transporttest.Reply {
		if r.Header.Get("Content-Encoding") != "" {
			return refusal
		}
		return rest(r)
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := build(t, map[string]any{"url": sink.URL(), "compression": "gzip"})
	deliver(t, tr)
	deliver(t, tr)
	got := sink.Taken()
	if got[0].Header.Get("Content-Encoding") != "gzip" || bytes.Equal(got[0].Raw, got[0].Body) {
		t.Error("not compressed, or not said so")
	}
	if !bytes.Equal(got[0].Body, transporttest.Event(1, 0).Body) || !bytes.Equal(got[0].Raw, got[1].Raw) {
		t.Error("the body is another, or its copies differ")
	}
	if got[0].Header.Get("Content-Length") != lengthOf(got[0].Raw) {
		t.Errorf("Content-Length %s of %d", got[0].Header.Get("Content-Length"), len(got[0].Raw))
	}
}

func TestAConsumerWithoutGzipGetsPlain(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]transporttest.Reply{
		"415":                          transporttest.Status(415),
		"400":                          transporttest.Status(400),
		"Marquez reads bytes for JSON": {Status: 500, Body: `{"code":400,"message":"Illegal character"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(withoutGzip(refusal, transporttest.Always(transporttest.OK())))
			tr := build(t, map[string]any{"url": sink.URL(), "compression": "gzip", "retry": map[string]any{"total": 0}})
			for range 3 {
				deliver(t, tr)
			}
			if n := len(sink.Requests()); n != 4 {
				t.Errorf("%d requests for 3 events, want 4: once refused, gzip is given up", n)
			}
		})
	}
}

func TestABadEventIsNotBlamedOnGzip(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := build(t, map[string]any{"url": sink.URL(), "compression": "gzip"})
	sink.Script(transporttest.Always(transporttest.Status(400)))
	if e := transporttest.RequireError(t, emit(t, tr)); e.Outcome != transport.Permanent {
		t.Errorf("%v", e.Outcome)
	}
	if n := len(sink.Requests()); n != 2 {
		t.Errorf("%d requests, want one in gzip and one plain", n)
	}
	sink.Script(nil)
	deliver(t, tr)
	if got := sink.Taken()[0]; got.Header.Get("Content-Encoding") != "gzip" {
		t.Error("gzip was given up although plain was refused as well")
	}
	// Now gzip is known to work: a refusal is the event's.
	sink.Script(transporttest.Always(transporttest.Status(400)))
	before := len(sink.Requests())
	_ = emit(t, tr)
	if n := len(sink.Requests()) - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	sink.Script(withoutGzip(transporttest.Status(415), transporttest.Always(transporttest.OK())))
	deliver(t, tr) // a gateway that has changed its mind
	sink.Script(transporttest.Always(transporttest.Status(503)))
	if e := transporttest.RequireError(t, emit(t, tr)); e.Outcome != transport.Retry {
		t.Errorf("%v", e.Outcome)
	}
}
