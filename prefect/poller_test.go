package prefect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func TestPollIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.poll(t)
	w.pass(2 * time.Second)
	w.ForgetRequests()
	s := w.poll(t)
	if n := w.Count(""); n != 4 {
		t.Errorf("an idle poll made %d requests, want 4", n)
	}
	if len(s.portions) != 1 {
		t.Errorf("an idle poll yielded %d portions, want 1", len(s.portions))
	}
	want := prefect.Cursor{Ended: noon.Add(2 * time.Second), Swept10m: noon, SweptDay: noon, Since: noon.Add(-time.Hour)}
	if diff := cmp.Diff(want, w.cur); diff != "" {
		t.Errorf("position (-want +got):\n%s", diff)
	}
	for _, f := range append(w.lists(t, "flow_runs"), w.lists(t, "task_runs")...) {
		run := f.FlowRuns
		if run == nil {
			run = f.TaskRuns
		}
		if run.EndTime == nil {
			continue
		}
		if got, want := *run.EndTime.After, noon.Add(-prefect.Overlap); !got.Equal(want) {
			t.Errorf("what ended was read from %v, want %v", got, want)
		}
		if run.EndTime.Before != nil {
			t.Errorf("what ended was read up to %v only: rows whose clocks run ahead are left out", run.EndTime.Before)
		}
	}
}

func TestPollFirstStart(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, prefect.PollerConfig{Lookback: 2 * time.Hour})
	old, lately := w.endedTaskRun(noon.Add(-121*time.Minute)), w.endedTaskRun(noon.Add(-119*time.Minute))
	ancient := w.flowRun(noon.Add(-90 * 24 * time.Hour))
	s := w.poll(t)
	s.want(t, prefect.Running, ancient)
	s.want(t, prefect.Completed, lately)
	s.wantNot(t, old)

	// Neither do the longer looks back reach behind it, hours later.
	for range 5 {
		w.pass(30 * time.Minute)
		w.poll(t).wantNot(t, old)
	}
}

func TestPollFollowsARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.poll(t)

	flow := w.flowRun(w.now())
	task := w.taskRun(flow, w.now())
	w.poll(t).want(t, prefect.Running, flow, task)

	w.pass(3 * time.Second)
	w.end(task, w.now())
	w.SetState(flow, prefect.State{Type: prefect.Crashed, Timestamp: w.now()})
	s := w.poll(t)
	s.want(t, prefect.Completed, task)
	s.want(t, prefect.Crashed, flow)

	w.pass(time.Minute)
	w.SetState(flow, prefect.State{Type: prefect.Running})
	w.poll(t).want(t, prefect.Running, flow) // a crashed run that goes on

	w.pass(time.Hour)
	w.end(flow, w.now())
	w.poll(t).want(t, prefect.Completed, flow)
}

func TestPollGivesFlowRunsBeforeTheirTaskRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AddHistory(prefecttest.History{FlowRuns: 10, Tasks: 70, From: noon.Add(-9 * time.Minute), Every: 30 * time.Second, Lasts: 5 * time.Second})
	w.cur = prefect.Cursor{Ended: noon.Add(-9 * time.Minute), Swept10m: noon, SweptDay: noon}
	seen := make(map[uuid.UUID]bool)
	for _, portion := range w.poll(t).portions {
		for _, run := range portion.FlowRuns {
			seen[run.ID] = true
		}
		for _, run := range portion.TaskRuns {
			if !seen[*run.FlowRunID] {
				t.Fatalf("task run %s came before its flow run", run.ID)
			}
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d flow runs were seen, want 10", len(seen))
	}
}

func TestPollOpenRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var open prefect.OpenRuns
	var paused []uuid.UUID
	for i := range 450 {
		id := prefecttest.ID(fmt.Sprint("paused", i))
		w.AddFlowRun(prefect.FlowRun{ID: id, FlowID: w.flow.ID})
		w.SetState(id, prefect.State{Type: prefect.Paused})
		paused, open.FlowRuns = append(paused, id), append(open.FlowRuns, id)
	}
	active, gone := w.flowRun(noon), prefecttest.ID("gone")
	goneTask, unset := prefecttest.ID("gone task"), w.AddTaskRun(prefect.TaskRun{}).ID
	open.FlowRuns = append(open.FlowRuns, active, gone)
	open.TaskRuns = append(open.TaskRuns, goneTask, unset)
	w.poll(t)
	w.ForgetRequests()
	s := w.poll(t, open)
	s.want(t, prefect.Paused, paused...)
	s.want(t, prefect.Running, active)
	s.wantNot(t, unset)
	if diff := cmp.Diff(map[uuid.UUID]bool{gone: true, goneTask: true}, s.gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if n := w.Count(""); n != 4+3+1 {
		t.Errorf("%d requests, want the 4 of each poll, 3 for 451 flow runs by id and one for 2 task runs", n)
	}
	if s.times[active] != 1 {
		t.Errorf("the active run was read %d times", s.times[active])
	}
}

func TestPollTakesNoBadRowForAGoneRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad, nameless, gone := prefecttest.ID("bad"), prefecttest.ID("nameless"), prefecttest.ID("gone")
	w.AddRaw("flow_runs", `{"id":"`+bad.String()+`","name":{"un":"readable"}}`)
	s := w.poll(t, prefect.OpenRuns{FlowRuns: []uuid.UUID{bad, gone}})
	if diff := cmp.Diff(map[uuid.UUID]bool{gone: true}, s.gone); diff != "" || len(s.bad) != 1 {
		t.Errorf("gone (-want +got):\n%s\nbad rows: %v", diff, s.bad)
	}
	// A row whose id can't be read may be any of those that were asked for.
	w.Fault(func(r prefecttest.Request) bool {
		return r.Path == "/flow_runs/filter" && json.Valid(r.Body) && hasIDs(r.Body)
	},
		prefecttest.Answer(200, "application/json", `[{"id":17}]`))
	s = w.poll(t, prefect.OpenRuns{FlowRuns: []uuid.UUID{nameless, gone}})
	if len(s.gone) != 0 || len(s.bad) != 1 {
		t.Errorf("gone: %v, bad rows: %v", s.gone, s.bad)
	}
}

func hasIDs(body []byte) bool {
	var f prefect.Filter
	return json.Unmarshal(body, &f) == nil && f.FlowRuns != nil && f.FlowRuns.ID != nil
}

func TestPollPassesBadRowsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AddRaw("task_runs", `{"id":"0b0b0b0b-0000-4000-8000-000000000000","state_type":"COMPLETED","end_time":"2026-11-30T12:00:00Z","run_count":"many"}`)
	w.AddRaw("flow_runs", `{"id":"0b0b0b0b-0000-4000-8000-000000000001","state_type":"RUNNING","tags":7}`)
	good := w.flowRun(noon)
	s := w.poll(t)
	s.want(t, prefect.Running, good)
	if len(s.bad) != 2 {
		t.Fatalf("%d bad rows, want 2: %v", len(s.bad), s.bad)
	}
	for i, resource := range []string{"flow_runs", "task_runs"} {
		if s.bad[i].Resource != resource || len(s.bad[i].Raw) == 0 || s.bad[i].ID == "" {
			t.Errorf("bad row: %+v", s.bad[i])
		}
	}
}

func TestPollPassesByRunsWithoutAState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fresh := w.AddTaskRun(prefect.TaskRun{}).ID
	w.poll(t).wantNot(t, fresh)
	w.SetState(fresh, prefect.State{Type: prefect.Running})
	w.poll(t).want(t, prefect.Running, fresh)

	// A row may show its end before its state.
	odd := w.endedTaskRun(noon)
	w.UpdateTaskRun(odd, func(r *prefect.TaskRun) { r.State = nil })
	w.poll(t).wantNot(t, odd)
}

func TestPollStopsAtAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	faults := map[string]prefecttest.Fault{
		"half JSON": prefecttest.HalfJSON(), "login page": prefecttest.LoginPage(), "empty": prefecttest.Answer(200, "application/json", ""),
		"no list": prefecttest.Answer(200, "application/json", "{}"), "unauthorized": prefecttest.Status(401),
	}
	for name, fault := range faults {
		for request := range 4 {
			t.Run(fmt.Sprintf("%s at request %d", name, request), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testPollStopsAt(t, fault, request) })
			})
		}
	}
}

func testPollStopsAt(t *testing.T, fault prefecttest.Fault, request int) {
	w := newWorld(t)
	w.poll(t)
	w.pass(time.Minute)
	run, done := w.flowRun(w.now()), w.endedTaskRun(w.now())
	before := w.cur
	var passes []prefecttest.Fault
	for range request / 2 {
		passes = append(passes, prefecttest.Pass())
	}
	match := prefecttest.Path([]string{"/flow_runs/", "/task_runs/"}[request%2])
	w.Fault(match, append(passes, fault, fault, fault, fault, fault, fault)...) // some are tried again
	s, err := w.tryPoll(t.Context())
	if err == nil {
		t.Fatal("the poll went on")
	}
	if w.cur != before {
		t.Errorf("the position moved to %+v", w.cur)
	}
	if len(s.gone) > 0 {
		t.Errorf("gone: %v", s.gone)
	}
	w.ClearFaults()
	s = w.poll(t)
	s.want(t, prefect.Running, run)
	s.want(t, prefect.Completed, done)
}

func TestPollNeedsTheServersTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.poll(t)
	before := w.cur
	w.FaultAlways(prefecttest.Any(), prefecttest.NoDate())
	if _, err := w.tryPoll(t.Context()); err == nil || w.cur != before {
		t.Errorf("got %v, and the position %v", err, w.cur)
	}
}

func TestPollHandsBackTheTakersError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.poll(t)
	w.pass(2 * time.Hour)
	w.AddHistory(prefecttest.History{FlowRuns: 10, Tasks: 80, From: noon, Every: 10 * time.Second, Lasts: 5 * time.Second})
	// An error that would mean a query was too wide, were it the server's.
	full := &prefect.Error{Kind: prefect.ErrTimeout}
	for stop := range 3 {
		before, portions := w.cur, 0
		err := w.poller.Poll(t.Context(), w.cur, prefect.OpenRuns{}, func(context.Context, prefect.Changes) error {
			if portions++; portions > stop {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || err != error(full) { //nolint:errorlint // it must come back as it was
			t.Fatalf("got %v", err)
		}
		if portions != stop+1 || w.cur != before {
			t.Errorf("%d portions were handed over after the taker refused the %dth", portions, stop+1)
		}
	}
}

func TestPollEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AddHistory(prefecttest.History{FlowRuns: 10, Tasks: 80, From: noon.Add(-time.Hour), Every: time.Minute, Lasts: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	err := w.poller.Poll(ctx, prefect.Cursor{}, prefect.OpenRuns{}, func(context.Context, prefect.Changes) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
