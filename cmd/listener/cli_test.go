package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/state"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"run"}} {
		r := newRig()
		r.want(t, exitOK, args...)
		equal(t, []any{"1.2.3", "c0ffee", false, "/home/ann/.local/state/prefect-openlineage-listener/listener.db"},
			[]any{r.options.Version, r.options.Commit, r.options.Recover, r.options.Config.StatePath})
		if r.options.Log == nil || r.options.Reload == nil || r.options.Stdout == nil || r.options.Getenv == nil {
			t.Errorf("listener %v leaves options out: %+v", args, r.options)
		}
	}
	for _, args := range [][]string{{"--recover"}, {"run", "--recover"}} {
		r := newRig()
		r.want(t, exitOK, args...)
		equal(t, true, r.options.Recover)
	}
}

// The settings can be read anew, as they are then.
func TestRunReload(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.want(t, exitOK)
	r.input.Variables.PrefectAPIKey = "pnu_2"
	fresh, err := r.options.Reload()
	if err != nil {
		t.Fatal(err)
	}
	key, err := fresh.Prefect.APIKey.Value()
	equal(t, []any{"pnu_2", nil}, []any{key.Reveal(), err})
	r.input.Variables.Grace = "soon"
	if _, err := r.options.Reload(); err == nil {
		t.Error("settings that became wrong were taken")
	}
}

func TestRunWarns(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.input.Environ = []string{"LISTENER_GRACES=1", "OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__URL=http://h", "OPENLINEAGE__TRANSPORT__TIEMOUT=3"}
	r.want(t, exitOK)
	var settings []string
	for line := range strings.Lines(r.stderr.String()) {
		var entry struct{ Level, Setting, Problem string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level != "warn" || entry.Problem == "" {
			t.Errorf("line %s: %v", line, err)
		}
		settings = append(settings, entry.Setting)
	}
	equal(t, []string{"OPENLINEAGE_URL", "LISTENER_GRACES", "OPENLINEAGE__TRANSPORT__TIEMOUT"}, settings)
}

// Each class of error ends the process with its code, and is told once.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancelCause(context.Background())
	stop(signalError{15})
	interrupted, interrupt := context.WithCancelCause(context.Background())
	interrupt(signalError{2})
	ended, end := context.WithCancel(context.Background())
	end()
	for _, test := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"nothing", context.Background(), nil, 0},
		{"any error", context.Background(), errors.New("x"), 1},
		{"settings", context.Background(), config.Problems{{Where: "A", Takes: "takes b"}}, 2},
		{"settings found later", context.Background(), fmt.Errorf("x: %w", &app.SettingsError{Err: errors.New("x")}), 2},
		{"usage", context.Background(), usageError{errors.New("x")}, 2},
		{"start", context.Background(), &app.StartError{Err: errors.New("x")}, 3},
		{"locked", context.Background(), fmt.Errorf("x: %w", state.ErrLocked), 3},
		{"newer", context.Background(), state.ErrNewer, 3},
		{"full", context.Background(), state.ErrFull, 3},
		{"damaged", context.Background(), fmt.Errorf("x: %w", state.ErrDamaged), 4},
		{"damaged at the start", context.Background(), &app.StartError{Err: state.ErrDamaged}, 4},
		{"disk", context.Background(), errors.Join(errors.New("y"), state.ErrFatalIO), 5},
		{"terminated", stopped, fmt.Errorf("x: %w", context.Canceled), 143},
		{"interrupted", interrupted, context.Canceled, 130},
		{"stopped otherwise", ended, context.Canceled, 1},
		{"told already", context.Background(), reported(2), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			equal(t, test.want, exitCode(test.ctx, test.err))
			r := newRig()
			r.err, r.result = test.err, app.BackfillResult{Runs: 1}
			equal(t, test.want, r.doIn(test.ctx, "preview", "--since", "1h"))
			if said := r.stderr.Len() > 0; said != (test.err != nil && test.name != "told already") {
				t.Errorf("standard error: %q", r.stderr.String())
			}
		})
	}
	// A daemon that was told to stop has done what it should.
	r := newRig()
	r.err = fmt.Errorf("reading: %w", context.Canceled)
	equal(t, 0, r.doIn(stopped, "run"))
	r.err = errors.Join(context.Canceled, state.ErrFatalIO)
	equal(t, 0, r.doIn(stopped, "run"))
}

