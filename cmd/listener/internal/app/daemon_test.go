package app_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

func TestDaemonTellsAndStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.history(20)
	stop := r.start()
	r.sink.WaitTaken(t, events)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if n := len(r.sink.Taken()); n != events {
		t.Errorf("%d events, not %d", n, events)
	}
	if r.logged("started") != 1 || r.logged("stopped") != 1 {
		t.Errorf("the log: %v", r.logs.All())
	}
}

func TestDaemonGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.history(3)
	stop := r.start()
	r.sink.WaitTaken(t, first)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	flow := r.prefect.AddFlow("While it was away")
	ended := time.Now()
	r.prefect.AddFlowRun(finished(flow.ID, ended.Add(-time.Second), ended))
	r.start()
	r.sink.WaitTaken(t, first+2)
	if n := len(r.sink.Taken()); n != first+2 {
		t.Errorf("%d events, not %d: what was told before must not be told again", n, first+2)
	}
}

func TestDisabledDoesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.history(2)
	r.options.Config.OpenLineage.Disabled = true
	stop := r.start()
	waitFor(t, "it has started", func() bool {
		return r.logged("started with OPENLINEAGE_DISABLED: nothing is read or sent") == 1
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if n := len(r.prefect.Requests()); n != 0 {
		t.Errorf("%d requests to Prefect", n)
	}
}

func TestSecondDaemonIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	waitFor(t, "the first has started", func() bool { return r.logged("started") == 1 })
	err := app.Run(t.Context(), r.options)
	var start *app.StartError
	if !errors.Is(err, state.ErrLocked) || !errors.As(err, &start) {
		t.Errorf("the second one's error is %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(*rig)
		is    func(error) bool
		names string // what the line must name
	}{
		{"no transport of that type", func(r *rig) {
			r.options.Config.OpenLineage.Transport = map[string]any{"type": "pigeon"}
		}, isA[*app.SettingsError], "pigeon"},
		{"no address of Prefect", func(r *rig) { r.options.Config.Prefect.URL = "ftp://nowhere" }, isA[*app.SettingsError], "PREFECT_API_URL"},
		{"the store's folder is a file", func(r *rig) {
			file := filepath.Join(r.t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				r.t.Fatal(err)
			}
			r.options.Config.StatePath = filepath.Join(file, "listener.db")
		}, isA[*app.StartError], "LISTENER_STATE"},
		{"the store is a file of something else", func(r *rig) {
			if err := os.WriteFile(r.options.Config.StatePath, []byte("root:x:0:0:root:/root:/bin/bash"), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}, isA[*app.StartError], "LISTENER_STATE"},
		{"the store is a file of something else, to be recovered", func(r *rig) {
			r.options.Recover = true
			if err := os.WriteFile(r.options.Config.StatePath, make([]byte, 8192), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}, isA[*app.StartError], "LISTENER_STATE"},
		{"the store is a folder", func(r *rig) { r.options.Config.StatePath = r.t.TempDir() }, isA[*app.StartError], "LISTENER_STATE"},
		{"the address is taken", func(r *rig) { r.options.Config.HTTP.Addr = hostOf(r.sink.URL()) }, isA[*app.StartError], "LISTENER_HTTP_ADDR"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			test.spoil(r)
			err := app.Run(t.Context(), r.options)
			if err == nil || !test.is(err) || errors.Is(err, state.ErrDamaged) || !strings.Contains(err.Error(), test.names) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A store that was filled from one Prefect is not mixed with another: reading rests and says why, until the store is let go
// over. A Prefect that has only moved is followed.
func TestAnotherPrefectOnTheStoreIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	told := r.history(2)
	stop := r.start()
	r.sink.WaitTaken(t, told)
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	moved := httptest.NewServer(r.prefect)
	t.Cleanup(moved.Close)
	first := r.options.Config.Prefect.URL
	r.options.Config.Prefect.URL = moved.URL + "/api"
	stop = r.start()
	waitFor(t, "the new address is said", func() bool {
		return r.logged("Prefect has another address than before and is the same: it has runs that were told about") == 1
	})
	justNow := prefecttest.History{Flows: 1, FlowRuns: 1, From: time.Now().Add(-2 * time.Second), Lasts: time.Second}
	r.prefect.AddHistory(justNow)
	told += 2
	r.sink.WaitTaken(t, told)
	if err := stop(); err != nil {
		t.Fatal(err)
	}

	other := prefecttest.NewTCP(t)
	other.AddFlowRun(prefect.FlowRun{
		ID: uuid.New(), FlowID: other.AddFlow("Elsewhere").ID, RunCount: 1, StartTime: &justNow.From, EndTime: &justNow.From,
		State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: time.Now().UTC()},
	})
	r.options.Config.Prefect.URL = other.URL
	r.start()
	waitFor(t, "reading rests", func() bool { return r.logged("reading from Prefect is paused") == 1 })
	reason, _ := r.logs.FilterMessage("reading from Prefect is paused").All()[0].ContextMap()["reason"].(string)
	if !strings.Contains(reason, other.URL) || !strings.Contains(reason, moved.URL) || strings.Contains(reason, first) {
		t.Errorf("the reason is %q", reason)
	}
	done, err := app.Adopt(t.Context(), r.options)
	if want := (app.Adoption{Before: moved.URL + "/api", Now: other.URL}); err != nil || done != want {
		t.Fatalf("%+v, %v", done, err)
	}
	r.sink.WaitTaken(t, told+2)
}

func TestStopLeavesWhatASinkDoesNotTake(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.history(5)
	r.sink.Script(transporttest.Always(transporttest.Status(503)))
	stop := r.start()
	r.sink.Wait(t, "something was tried", func() bool { return len(r.sink.Requests()) > 0 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.sink.Script(transporttest.Always(transporttest.OK()))
	r.start()
	r.sink.WaitTaken(t, events)
}
