package app_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/prefect"
)

func finished(flow uuid.UUID, start, end time.Time) prefect.FlowRun {
	return prefect.FlowRun{
		FlowID: flow, RunCount: 1, StartTime: &start, EndTime: &end,
		State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: end},
	}
}

func isA[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return u.Host
}

// waitFor asks until the answer is yes; it is for what only a question can show.
func waitFor(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func lastHour() app.BackfillRequest { return app.BackfillRequest{Since: time.Now().Add(-time.Hour)} }

func TestBackfillAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.history(4)
	result, err := app.Backfill(t.Context(), r.options, lastHour())
	if err != nil || result.Events != int64(events) || result.Runs != 12 || result.ByDaemon {
		t.Fatalf("%+v, %v", result, err)
	}
	if n := len(r.sink.Taken()); n != events {
		t.Errorf("%d events delivered when it returned, not %d", n, events)
	}
	again, err := app.Backfill(t.Context(), r.options, lastHour())
	if err != nil || again.Events != 0 || len(r.sink.Taken()) != events {
		t.Errorf("told again: %+v, %v", again, err)
	}
	request := lastHour()
	request.Resend = true
	resent, err := app.Backfill(t.Context(), r.options, request)
	if err != nil || resent.Events != int64(events) || len(r.sink.Taken()) != 2*events {
		t.Errorf("resent: %+v, %v; %d events at the sink", resent, err, len(r.sink.Taken()))
	}
	copies := map[string]string{}
	for _, taken := range r.sink.Taken() {
		key := taken.RunID + taken.Type
		if first, ok := copies[key]; ok && first != string(taken.Body) {
			t.Errorf("two copies differ:\n%s\n%s", first, taken.Body)
		}
		copies[key] = string(taken.Body)
	}
}

func TestBackfillBesideTheDaemon(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.options.Config.Lookback = time.Minute // the daemon itself leaves the history alone
	events := r.history(4)
	r.start()
	waitFor(t, "the daemon has started", func() bool { return r.logged("started") == 1 })
	result, err := app.Backfill(t.Context(), r.options, lastHour())
	if err != nil || result.Events != int64(events) || !result.ByDaemon {
		t.Fatalf("%+v, %v", result, err)
	}
	if n := len(r.sink.Taken()); n != events {
		t.Errorf("%d events delivered when it returned, not %d", n, events)
	}
}

func TestABackfillThatIsDisabledTellsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.history(2)
	enabled := r.options.Config.OpenLineage
	r.options.Config.OpenLineage.Disabled, r.options.Config.OpenLineage.Transport = true, map[string]any{"type": "noop"}
	if result, err := app.Backfill(t.Context(), r.options, lastHour()); err != nil || result.Events != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if n := r.logged("nothing is sent: OPENLINEAGE_DISABLED is true"); n != 1 {
		t.Errorf("said %d times", n)
	}
	r.options.Config.OpenLineage = enabled
	if _, err := app.Backfill(t.Context(), r.options, lastHour()); err != nil || len(r.sink.Taken()) != events {
		t.Errorf("%d events once it is enabled, not %d; %v", len(r.sink.Taken()), events, err)
	}
}

func TestBackfillToNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	request := lastHour()
	request.Destinations = []string{"nobody"}
	if _, err := app.Backfill(t.Context(), r.options, request); !isA[*app.SettingsError](err) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("the error is %v", err)
	}
}

func TestPreviewTellsTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.history(4)
	if result, err := app.Preview(t.Context(), r.options, lastHour(), app.ShowWhy); err != nil || result.Runs != 12 {
		t.Fatal(result, err)
	}
	if n := len(r.sink.Requests()); n != 0 {
		t.Errorf("a preview sent %d requests", n)
	}
	shown := map[string]bool{}
	for line := range bytes.Lines(r.out.Bytes()) {
		shown[strings.TrimSuffix(string(line), "\n")] = true
	}
	if len(shown) != events {
		t.Errorf("%d events shown, not %d", len(shown), events)
	}
	if _, err := app.Backfill(t.Context(), r.options, lastHour()); err != nil {
		t.Fatal(err)
	}
	for _, taken := range r.sink.Taken() {
		if !shown[string(taken.Body)] {
			t.Errorf("sent and not shown: %s", taken.Body)
		}
	}
	if n := r.logs.FilterMessageSnippet("its state is Completed").Len(); n != 12 {
		t.Errorf("%d reasons for 12 runs", n)
	}
}

// An error of Prefect's speaks of paths; which server it is about is said before it.
func TestHistoryNamesThePrefect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wrong := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(wrong.Close)
	r.options.Config.Prefect.URL = wrong.URL
	_, previewed := app.Preview(t.Context(), r.options, lastHour(), app.ShowEvents)
	_, filled := app.Backfill(t.Context(), r.options, lastHour())
	for _, err := range []error{previewed, filled} {
		if err == nil || !strings.HasPrefix(err.Error(), "PREFECT_API_URL="+wrong.URL+": reading history: ") {
			t.Errorf("the error reads %v", err)
		}
	}
}
