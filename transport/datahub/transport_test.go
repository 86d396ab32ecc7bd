package datahub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/datahub"
	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a DataHub in memory.
type fake struct {
	// answer decides on each proposal; nil takes all.
	answer func(mcp.Proposal) error

	mu     sync.Mutex
	sent   []mcp.Proposal // what was taken
	calls  int
	closed int
}

func (f *fake) Send(_ context.Context, proposals []mcp.Proposal) []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	errs := make([]error, len(proposals))
	for i, p := range proposals {
		if f.answer != nil {
			errs[i] = f.answer(p)
		}
		if errs[i] == nil {
			f.sent = append(f.sent, p)
		}
	}
	return errs
}

func (f *fake) Probe(context.Context) (string, error) { return "seen", nil }

func (f *fake) Close(context.Context) error {
	f.closed++
	return nil
}

// take returns what was sent since the last call, as URN and aspect.
func (f *fake) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, p := range f.sent {
		names = append(names, string(p.ChangeType)+" "+p.EntityURN+" "+p.AspectName)
	}
	f.sent = nil
	return names
}

func newTransport(f *fake) *datahub.Transport {
	return datahub.New(mapping.Settings{
		URNs: mapping.OpenLineage, Env: "PROD", CancelledAs: aspect.Skipped, Materialize: true, Schema: true, Columns: true,
	}, f, datahub.DefaultResend, nil)
}

// history returns the events of the mapping's own example.
func history(t testing.TB) []transport.Event {
	t.Helper()
	raw, err := os.ReadFile("mapping/testdata/everything.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Events []json.RawMessage }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var events []transport.Event
	for _, body := range file.Events {
		events = append(events, eventOf(t, body))
	}
	return events
}

func eventOf(t testing.TB, body []byte) transport.Event {
	t.Helper()
	var e struct {
		EventType string
		EventTime time.Time
		Run       struct{ RunID string }
		Job       struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	return transport.Event{RunID: e.Run.RunID, Type: e.EventType, Namespace: e.Job.Namespace, Name: e.Job.Name, Time: e.EventTime, Body: body}
}

func ofRun(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "urn:li:dataProcessInstance:") })
}

// What describes flows, tasks and datasets is sent once, what runs do each time.
func TestStructureIsSentWhenItChanged(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tr := newTransport(f)
	events := history(t)
	if err := tr.Emit(t.Context(), events[0]); err != nil {
		t.Fatal(err)
	}
	if first := f.take(); len(ofRun(slices.Clone(first))) < 6 {
		t.Errorf("the first event described too little: %v", first)
	}
	if err := tr.Emit(t.Context(), events[0]); err != nil {
		t.Fatal(err)
	}
	again := f.take()
	if rest := ofRun(slices.Clone(again)); len(rest) > 0 || len(again) != 3 {
		t.Errorf("sent again: %v", again)
	}
	changed := events[0]
	changed.Body = []byte(strings.Replace(string(changed.Body), "Loads the night's orders.", "Loads all orders.", 1))
	changed.Body = []byte(strings.Replace(string(changed.Body), `{"key":"pii"`, `{"key":"new","value":"true"},{"key":"pii"`, 1))
	if err := tr.Emit(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	const flow = "urn:li:dataFlow:(prefect,nightly,prod)"
	job := "urn:li:dataJob:(" + flow + ",nightly)"
	want := []string{
		"UPSERT " + flow + " dataFlowInfo", "UPSERT " + job + " dataJobInfo", "PATCH " + flow + " globalTags", "PATCH " + job + " globalTags",
	}
	if diff := cmp.Diff(want, ofRun(f.take())); diff != "" {
		t.Errorf("after a change (-want +sent):\n%s", diff)
	}
	restarted := newTransport(f)
	if err := restarted.Emit(t.Context(), events[0]); err != nil {
		t.Fatal(err)
	}
	if first := ofRun(f.take()); len(first) < 6 {
		t.Errorf("after a restart only %v", first)
	}
}

// Of a patch only what is new is sent.
func TestAdditionsAreSentOnce(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tr := newTransport(f)
	for _, event := range history(t) {
		_ = tr.Emit(t.Context(), event) // one names a dataset that has no place
	}
	f.take()
	end := history(t)[6]
	more := end
	more.Body = []byte(strings.Replace(string(end.Body), `"inputs":[`, `"inputs":[{"namespace":"mysql://h","name":"shop.new","facets":{}},`, 1))
	_ = tr.Emit(t.Context(), more)
	f.mu.Lock()
	defer f.mu.Unlock()
	found := 0
	for _, p := range f.sent {
		if p.AspectName != "dataJobInputOutput" {
			continue
		}
		found++
		var ops []struct{ Path string }
		if err := json.Unmarshal(p.Aspect, &ops); err != nil || len(ops) != 1 || !strings.Contains(ops[0].Path, "shop.new") {
			t.Errorf("sent %s", p.Aspect)
		}
	}
	if found != 1 {
		t.Errorf("%d patches of the lineage", found)
	}
}

func TestWhatWasToldIsToldAgainAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		tr := newTransport(f)
		event := history(t)[0]
		sent := func() int {
			if err := tr.Emit(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			return len(ofRun(f.take()))
		}
		first := sent()
		time.Sleep(datahub.DefaultResend - time.Second)
		if n := sent(); n != 0 {
			t.Errorf("%d sent before its time", n)
		}
		time.Sleep(time.Second)
		if n := sent(); n != first {
			t.Errorf("%d sent after its time, want %d", n, first)
		}
	})
}

