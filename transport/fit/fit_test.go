package fit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/fit"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// large is an event with facets of the sizes that their names say.
func large() transport.Event {
	facet := func(size int) string { return fmt.Sprintf(`{"é<&>":%q}`, strings.Repeat("x", size)) }
	event := transporttest.Event(1, 1)
	event.Body = fmt.Appendf(nil, `{"eventTime":"2026-11-30T10:00:00Z","eventType":"COMPLETE","inputs":[`+
		`{"facets":{"schema":%s},"inputFacets":{"s300":%s},"name":"a","namespace":"n"},{"name":"b","namespace":"n"}],`+
		`"job":{"facets":{"jobType":%s,"s200":%s},"name":"j","namespace":"n"},"outputs":[{"facets":{},"name":"c","namespace":"n"}],`+
		`"producer":"https://example.com/p","run":{"facets":{"parent":%s,"s100":%s,"s2000":%s},"runId":%q},"schemaURL":"u"}`,
		facet(1000), facet(300), facet(50), facet(200), facet(60), facet(100), facet(2000), event.RunID)
	return event
}

// order is in which order parts of it go.
var order = []string{
	"run.facets.s2000", "inputs[0].facets.schema", "inputs[0].inputFacets.s300", "job.facets.s200", "run.facets.s100",
	"inputs", "outputs", "run.facets.parent", "job.facets.jobType",
}

// upTo is a consumer that takes events of up to so many bytes.
func upTo(most int) *transporttest.Recorder {
	return &transporttest.Recorder{OnEmit: func(_ context.Context, event transport.Event) error {
		if len(event.Body) > most {
			return &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonTooLarge, Status: 413, Err: errors.New("too large")}
		}
		return nil
	}}
}

func TestAnEventThatFitsGoesAsItIs(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, len(large().Body)} {
		sink := upTo(len(large().Body))
		to := fit.New(sink, limit, func(transport.Event, fit.Left) { t.Error("said to be smaller") })
		if err := to.Emit(t.Context(), large()); err != nil {
			t.Fatal(err)
		}
		if string(sink.Taken()[0].Body) != string(large().Body) || len(sink.Tried()) != 1 {
			t.Error("the event has changed")
		}
	}
}

func TestALargeEventGoesWithoutItsLargestFacets(t *testing.T) {
	t.Parallel()
	whole := len(large().Body)
	for _, test := range []struct {
		name        string
		known, most int
		left        []string
		tries       int
	}{
		{"known: one", whole - 1, whole - 1, order[:1], 1},
		{"known: two", 1400, 1400, order[:2], 1},
		{"known: all facets", 560, 560, order[:5], 1},
		{"known: the datasets too", 410, 410, order[:7], 1},
		{"refused: one", 0, whole - 1, order[:1], 2},
		{"refused: three at once", 0, 1400, order[:3], 3},
		{"refused: seven", 0, 500, order[:7], 4},
		{"refused: all", 0, 250, order, 5},
		{"known too high", 1400, 700, order[:4], 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var bodies []string
			for range 2 { // a copy is the same copy
				sink := upTo(test.most)
				var said fit.Left
				to := fit.New(sink, test.known, func(_ transport.Event, left fit.Left) { said = left })
				if err := to.Emit(t.Context(), large()); err != nil {
					t.Fatal(err)
				}
				body := sink.Taken()[0].Body
				bodies = append(bodies, string(body))
				if diff := cmp.Diff(fit.Left{Parts: test.left, From: whole, To: len(body)}, said); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if len(sink.Tried()) != test.tries {
					t.Errorf("%d tries, want %d", len(sink.Tried()), test.tries)
				}
			}
			if bodies[0] != bodies[1] {
				t.Error("two copies differ")
			}
			judge(t, bodies[0], test.left)
		})
	}
}

// judge checks that an event is what it was, less what was left out.
func judge(t *testing.T, body string, left []string) {
	t.Helper()
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal(large().Body, &was), json.Unmarshal([]byte(body), &is)); err != nil {
		t.Fatal(err)
	}
	for _, place := range left {
		at := was
		path := strings.Split(place, ".")
		for _, key := range path[:len(path)-1] {
			if key == "inputs[0]" {
				at = at["inputs"].([]any)[0].(map[string]any)
				continue
			}
			at = at[key].(map[string]any)
		}
		if len(path) == 1 {
			at[place] = []any{}
		} else {
			delete(at, path[len(path)-1])
		}
		if slices.Contains(left, "inputs") && place == "inputs" {
			was["inputs"] = []any{}
		}
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(body, "é<&>") && len(left) < len(order) {
		t.Error("what stays is written otherwise")
	}
}

