package transporttest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body without any cleverness and returns the status and the answer, or what went wrong.
func post(tb testing.TB, url, body string) (int, string, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(answer), err
}

func TestReplies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		reply  transporttest.Reply
		status int // 0: none comes
		whole  bool
		taken  bool
	}{
		{"taken", transporttest.OK(), 201, true, true},
		{"nothing said", transporttest.Reply{}, 201, true, true},
		{"refused", transporttest.Status(422), 422, true, false},
		{"late", transporttest.Late(10 * time.Millisecond), 201, true, true},
		{"reset before", transporttest.Break(transporttest.ResetBefore), 0, false, false},
		{"reset after", transporttest.Break(transporttest.ResetAfter), 0, false, true},
		{"cut in the head", transporttest.Break(transporttest.CutHead), 0, false, false},
		{"cut in the body", transporttest.Break(transporttest.CutBody), 201, false, true},
		{"refused and cut", transporttest.Reply{Status: 500, Fault: transporttest.CutBody}, 500, false, false},
		{"endless", transporttest.Break(transporttest.Endless), 201, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(transporttest.Always(tt.reply))
			status, _, err := post(t, sink.URL(), "x")
			if status != tt.status || tt.whole != (err == nil) || len(sink.Taken()) == 1 != tt.taken {
				t.Errorf("%d %v, %d taken", status, err, len(sink.Taken()))
			}
		})
	}
}

func TestAHangingSinkLetsGo(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Break(transporttest.Hang)))
	done := make(chan error)
	go func() {
		_, _, err := post(t, sink.URL(), "x")
		done <- err
	}()
	sink.Wait(t, "a request", func() bool { return len(sink.Requests()) == 1 })
	sink.Close()
	sink.Close()
	if err := <-done; err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	statuses := func(script transporttest.Script, runs ...string) []int {
		var all []int
		for i, run := range runs {
			all = append(all, script(transporttest.Request{N: i + 1, RunID: run}).Status)
		}
		return all
	}
	tests := []struct {
		name   string
		script transporttest.Script
		want   []int
	}{
		{"sequence", transporttest.Sequence(transporttest.Status(503), transporttest.Status(500)), []int{503, 500, 201, 201}},
		{"then", transporttest.Then(transporttest.Always(transporttest.Status(401)), transporttest.OK()), []int{201, 401, 401, 401}},
		{"by run", transporttest.ByRun(transporttest.Sequence(transporttest.Status(503)), map[string]transporttest.Script{"b": transporttest.Always(transporttest.Status(400))}), []int{503, 400, 201, 400}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, statuses(tt.script, "a", "b", "a", "b")); diff != "" {
			t.Error(tt.name, diff)
		}
	}
	flapping := func() transporttest.Script {
		return transporttest.Flapping(1, transporttest.Chance{Share: 0.3, Reply: transporttest.Status(503)}, transporttest.Chance{Share: 0.2, Reply: transporttest.Status(429)})
	}
	runs := make([]string, 1000)
	first, second := statuses(flapping(), runs...), statuses(flapping(), runs...)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error("the same seed, another course")
	}
	count := map[int]int{}
	for _, status := range first {
		count[status]++
	}
	if count[503] < 250 || count[503] > 350 || count[429] < 150 || count[429] > 250 || count[201] < 450 {
		t.Errorf("%v", count)
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	event := transporttest.Event(4, 1)
	if _, _, err := post(t, sink.URL()+"/a/b?c=d", string(event.Body)); err != nil {
		t.Fatal(err)
	}
	sink.WaitTaken(t, 1)
	got := sink.Requests()[0]
	if got.N != 1 || got.URL.String() != "/a/b?c=d" || got.RunID != event.RunID || got.Type != "COMPLETE" || got.Time != "2026-11-30T10:04:01Z" ||
		!bytes.Equal(got.Body, event.Body) || got.At.IsZero() || got.Host == "" {
		t.Errorf("%+v", got)
	}
	sink.Forget()
	if len(sink.Requests()) > 0 {
		t.Error("not forgotten")
	}
}

