package oracle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// Test 21. Prefect answers in every way but the right one, while runs start and end: the position stands still for as
// long as it lasts, and afterwards everything comes.
func TestPrefectAnswersOddly(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.daemon.set("PREFECT_API_REQUEST_TIMEOUT", "1")
	w.daemon.set("LISTENER_HINTS", "off") // every answer is one to a poll
	w.past(shape{tasks: 3}, 10, time.Second, time.Now())
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	lists := prefecttest.Path("/task_runs/")
	for _, odd := range []struct {
		what  string
		fault prefecttest.Fault
	}{
		{"errors of its own", prefecttest.Status(http.StatusInternalServerError)},
		{"a login page", prefecttest.LoginPage()},
		{"half a document", prefecttest.HalfJSON()},
		{"an answer that breaks off", prefecttest.BrokenOff()},
		{"a connection that is reset", prefecttest.Reset()},
		{"nothing", prefecttest.Hang()},
		{"401", prefecttest.Status(http.StatusUnauthorized)},
		{"too many requests", prefecttest.RetryAfter(http.StatusTooManyRequests, "1")},
		{"something else than a list", prefecttest.Answer(http.StatusOK, "application/json", `{"detail": "moved"}`)},
		{"not found", prefecttest.Status(http.StatusNotFound)},
	} {
		running := w.begin(shape{tasks: 3}, 2)
		w.server.ForgetRequests()
		w.server.FaultAlways(lists, odd.fault)
		faulted := func(n int) {
			w.eventually(20*time.Second, odd.what+" was answered", func() bool { return w.server.Count("/task_runs/filter") >= n })
		}
		faulted(1)
		time.Sleep(300 * time.Millisecond) // a poll that was under way may still pass
		position := w.daemon.metric("cursor_timestamp_seconds")
		w.finish(running...)
		moves := time.Unix(int64(position)+2, 0) // positions are whole seconds, so by then a wrong one shows
		w.eventually(20*time.Second, "Prefect's clock has gone on", func() bool { return w.now().After(moves) })
		faulted(w.server.Count("/task_runs/filter") + 2)
		if now := w.daemon.metric("cursor_timestamp_seconds"); now != position {
			t.Errorf("%s: the position went from %.3f to %.3f", odd.what, position, now)
		}
		w.server.ClearFaults()
		w.caughtUp(20 * time.Second)
	}
	w.fresh()
	w.judge()
	if n := len(w.daemon.lines("Prefect can be read again")); n == 0 {
		t.Error("the log says nothing of a recovery")
	}
}

