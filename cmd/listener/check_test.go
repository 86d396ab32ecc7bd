package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/state"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.input.Variables.OpenLineageURL = ""
	r.input.Variables.LogLevel = "debug"
	r.input.Variables.PrefectAPIKey = "hunter2"
	r.input.Environ = []string{"OPENLINEAGE__TRANSPORT__TYPE=noop", "LISTENER_GRACES=1"}
	r.api.flows, r.api.tasks, r.api.recent = 1, 250, 3
	r.store.size = state.Size{Events: 1, DiskFree: 5 << 30}
	r.want(t, exitOK, "check")
	golden(t, "testdata/check.txt", r.stdout.String())
	equal(t, today.Add(-time.Hour), r.api.askedSince)
	equal(t, []any{true, 1}, []any{r.api.closed, r.store.closed})

	r.want(t, exitOK, "check", "-o", "json")
	golden(t, "testdata/check.json", r.stdout.String())
}

func TestCheckProblems(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.input.Variables.Grace = "10"
	r.input.Variables.OpenLineageURL = "nowhere"
	r.want(t, exitUsage, "check")
	_, rest, _ := strings.Cut(r.stdout.String(), "\nProblems\n")
	if !strings.Contains(rest, "  LISTENER_GRACE=10: takes") || !strings.Contains(rest, "  OPENLINEAGE_URL=nowhere: ") ||
		!strings.Contains(rest, "\nNothing was tried") {
		t.Errorf("check says\n%s", r.stdout.String())
	}
	equal(t, false, r.api.closed)
	r.want(t, exitUsage, "check", "-o", "json")
	var report checkReport
	if err := json.Unmarshal([]byte(r.stdout.String()), &report); err != nil {
		t.Fatal(err)
	}
	equal(t, []any{false, 2, true}, []any{report.OK, len(report.Problems), report.Prefect == nil})
}

// What does not answer as it should is told, and the exit code says so; the rest is tried all the same.
func TestCheckFindings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*rig)
		code   int
		says   string
	}{
		{"all well", func(*rig) {}, exitOK, "Prefect 3.9.1 answers; 0 flow runs and 0 task runs running; 0 flow runs started in the last 1h"},
		{"the cloud", func(r *rig) { r.api.version = "" }, exitOK, "Prefect Cloud answers"},
		{"flow runs with task runs", func(r *rig) { r.api.recent = 5 }, exitOK, "5 flow runs started in the last 1h\n"},
		{"flow runs without any", func(r *rig) { r.api.recent, r.api.taskless = 5, true }, exitOK, "5 flow runs started in the last 1h and no task run: unless"},
		{"few flow runs without any", func(r *rig) { r.api.recent, r.api.taskless = 4, true }, exitOK, "4 flow runs started in the last 1h\n"},
		{"no clock", func(r *rig) { r.api.served = time.Time{} }, exitOK, "0 task runs running\n"},
		{"events", func(*rig) {}, exitOK, "Prefect's events\n  at ws://127.0.0.1:4200/api/events/out\n  ok: heard"},
		{"no events", func(r *rig) { r.api.hints = errors.New("403 Forbidden") }, exitOK,
			"  without: not heard, so a change is seen within 2s: 403 Forbidden\n"},
		{"events that nobody wants", func(r *rig) {
			r.input.Variables.Hints, r.api.hints = "off", errors.New("not asked")
		}, exitOK, "running; 0 flow runs started in the last 1h\n\nStore"},
		{"Prefect away", func(r *rig) { r.api.err = errors.New("connection refused") }, exitError, "PROBLEM: connection refused"},
		{"no store yet", func(r *rig) {
			r.store.missing, r.input.Variables.State = errNoStore, "sqlite://"+os.TempDir()+"/not-there/listener.db"
		}, exitOK, "ok: is not there yet"},
		{"no store yet, and no right to make one", func(r *rig) {
			r.store.missing, r.input.Variables.State = errNoStore, "sqlite:///dev/null/x/listener.db"
		}, exitError, "PROBLEM: is not there yet, and can't be made: /dev/null"},
		{"a full disk", func(r *rig) { r.store.size.DiskFree = 1 << 20 }, exitError,
			"PROBLEM: reading is paused: the disk of the store has 1.0 MiB left and 64.0 MiB are kept in reserve\n  to do: Make room"},
		{"a destination that is held", func(r *rig) {
			r.store.destinations = []state.DestinationStatus{{
				Destination: state.Destination{Name: "noop"}, Trouble: state.Trouble{State: "held", Reason: "status-404", Since: today.Add(-time.Minute)},
			}}
		}, exitOK, "  note: held for 1m (status-404), as the listener last said; its log has the answer\n"},
		{"a damaged store", func(r *rig) { r.store.missing = state.ErrDamaged }, exitError, "PROBLEM: the store is damaged"},
		{"a consumer away", func(r *rig) {
			r.input.Environ = []string{"OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=http://127.0.0.1:9"}
		}, exitError, "\nDestination http:http://127.0.0.1:9/api/v1/lineage (http)\n  at http://127.0.0.1:9/api/v1/lineage\n  PROBLEM: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig()
			r.input.Environ = []string{"OPENLINEAGE__TRANSPORT__TYPE=noop"}
			test.change(r)
			r.want(t, test.code, "check")
			if !strings.Contains(r.stdout.String(), test.says) {
				t.Errorf("check says\n%s\nwant %q in it", r.stdout.String(), test.says)
			}
		})
	}
}
