package gcplineage_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/gcplineage"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func many(prefix string, n int) []names {
	all := make([]names, n)
	for i := range all {
		all[i] = names{"bigquery", fmt.Sprintf("p.%s.t%d", prefix, i)}
	}
	return all
}

// Every pair of an input and an output is in exactly one message, and none has too many.
func TestParts(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := to(t, sink, nil, static("x"))
	rapid.Check(t, func(rt *rapid.T) {
		in, out := rapid.IntRange(0, 130).Draw(rt, "inputs"), rapid.IntRange(0, 130).Draw(rt, "outputs")
		review := tr.Review(with(many("in", in), many("out", out)))
		seen := map[[2]string]int{}
		for _, body := range review.Copies {
			inputs, outputs := sets(t, body)
			if len(inputs)*len(outputs) > gcplineage.MaxLinks {
				rt.Fatalf("a message with %d links", len(inputs)*len(outputs))
			}
			for _, a := range inputs {
				for _, b := range outputs {
					seen[[2]string{a.Name, b.Name}]++
				}
			}
		}
		if len(seen) != in*out || (in*out <= gcplineage.MaxLinks && len(review.Copies) != 1) || len(review.Copies) > 20 {
			rt.Fatalf("%d links of %d in %d messages", len(seen), in*out, len(review.Copies))
		}
		for pair, n := range seen {
			if n != 1 {
				rt.Fatalf("%v is in %d messages", pair, n)
			}
		}
	})
}

// 40 inputs and 30 outputs go in two messages, each with an id of its own; a failure between them repeats both.
func TestPartsThatFail(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := to(t, sink, nil, static("x"))
	event := with(many("in", 40), many("out", 30))
	sink.Script(transporttest.Sequence(transporttest.OK(), transporttest.Reply{Status: 429, Body: said("RESOURCE_EXHAUSTED", "Quota")}))
	if e := transporttest.RequireError(t, tr.Emit(t.Context(), event)); e.Outcome != transport.Retry {
		t.Errorf("%v", e)
	}
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range sink.Requests() {
		ids = append(ids, r.URL.Query().Get("requestId"))
	}
	if len(ids) != 4 || ids[0] == ids[1] || ids[0] != ids[2] || ids[1] != ids[3] {
		t.Errorf("the ids are %v", ids)
	}
}

// An event whose links do not fit into twenty messages goes without its datasets rather than not at all, which is told.
func TestFarTooManyLinks(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	var left []string
	tr := fit.New(to(t, sink, nil, static("x")), gcplineage.DefaultMaxBytes, func(_ transport.Event, l fit.Left) { left = l.Parts })
	if err := tr.Emit(t.Context(), with(many("in", 300), many("out", 200))); err != nil {
		t.Fatal(err)
	}
	in, out := sets(t, sink.Taken()[0].Body)
	if len(in)*len(out) != 0 || len(left) == 0 || len(sink.Requests()) != 1 {
		t.Errorf("%d inputs, %d outputs in %d requests, without %v", len(in), len(out), len(sink.Requests()), left)
	}
}

// Google's copy is what counts against the limit, and it has a facet more.
func TestSizeOfTheCopy(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	event := transporttest.Event(1, 1)
	tr := to(t, sink, map[string]any{"max_event_bytes": len(event.Body) + 10}, static("x"))
	e := transporttest.RequireError(t, tr.Emit(t.Context(), event))
	if e.Outcome != transport.Permanent || e.Reason != transport.ReasonTooLarge || len(sink.Requests()) != 0 {
		t.Errorf("%v %s after %d requests", e.Outcome, e.Reason, len(sink.Requests()))
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	tr := to(t, sink, nil, static("x"))
	sink.Script(transporttest.Always(transporttest.Reply{Status: http.StatusNotFound, Body: said("NOT_FOUND", "Process not found")}))
	says, err := tr.Probe(t.Context())
	if err != nil || says != sink.URL()+"/v1/projects/demo/locations/us-central1 is reached, and the credentials may look at processes there" {
		t.Errorf("%q, %v", says, err)
	}
	want := []string{"GET /v1/projects/demo/locations/us-central1/processes/prefect-openlineage-listener.check"}
	var got []string
	for _, r := range sink.Requests() {
		got = append(got, r.Method+" "+r.URL.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, reply := range []transporttest.Reply{
		{Status: 404, Body: "<html>nobody knows</html>"},
		{Status: 403, Body: said("PERMISSION_DENIED", "no", reason("SERVICE_DISABLED", nil))},
		{Status: 503, Body: said("UNAVAILABLE", "later")},
	} {
		sink.Script(transporttest.Always(reply))
		if says, err := tr.Probe(t.Context()); err == nil {
			t.Errorf("%d is well: %s", reply.Status, says)
		}
	}
	sink.Script(nil)
	if says, err := tr.Probe(t.Context()); err != nil || says == "" {
		t.Errorf("%q, %v", says, err)
	}
}