func TestATLSSink(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewTLSSink(t, nil)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(sink.CertPEM()) {
		t.Fatal("no certificate")
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}
	for _, reply := range []transporttest.Reply{transporttest.OK(), transporttest.Break(transporttest.ResetAfter)} {
		sink.Script(transporttest.Always(reply))
		resp, err := client.Post(sink.URL(), "application/json", strings.NewReader("{}"))
		if (err == nil) != (reply.Fault == transporttest.NoFault) {
			t.Errorf("%v", err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	events := transporttest.Events(2)
	take := func(events ...transport.Event) []transporttest.Request {
		sink := transporttest.NewSink(t)
		for _, event := range events {
			if _, _, err := post(t, sink.URL(), string(event.Body)); err != nil {
				t.Fatal(err)
			}
		}
		return sink.Taken()
	}
	changed := events[2]
	changed.Body = append(bytes.Clone(changed.Body), ' ')
	name := func(e transport.Event) string {
		return strings.Join([]string{e.RunID, e.Type, e.Time.Format(time.RFC3339)}, " ")
	}
	id := func(i int) string { return name(events[i]) }
	tests := []struct {
		name  string
		taken []transporttest.Request
		want  transporttest.Verdict
	}{
		{"all", take(events...), transporttest.Verdict{}},
		{"runs may cross", take(events[2], events[0], events[3], events[1]), transporttest.Verdict{}},
		{"again", take(events[0], events[1], events[0], events[2], events[3], events[3]), transporttest.Verdict{Duplicates: 2}},
		{"missing", take(events[0], events[2], events[3]), transporttest.Verdict{Missing: []string{id(1)}}},
		{"the end before the start", take(events[1], events[0], events[2], events[3]), transporttest.Verdict{OutOfOrder: []string{id(0)}}},
		{"other bytes", take(events[0], events[1], changed, events[3]), transporttest.Verdict{Changed: []string{id(2)}}},
		{"never sent", take(append(events, transporttest.Event(9, 0))...), transporttest.Verdict{Spurious: []string{name(transporttest.Event(9, 0))}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := transporttest.Judge(tt.taken, events)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			clean := cmp.Equal(tt.want, transporttest.Verdict{Duplicates: tt.want.Duplicates})
			if got.Clean() != clean {
				t.Errorf("clean: %v, want %v", got.Clean(), clean)
			}
		})
	}
}

func TestEventsAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(transporttest.Events(3), transporttest.Events(3)); diff != "" {
		t.Error(diff)
	}
	if transporttest.Event(1, 0).Key == transporttest.Event(1, 1).Key || transporttest.Event(1, 0).RunID == transporttest.Event(2, 0).RunID {
		t.Error("two events are one")
	}
}

func TestTheRecorderHoldsItsCallerToTheContract(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	r := &transporttest.Recorder{OnEmit: func(ctx context.Context, event transport.Event) error {
		if event.Type == "COMPLETE" {
			return errors.New("no")
		}
		<-gate
		return nil
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Emit(t.Context(), transporttest.Event(1, 0))
	}()
	for len(r.Tried()) == 0 {
		time.Sleep(time.Millisecond)
	}
	_ = r.Emit(t.Context(), transporttest.Event(2, 1))
	if r.Broken() != nil || r.Peak() != 2 {
		t.Errorf("%v, peak %d", r.Broken(), r.Peak())
	}
	_ = r.Emit(t.Context(), transporttest.Event(1, 1))
	_ = r.Close(t.Context())
	close(gate)
	<-done
	_ = r.Close(t.Context())
	_ = r.Emit(t.Context(), transporttest.Event(3, 1))
	if n := len(r.Broken()); n != 4 || !r.Closed() {
		t.Errorf("%q", r.Broken())
	}
	if len(r.Tried()) != 4 || len(r.Taken()) != 1 {
		t.Errorf("%d tried, %d taken", len(r.Tried()), len(r.Taken()))
	}
}
