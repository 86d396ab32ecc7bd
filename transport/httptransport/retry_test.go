package httptransport_test

import (
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestTheQuickTry(t *testing.T) {
	t.Parallel()
	none := map[string]any{"total": 0}
	tests := []struct {
		name      string
		reply     transporttest.Reply
		retry     map[string]any
		requests  int
		delivered bool
	}{
		{"503", transporttest.Status(503), fast, 2, true},
		{"500", transporttest.Status(500), fast, 2, true},
		{"a reset", transporttest.Break(transporttest.ResetBefore), fast, 2, true},
		{"a reset that the event survived", transporttest.Break(transporttest.ResetAfter), fast, 2, true},
		{"a cut answer", transporttest.Break(transporttest.CutHead), fast, 2, true},
		{"not for 429", transporttest.Status(429), fast, 1, false},
		{"not for 507, which is not in the list", transporttest.Status(507), fast, 1, false},
		{"not against Retry-After", transporttest.After(503, "1"), fast, 1, false},
		{"not for 404", transporttest.Status(404), fast, 1, false},
		{"not for 422", transporttest.Status(422), fast, 1, false},
		{"total: 0", transporttest.Status(503), none, 1, false},
		{"total: 0 and a reset", transporttest.Break(transporttest.ResetBefore), none, 1, false},
		{"read: 0", transporttest.Break(transporttest.ResetBefore), with(fast, map[string]any{"read": 0}), 1, false},
		{"status: 0", transporttest.Status(503), with(fast, map[string]any{"status": 0}), 1, false},
		{"a status of one's own", transporttest.Status(409), with(fast, map[string]any{"status_forcelist": []any{409}}), 2, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(transporttest.Sequence(tt.reply))
			err := emit(t, build(t, map[string]any{"url": sink.URL(), "retry": tt.retry}))
			if n := len(sink.Requests()); n != tt.requests || (err == nil) != tt.delivered {
				t.Errorf("%d requests, error %v; want %d, delivered: %v", n, err, tt.requests, tt.delivered)
			}
		})
	}
}

func TestNoMoreThanOneQuickTry(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Reply{Status: 503, Body: "the third would help"}))
	e := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": sink.URL(), "retry": fast})))
	if n := len(sink.Requests()); n != 2 || e.Status != 503 || string(e.Answer) != "the third would help" {
		t.Errorf("%d requests, status %d, answer %q", n, e.Status, e.Answer)
	}
}

// While a destination is down, each attempt is one request: the caller's backoff decides, not a try behind its back.
func TestNoQuickTryWhileTheDestinationIsDown(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Status(503)))
	tr := build(t, map[string]any{"url": sink.URL(), "retry": fast})
	for attempt, want := range []int{2, 3, 4} {
		_ = emit(t, tr)
		if n := len(sink.Requests()); n != want {
			t.Errorf("%d requests after attempt %d, want %d", n, attempt, want)
		}
	}
	sink.Script(transporttest.Sequence(transporttest.OK(), transporttest.Status(503)))
	deliver(t, tr)
	if err := emit(t, tr); err != nil {
		t.Errorf("well again, and no quick try: %v", err)
	}
	sink.Script(transporttest.Sequence(transporttest.Status(422), transporttest.Status(503)))
	_ = emit(t, tr)
	if err := emit(t, tr); err != nil {
		t.Errorf("a refused event says nothing against the destination: %v", err)
	}
}

func TestStatusesOfTheListAreRetriedByTheCaller(t *testing.T) {
	t.Parallel()
	retry := with(fast, map[string]any{"status_forcelist": []any{404, 422, 302}})
	for status, want := range map[int]transport.Outcome{
		404: transport.Retry, 422: transport.Retry, 500: transport.Retry, 403: transport.Hold, 302: transport.Hold, 400: transport.Permanent,
	} {
		sink := transporttest.NewSink(t)
		sink.Script(transporttest.Always(transporttest.Status(status)))
		e := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": sink.URL(), "retry": retry})))
		if e.Outcome != want {
			t.Errorf("%d: %v, want %v", status, e.Outcome, want)
		}
	}
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Reply{Status: 500, Body: `{"code":400}`}))
	if e := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": sink.URL(), "retry": fast}))); e.Outcome != transport.Permanent {
		t.Errorf("500 is in the list, but this one blames the event: %v", e.Outcome)
	}
}

func TestRetryAfterSettings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retry map[string]any
		want  time.Duration
	}{
		"default": {nil, 100 * time.Second}, "capped": {map[string]any{"retry_after_max": 30}, 30 * time.Second},
		"not honoured": {map[string]any{"respect_retry_after_header": false}, 0},
	} {
		sink := transporttest.NewSink(t)
		sink.Script(transporttest.Always(transporttest.After(429, "100")))
		e := transporttest.RequireError(t, emit(t, build(t, map[string]any{"url": sink.URL(), "retry": tt.retry})))
		if e.RetryAfter != tt.want {
			t.Errorf("%s: %v, want %v", name, e.RetryAfter, tt.want)
		}
	}
}

// A consumer that flaps in every way: the caller repeats what is to be retried, and in the end everything is there,
// unchanged and in order, with no more copies than resets after the event was taken.
func TestAFlappingConsumer(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Flapping(4711,
		transporttest.Chance{Share: 0.3, Reply: transporttest.Status(503)},
		transporttest.Chance{Share: 0.1, Reply: transporttest.Break(transporttest.ResetBefore)},
		transporttest.Chance{Share: 0.1, Reply: transporttest.Break(transporttest.ResetAfter)},
		transporttest.Chance{Share: 0.05, Reply: transporttest.Break(transporttest.CutBody)},
	))
	tr := build(t, map[string]any{"url": sink.URL(), "retry": map[string]any{"backoff_factor": 0.001}})
	events := transporttest.Events(60)
	var wg sync.WaitGroup
	for run := range 60 {
		wg.Go(func() {
			for _, event := range events[2*run : 2*run+2] {
				for tr.Emit(t.Context(), event) != nil {
					if t.Context().Err() != nil {
						return
					}
				}
			}
		})
	}
	wg.Wait()
	resets := 0
	for _, r := range sink.Requests() {
		if r.Reply.Fault == transporttest.ResetAfter {
			resets++
		}
	}
	if resets == 0 {
		t.Error("no reset came, so nothing is proved")
	}
	transporttest.Judge(sink.Taken(), events).Require(t, resets)
}

// A consumer that answers after our timeout has the event and we cannot know: it comes again, the same.
func TestAnAmbiguousTimeout(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Sequence(transporttest.Late(2 * time.Second)))
	tr := build(t, map[string]any{"url": sink.URL(), "timeout": 1, "retry": fast})
	e := transporttest.RequireError(t, emit(t, tr))
	if e.Outcome != transport.Retry || e.Reason != transport.ReasonTimeout {
		t.Errorf("%v %q", e.Outcome, e.Reason)
	}
	if n := len(sink.Requests()); n != 1 {
		t.Errorf("%d requests; a timeout has cost enough for a quick try", n)
	}
	deliver(t, tr)
	got := sink.Taken()
	if len(got) != 2 || string(got[0].Raw) != string(got[1].Raw) || got[0].Header.Get("Idempotency-Key") != got[1].Header.Get("Idempotency-Key") {
		t.Errorf("%d copies, or they differ", len(got))
	}
}