// An event of which a part was not taken is an error, and the next try sends that part and the run's, nothing else.
func TestPartialFailure(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(p mcp.Proposal) error {
		if p.AspectName == "dataJobInfo" {
			return &transport.Error{Outcome: transport.Retry, Reason: "status-503", Err: errors.New("busy")}
		}
		return nil
	}}
	tr := newTransport(f)
	event := history(t)[0]
	e := transporttest.RequireError(t, tr.Emit(t.Context(), event))
	if e.Outcome != transport.Retry || !strings.Contains(e.Error(), "sending dataJobInfo of urn:li:dataJob:") {
		t.Errorf("%v %v", e.Outcome, e)
	}
	f.take()
	f.answer = nil
	if err := tr.Emit(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if rest := ofRun(f.take()); len(rest) != 1 || !strings.HasSuffix(rest[0], " dataJobInfo") {
		t.Errorf("the second try sent %v", rest)
	}
}

// Of several errors the one counts that decides what becomes of the event.
func TestOfSeveralErrors(t *testing.T) {
	t.Parallel()
	class := func(outcome transport.Outcome) error {
		return &transport.Error{Outcome: outcome, Reason: outcome.String(), Err: errors.New(outcome.String())}
	}
	tests := []struct {
		name         string
		first, other error // of the first aspect, of all others
		want         transport.Outcome
	}{
		{"all permanent", class(transport.Permanent), class(transport.Permanent), transport.Permanent},
		{"one may pass", class(transport.Permanent), class(transport.Retry), transport.Retry},
		{"a hold", class(transport.Retry), class(transport.Hold), transport.Hold},
		{"one alone", class(transport.Permanent), nil, transport.Permanent},
		{"of an unknown kind", errors.New("x"), class(transport.Permanent), transport.Retry},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: func(p mcp.Proposal) error {
				if p.AspectName == "dataFlowInfo" {
					return tt.first
				}
				return tt.other
			}}
			e := transporttest.RequireError(t, newTransport(f).Emit(t.Context(), history(t)[0]))
			if e.Outcome != tt.want {
				t.Errorf("%v, want %v: %v", e.Outcome, tt.want, e)
			}
		})
	}
}