// Where even the bare event is too large the refusal stands, and other errors are not taken for it.
func TestWhatNeverFits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		known  int
		refuse *transport.Error
		body   string
		tries  int
		want   string
	}{
		{"known", 10, nil, string(large().Body), 0, "the event has "},
		{"refused", 0, &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonTooLarge, Err: errors.New("no")}, string(large().Body), 5, "no"},
		{"another refusal", 0, &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonRefused, Err: errors.New("bad")}, string(large().Body), 1, "bad"},
		{"too large for now", 0, &transport.Error{Outcome: transport.Retry, Reason: transport.ReasonTooLarge, Err: errors.New("later")}, string(large().Body), 1, "later"},
		{"no event", 0, &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonTooLarge, Err: errors.New("no")}, `["x"]`, 1, "no"},
		{"no run", 0, &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonTooLarge, Err: errors.New("no")}, `{"job":{}}`, 1, "no"},
		{"odd facets", 0, &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonTooLarge, Err: errors.New("no")}, `{"job":{"facets":[]},"run":{}}`, 1, "no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sink := &transporttest.Recorder{OnEmit: func(context.Context, transport.Event) error { return test.refuse }}
			event := large()
			event.Body = []byte(test.body)
			err := fit.New(sink, test.known, func(transport.Event, fit.Left) { t.Error("said to be delivered") }).Emit(t.Context(), event)
			e := transport.ClassifyError(err)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || len(sink.Tried()) != test.tries {
				t.Errorf("%v after %d tries", err, len(sink.Tried()))
			}
			if test.known > 0 && (e.Outcome != transport.Permanent || e.Reason != transport.ReasonTooLarge) {
				t.Errorf("%v %s", e.Outcome, e.Reason)
			}
		})
	}
}

// Trouble on the way ends the attempt: the caller tries again, and the same copy comes of it.
func TestTroubleInBetween(t *testing.T) {
	t.Parallel()
	small, tries := upTo(500), 0
	sink := &transporttest.Recorder{OnEmit: func(ctx context.Context, event transport.Event) error {
		if tries++; tries == 2 {
			return &transport.Error{Outcome: transport.Retry, Reason: transport.ReasonTimeout, Err: errors.New("slow")}
		}
		return small.OnEmit(ctx, event)
	}}
	to := fit.New(sink, 0, nil)
	if err := to.Emit(t.Context(), large()); err == nil || err.Error() != "slow" {
		t.Fatal(err)
	}
	if err := to.Emit(t.Context(), large()); err != nil {
		t.Fatal(err)
	}
	judge(t, string(sink.Taken()[0].Body), order[:7])
}

func TestProbeAndClose(t *testing.T) {
	t.Parallel()
	sink := upTo(1)
	to := fit.New(sink, 0, nil)
	if says, err := to.Probe(t.Context()); err != nil || says == "" {
		t.Error(says, err)
	}
	if err := to.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whatever a body is, nothing panics and what is sent is smaller each time.
func FuzzFit(f *testing.F) {
	f.Add(string(large().Body))
	f.Add(`{"run":{"facets":{"a":{}}},"job":{},"inputs":[{"facets":null}],"outputs":null}`)
	f.Add(`{"run":null,"job":{"facets":{"":0}},"inputs":[null]}`)
	f.Fuzz(func(t *testing.T, body string) {
		last := len(body) + 1
		sink := &transporttest.Recorder{OnEmit: func(_ context.Context, event transport.Event) error {
			if !json.Valid(event.Body) && event.Body != nil && last <= len(body) {
				t.Errorf("%q is no JSON", event.Body)
			}
			last = len(event.Body)
			return &transport.Error{Outcome: transport.Permanent, Reason: transport.ReasonTooLarge, Err: errors.New("no")}
		}}
		event := large()
		event.Body = []byte(body)
		if err := fit.New(sink, 0, nil).Emit(t.Context(), event); err == nil {
			t.Error("delivered")
		}
	})
}