// Rows that can't be understood, states that nobody knows, an artifact of 10 MB and a server that is upgraded and set back:
// the rows are kept as they came, counted and named, and everything else goes on beside them.
func TestPrefectHasOddRows(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.daemon.start()
	running := w.begin(shape{tasks: 4}, 4)
	now := micro(w.now()).Format(time.RFC3339Nano)
	const raw = `{"id": "0190f4a0-0000-7000-8000-0000000000%02d", "name": "odd-0a1", "flow_run_id": %q, "task_key": "odd-0a1b2c3d",
		"dynamic_key": "0", "state_type": %q, "state": %s, "start_time": null, "end_time": %q, "run_count": 0}`
	broken := fmt.Sprintf(raw, 1, running[0].id, "COMPLETED", `{"type": "COMPLETED", "timestamp": "yesterday"}`, now)
	w.server.AddRaw("task_runs", broken)
	w.server.AddRaw("task_runs", fmt.Sprintf(raw, 2, running[0].id, "DREAMING",
		`{"type": "DREAMING", "name": "Dreaming", "timestamp": "`+now+`", "mood": {"a": [1]}}`, now))
	w.bigArtifact(running[1], 10<<20)
	w.finish(running...)
	w.caughtUp(20 * time.Second)

	w.eventually(10*time.Second, "the broken row is counted", func() bool {
		return w.daemon.metric(`source_errors_total{resource="task_runs"}`) > 0
	})
	if lines := w.daemon.lines("a row could not be read"); len(lines) != 1 || !strings.Contains(lines[0], "0190f4a0-0000-7000-8000-000000000001") {
		t.Errorf("the log names the row %d times, not once: %s", len(lines), lines)
	}
	if lines := w.daemon.lines("odd data in Prefect"); len(lines) == 0 || len(lines) > 4 {
		t.Errorf("the log warns %d times of the artifact: %.2000s", len(lines), lines)
	}

	for _, version := range []string{prefecttest.V3_6, prefecttest.V2_20, prefecttest.V3_9} {
		w.server.SetVersion(version)
		running := w.begin(shape{plain: true, tasks: 2}, 2)
		time.Sleep(scale(time.Second, 6*time.Minute)) // by then the version is asked for again
		w.finish(running...)
		w.caughtUp(20 * time.Second)
	}
	w.fresh()
	w.judge()

	w.daemon.stop()
	store := w.daemon.open()
	defer store.Close()
	kept, err := store.Quarantined(context.Background(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || !strings.Contains(broken, kept[0].ID) || !strings.Contains(string(kept[0].Raw), `"yesterday"`) {
		t.Errorf("in quarantine are %d rows: %.2000s", len(kept), kept)
	}
}

// bigArtifact lets a flow run make a table that is none, of so many bytes.
func (w *world) bigArtifact(r *flowRun, size int) {
	description := "ol-dataset_output"
	data, err := json.Marshal(strings.Repeat("x", size))
	if err != nil {
		w.t.Fatal(err)
	}
	w.server.AddArtifact(prefect.Artifact{Description: &description, FlowRunID: &r.id, Created: w.now(), Data: data})
}

// A server behind a prefix of its own in a proxy, with credentials and with CSRF tokens that end soon, and that it forgets.
func TestPrefectBehindAPrefix(t *testing.T) {
	t.Parallel()
	takes(t, light)
	server := prefecttest.NewTCP(t, prefecttest.BasicAuth("ann:secret"), prefecttest.CSRF(2*time.Second))
	proxy := httptest.NewServer(http.StripPrefix("/team/prefect", server))
	t.Cleanup(proxy.Close)
	w := newWorldOn(t, server, "a")
	w.daemon.set("PREFECT_API_URL", proxy.URL+"/team/prefect/api")
	w.daemon.set("PREFECT_API_AUTH_STRING", "ann:secret")
	w.past(shape{tasks: 5}, 10, time.Second, time.Now())
	w.daemon.start()
	w.caughtUp(20 * time.Second)
	for range 3 {
		running := w.begin(shape{tasks: 3}, 3)
		time.Sleep(2500 * time.Millisecond)
		server.ForgetTokens()
		w.finish(running...)
		w.caughtUp(5 * time.Second)
	}
	w.fresh()
	w.judge()
	if lines := w.daemon.lines("Prefect cannot be read"); len(lines) > 0 {
		t.Errorf("a token that ended was taken for trouble: %s", lines)
	}
	if tokens := server.Count("/csrf-token"); tokens < 3 || tokens > 20 {
		t.Errorf("%d tokens were asked for", tokens)
	}
}

// Wide queries take the server longer than a request may: it is asked narrower ones, until all is read.
func TestPrefectIsSlowAtWideQueries(t *testing.T) {
	t.Parallel()
	takes(t, light)
	w := newWorld(t, "a")
	w.daemon.set("PREFECT_API_REQUEST_TIMEOUT", "0.5")
	w.past(shape{tasks: 3}, 60, time.Minute, time.Now())
	wide := func(r prefecttest.Request) bool { return width(r, w.now()) > 4*time.Minute }
	w.server.FaultAlways(wide, prefecttest.Hang())
	w.daemon.start()
	w.caughtUp(60 * time.Second)
	w.fresh()
	w.judge()
}

// width is how long a stretch of time a query is about, 0 for other queries.
func width(r prefecttest.Request, now time.Time) time.Duration {
	var f prefect.Filter
	if json.Unmarshal(r.Body, &f) != nil {
		return 0
	}
	for _, run := range []*prefect.RunFilter{f.FlowRuns, f.TaskRuns} {
		if run == nil || run.EndTime == nil || run.EndTime.After == nil {
			continue
		}
		until := now
		if run.EndTime.Before != nil {
			until = *run.EndTime.Before
		}
		return until.Sub(*run.EndTime.After)
	}
	return 0
}