// What has no place in DataHub makes a dead letter that says so, and the rest is told.
func TestWhatHasNoPlaceIsNamed(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tr := newTransport(f)
	e := transporttest.RequireError(t, tr.Emit(t.Context(), history(t)[6]))
	if e.Outcome != transport.Permanent || e.Reason != transport.ReasonRefused || !strings.Contains(e.Error(), `output dataset "duckdb:///x ttt`) {
		t.Errorf("%v %q: %v", e.Outcome, e.Reason, e)
	}
	if sent := f.take(); !strings.HasSuffix(sent[len(sent)-1], "dataProcessInstanceRunEvent") {
		t.Errorf("sent %v", sent)
	}
	e = transporttest.RequireError(t, tr.Emit(t.Context(), transport.Event{Body: []byte("{}")}))
	if e.Outcome != transport.Permanent || len(f.take()) > 0 {
		t.Errorf("an event without a run: %v", e)
	}
}

// How long a run took is known when its START went the same way.
func TestDurations(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tr := newTransport(f)
	events := history(t)
	for _, event := range events[1:3] {
		if err := tr.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	last := f.sent[len(f.sent)-1]
	var state struct{ TimestampMillis, DurationMillis int64 }
	if err := json.Unmarshal(last.Aspect, &state); err != nil {
		t.Fatal(err)
	}
	// Both are within one millisecond: the end must not take the place of the start.
	if want := events[1].Time.UnixMilli() + 1; state.TimestampMillis != want || !strings.Contains(string(last.Aspect), `"durationMillis":0`) {
		t.Errorf("%s, want it at %d", last.Aspect, want)
	}
}

func TestACancelledContextEndsIt(t *testing.T) {
	t.Parallel()
	f := &fake{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := transporttest.RequireError(t, newTransport(f).Emit(ctx, history(t)[0]))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonCancelled || f.calls > 0 {
		t.Errorf("%v %q after %d calls", e.Outcome, e.Reason, f.calls)
	}
}

func TestManyAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tr := newTransport(f)
	const goroutines = 16
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for n := range 2 {
				event := transporttest.Event(g, n)
				before := string(event.Body)
				if err := tr.Emit(t.Context(), event); err != nil {
					t.Error(err)
				}
				if string(event.Body) != before {
					t.Error("the event was changed")
				}
			}
		})
	}
	wg.Wait()
	states := map[string]int{}
	for _, p := range f.sent {
		if p.AspectName == "dataProcessInstanceRunEvent" {
			states[p.EntityURN]++
		}
	}
	if len(states) != goroutines {
		t.Errorf("%d runs, want %d", len(states), goroutines)
	}
	for run, n := range states {
		if n != 2 {
			t.Errorf("%s: %d states", run, n)
		}
	}
}

func TestCloseAndProbe(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tr := newTransport(f)
	if seen, err := tr.Probe(t.Context()); seen != "seen" || err != nil {
		t.Errorf("%q, %v", seen, err)
	}
	for range 2 {
		if err := tr.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if f.closed != 1 {
		t.Errorf("closed %d times", f.closed)
	}
}

// What is remembered has a bound: after so many other jobs the first is told again.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	f := &fake{}
	tr := newTransport(f)
	send := func(name string) int {
		body := fmt.Sprintf(`{"eventType":"START","eventTime":"2026-11-30T02:00:00Z","run":{"runId":"r"},"job":{"namespace":"n","name":%q}}`, name)
		if err := tr.Emit(t.Context(), transport.Event{RunID: "r", Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
		return len(ofRun(f.take()))
	}
	first := send("first")
	if n := send("first"); n != 0 {
		t.Fatalf("%d sent again", n)
	}
	for i := range datahub.MaxTold/first + 1 {
		send(fmt.Sprintf("job %d", i))
	}
	if n := send("first"); n != first {
		t.Errorf("%d sent, want all %d again", n, first)
	}
}