func TestComplainNamesTheProgramOnEachLine(t *testing.T) {
	t.Parallel()
	var w strings.Builder
	complain(&w, config.Problems{{Where: "A", Value: "1", Takes: "takes b"}, {Where: "C", Takes: "takes d"}})
	complain(&w, usageError{errors.New("no")})
	equal(t, "listener: A=1: takes b\nlistener: C: takes d\nlistener: no\nlistener: see listener --help\n", w.String())
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("5b8b2f0e-2a4b-4c0e-9d9e-0a3f6c1c2d4e")
	r := newRig()
	r.result = app.BackfillResult{Runs: 3, Events: 1, Repeated: 2, ByDaemon: true}
	r.want(t, exitOK, "backfill", "--since", "2026-11-29", "--until=2026-11-30T06:00:00+01:00", "--flow", "etl",
		"--run", id.String(), "--destination", "composite:a,b", "--destination", "c", "--resend")
	equal(t, app.BackfillRequest{
		Since: today.Add(-36 * time.Hour), Until: today.Add(-7 * time.Hour).In(r.request.Until.Location()), Flow: "etl",
		Runs: []uuid.UUID{id}, Destinations: []string{"composite:a,b", "c"}, Resend: true,
	}, r.request)
	equal(t, "3 runs read, 1 event sent; 2 events were sent before (--resend sends them again); the running listener did it\n", r.stderr.String())
	equal(t, "", r.stdout.String())
	equal(t, true, r.options.Progress == nil)

	r.result = app.BackfillResult{Runs: 3}
	r.want(t, exitOK, "backfill", "--since", "1h")
	equal(t, "3 runs read, 0 events sent; nothing was new (--resend sends again what was sent before)\n", r.stderr.String())

	r.process.terminal = true
	r.result = app.BackfillResult{Runs: 1}
	r.want(t, exitOK, "backfill", "--run", id.String(), "-o", "json")
	equal(t, `{"runs":1,"events":0,"repeated":0,"by_daemon":false}`, strings.Join(strings.Fields(r.stdout.String()), ""))
	equal(t, false, r.options.Progress == nil)
}

func TestPreview(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.result = app.BackfillResult{Runs: 1}
	r.want(t, exitOK, "preview", "--since", "1d12h ago")
	equal(t, []any{app.BackfillRequest{Since: today.Add(-36 * time.Hour)}, app.ShowEvents}, []any{r.request, r.show})
	r.want(t, exitOK, "preview", "--since", "1h", "-o", "json")
	equal(t, app.ShowEvents, r.show)
	r.want(t, exitOK, "preview", "--since", "1h", "--explain")
	equal(t, app.ShowWhy, r.show)
	r.want(t, exitOK, "preview", "--since", "1h", "--explain", "-o", "json")
	equal(t, app.ShowWhyJSON, r.show)
	equal(t, "", r.stderr.String())
	r.want(t, exitOK, "preview", "--since", "1h", "--destination", "catalog")
	equal(t, []any{app.BackfillRequest{Since: today.Add(-time.Hour), Destinations: []string{"catalog"}}, app.ShowEvents}, []any{r.request, r.show})
	r.want(t, exitOK, "preview", "--since", "1h", "--destination", "catalog", "-o", "json")
	equal(t, app.ShowReviewJSON, r.show)
	r.want(t, exitOK, "preview", "--since", "1h", "--destination", "catalog", "--explain")
	equal(t, app.ShowWhy, r.show)
	r.want(t, exitUsage, "preview", "--since", "1h", "--destination", "catalog", "--explain", "-o", "json")
}

func TestHistoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("5b8b2f0e-2a4b-4c0e-9d9e-0a3f6c1c2d4e")
	for _, command := range []string{"preview", "backfill"} {
		for _, test := range []struct {
			args   []string
			result app.BackfillResult
			code   int
			said   string
		}{
			{[]string{"--run", id.String()}, app.BackfillResult{Missing: []uuid.UUID{id}}, exitError,
				"listener: --run " + id.String() + ": Prefect has no such run\n"},
			{[]string{"--run", id.String(), "--run", uuid.Nil.String()}, app.BackfillResult{Runs: 2, Missing: []uuid.UUID{uuid.Nil}}, exitError,
				"listener: --run " + uuid.Nil.String() + ": Prefect has no such run\n"},
			{[]string{"--run", id.String(), "--since", "1h"}, app.BackfillResult{}, exitOK,
				"listener: nothing was read: the runs that --run names neither started nor ended between --since and --until\n"},
			{[]string{"--flow", "etl", "--since", "1h"}, app.BackfillResult{}, exitOK,
				"listener: nothing was read: Prefect shows no run of a flow named \"etl\" that started or ended in that stretch (case counts)\n"},
			{[]string{"--since", "1h"}, app.BackfillResult{}, exitOK,
				"listener: nothing was read: Prefect shows no run that started or ended in that stretch\n"},
			{[]string{"--flow", "etl", "--since", "1h"}, app.BackfillResult{Runs: 1}, exitOK, ""},
		} {
			r := newRig()
			r.result = test.result
			r.want(t, test.code, append([]string{command}, test.args...)...)
			_, said, _ := strings.Cut("\n"+r.stderr.String(), "listener: ")
			if said != "" {
				said = "listener: " + said
			}
			equal(t, test.said, said)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	r := newRig()
	r.report = app.StatusReport{
		Store: "/var/lib/listener/listener.db", Daemon: true, Prefect: "http://prefect:4200/api", ReadUpTo: today.Add(-90 * time.Second),
		OpenFlowRuns: 1, OpenTaskRuns: 12, KnownRuns: 34567, Unreadable: 2,
		OutboxEvents: 1, OutboxBytes: 2048, StoreBytes: 5 << 20, DiskFree: 3 << 40,
		Destinations: []app.DestinationReport{
			{Name: "marquez", Kind: "http", Pending: 1, OldestPending: today.Add(-2 * time.Hour), LastDelivered: today.Add(-time.Hour),
				LastError: "status-503", LastErrorStatus: 503, LastErrorAt: today.Add(-time.Minute)},
			{Name: "datahub", Kind: "http", Pending: 40, Trouble: "held", TroubleReason: "auth", TroubleSince: today.Add(-time.Hour),
				LastError: "auth", LastErrorStatus: 401, LastErrorAt: today.Add(-20 * time.Second)},
			{Name: "old", Kind: "file", Dead: 3, Parked: true, Gone: true},
		},
	}
	r.want(t, exitOK, "status")
	golden(t, "testdata/status.txt", r.stdout.String())
	r.report = app.StatusReport{Store: "/x", Destinations: []app.DestinationReport{}}
	r.want(t, exitOK, "status")
	golden(t, "testdata/status-empty.txt", r.stdout.String())
	r.want(t, exitOK, "status", "-o", "json")
	var report app.StatusReport
	if err := json.Unmarshal([]byte(r.stdout.String()), &report); err != nil {
		t.Fatal(err)
	}
	equal(t, r.report, report)
}

func TestStoreThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"destinations", "list"}, {"destinations", "park", "a"}, {"deadletters", "list"}, {"deadletters", "replay", "1"}} {
		r := newRig()
		r.store.missing = errNoStore
		r.want(t, exitStart, args...)
		r.store.missing = fmt.Errorf("x: %w", state.ErrDamaged)
		r.want(t, exitDamaged, args...)
	}
}
