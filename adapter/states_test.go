package adapter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// look is one row of a run as a poll saw it, times in seconds after t0. Zero times are null.
type look struct {
	state      prefect.StateType
	name       string
	ts         float64
	count      int
	start, end float64
}

func (l look) flowRun() prefect.FlowRun {
	row := flowRow()
	row.RunCount, row.StartTime, row.EndTime = l.count, seconds(l.start), seconds(l.end)
	row.State = nil
	if l.state != "" {
		row.State = &prefect.State{Type: l.state, Name: l.name, Timestamp: at(l.ts)}
	}
	return row
}

func (l look) taskRun() prefect.TaskRun {
	flow, row := l.flowRun(), taskRow()
	row.RunCount, row.StartTime, row.EndTime, row.State = flow.RunCount, flow.StartTime, flow.EndTime, flow.State
	return row
}

func seconds(s float64) *time.Time {
	if s == 0 {
		return nil
	}
	return new(at(s))
}

func TestStates(t *testing.T) {
	t.Parallel()
	const (
		scheduled, pending, running = prefect.Scheduled, prefect.Pending, prefect.Running
		completed, failed           = prefect.Completed, prefect.Failed
		cancelled, crashed          = prefect.Cancelled, prefect.Crashed
		paused, cancelling          = prefect.Paused, prefect.Cancelling
	)
	tests := []struct {
		name  string
		looks []look
		want  []string
	}{
		{"no state yet", []look{{}}, []string{}},
		{"not begun", []look{{state: scheduled, ts: 1}, {state: pending, ts: 2}}, []string{}},
		{"a state nobody knows", []look{{state: "DREAMING", ts: 1}}, []string{}},
		{
			"every state seen",
			[]look{{state: pending, ts: 1}, {state: running, ts: 2, count: 1, start: 2}, {state: completed, ts: 9, count: 1, start: 2, end: 9}},
			[]string{"START@2", "COMPLETE@9"},
		},
		{
			"the same rows again and again",
			[]look{
				{state: running, ts: 2, count: 1, start: 2}, {state: running, ts: 2, count: 1, start: 2},
				{state: completed, ts: 9, count: 1, start: 2, end: 9}, {state: completed, ts: 9, count: 1, start: 2, end: 9},
			},
			[]string{"START@2", "COMPLETE@9"},
		},
		{"seen at its end only", []look{{state: completed, ts: 9, count: 1, start: 2, end: 9}}, []string{"START@2", "COMPLETE@9"}},
		{"any name of COMPLETED", []look{{state: completed, name: "Skipped", ts: 9, count: 1, start: 2, end: 9}}, []string{"START@2", "COMPLETE@9"}},
		{"cached", []look{{state: completed, name: "Cached", ts: 9, count: 1, start: 8, end: 9}}, []string{"START@8", "COMPLETE@9"}},
		{"cached without running, on 2.x", []look{{state: completed, name: "Cached", ts: 9, start: 9, end: 9}}, []string{"COMPLETE@9"}},
		{"failed", []look{{state: failed, ts: 9, count: 1, start: 2, end: 9}}, []string{"START@2", "FAIL@9"}},
		{"timed out", []look{{state: failed, name: "TimedOut", ts: 9, count: 1, start: 2, end: 9}}, []string{"START@2", "FAIL@9"}},
		{"crashed", []look{{state: crashed, ts: 9, count: 1, start: 2, end: 9}}, []string{"START@2", "FAIL@9"}},
		{"cancelled", []look{{state: cancelled, ts: 9, count: 1, start: 2, end: 9}}, []string{"START@2", "ABORT@9"}},
		{
			"a task's own retries",
			[]look{
				{state: running, ts: 2, count: 1, start: 2}, {state: scheduled, name: "AwaitingRetry", ts: 3, count: 1, start: 2},
				{state: running, name: "Retrying", ts: 4, count: 2, start: 2}, {state: completed, ts: 9, count: 2, start: 2, end: 9},
			},
			[]string{"START@2", "COMPLETE@9"},
		},
		{
			"paused and resumed",
			[]look{
				{state: running, ts: 2, count: 1, start: 2}, {state: paused, ts: 3, count: 1, start: 2}, {state: scheduled, name: "Resuming", ts: 4, count: 1, start: 2},
				{state: running, ts: 5, count: 2, start: 2}, {state: completed, ts: 9, count: 2, start: 2, end: 9},
			},
			[]string{"START@2", "COMPLETE@9"},
		},
		{"first seen paused", []look{{state: paused, ts: 3, count: 1, start: 2}}, []string{"START@2"}},
		{"first seen awaiting its retry", []look{{state: scheduled, name: "AwaitingRetry", ts: 3, count: 1, start: 2}}, []string{"START@2"}},
		{"first seen cancelling", []look{{state: cancelling, ts: 3, count: 1, start: 2}}, []string{"START@2"}},
		{"cancelling before it ran", []look{{state: cancelling, ts: 3}, {state: cancelled, ts: 4, start: 4, end: 4}}, []string{"ABORT@4"}},
		{"never ran and cancelled", []look{{state: scheduled, ts: 1}, {state: cancelled, ts: 4, start: 4, end: 4}}, []string{"ABORT@4"}},
		{"never ran and crashed on submit", []look{{state: crashed, ts: 4, start: 4, end: 4}}, []string{"FAIL@4"}},
		{"never ran, no times at all", []look{{state: failed, ts: 4}}, []string{"FAIL@4"}},
		{"ran though nobody counted", []look{{state: completed, ts: 9, start: 2, end: 9}}, []string{"START@2", "COMPLETE@9"}},
		{"ran though its start is lost", []look{{state: crashed, ts: 9, count: 1, end: 9}}, []string{"FAIL@9"}},
		{
			"alive after it was cancelled before it ran",
			[]look{
				{state: cancelled, ts: 4, start: 4, end: 4}, {state: scheduled, ts: 5, start: 4},
				{state: running, ts: 6, count: 1, start: 4}, {state: completed, ts: 9, count: 1, start: 4, end: 9},
			},
			[]string{"ABORT@4", "START@6", "COMPLETE@9"},
		},
		{
			"alive and over after it was cancelled before it ran",
			[]look{{state: cancelled, ts: 4, start: 4, end: 4}, {state: completed, ts: 9, count: 1, start: 4, end: 9}},
			[]string{"ABORT@4", "START@4", "COMPLETE@9"},
		},
		{
			"suspended after it was cancelled before it ran",
			[]look{{state: cancelled, ts: 4, start: 4, end: 4}, {state: paused, ts: 7, count: 1, start: 4}},
			[]string{"ABORT@4", "START@4"},
		},
		{
			"runs on after it was marked as crashed",
			[]look{
				{state: running, ts: 2, count: 1, start: 2}, {state: crashed, ts: 5, count: 1, start: 2, end: 5},
				{state: running, ts: 6, count: 2, start: 2}, {state: running, ts: 6, count: 2, start: 2}, {state: completed, ts: 9, count: 2, start: 2, end: 9},
			},
			[]string{"START@2", "FAIL@5", "RUNNING@6", "COMPLETE@9"},
		},
		{
			"retried by hand, seen only at both ends",
			[]look{{state: failed, ts: 5, count: 1, start: 2, end: 5}, {state: failed, ts: 9, count: 2, start: 2, end: 9}},
			[]string{"START@2", "FAIL@5", "FAIL@9"},
		},
		{
			"retried by hand, waiting in between",
			[]look{{state: failed, ts: 5, count: 1, start: 2, end: 5}, {state: scheduled, ts: 6, count: 1, start: 2}, {state: pending, ts: 7, count: 1, start: 2}},
			[]string{"START@2", "FAIL@5"},
		},
		{
			"set to completed by hand: Prefect keeps the end time",
			[]look{{state: failed, ts: 5, count: 1, start: 2, end: 5}, {state: completed, ts: 8, count: 1, start: 2, end: 5}},
			[]string{"START@2", "FAIL@5", "COMPLETE@8"},
		},
		{
			"set from crashed to failed by hand",
			[]look{{state: crashed, ts: 5, count: 1, start: 2, end: 5}, {state: failed, ts: 8, count: 1, start: 2, end: 5}},
			[]string{"START@2", "FAIL@5", "FAIL@8"},
		},
		{
			"old rows that a replica serves late",
			[]look{
				{state: failed, ts: 5, count: 1, start: 2, end: 5}, {state: running, ts: 2, count: 1, start: 2},
				{state: running, ts: 6, count: 2, start: 2}, {state: failed, ts: 5, count: 1, start: 2, end: 5},
				{state: completed, ts: 9, count: 2, start: 2, end: 9}, {state: failed, ts: 5, count: 1, start: 2, end: 5},
			},
			[]string{"START@2", "FAIL@5", "RUNNING@6", "COMPLETE@9"},
		},
		{"running without a start time", []look{{state: running, ts: 3, count: 1}}, []string{"START@3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flows, tasks := newListener(t, newAdapter(t)), newListener(t, newAdapter(t))
			for _, l := range tt.looks {
				flows.see(flowSnapshot(l.flowRun()))
				tasks.see(taskSnapshot(l.taskRun()))
			}
			if diff := cmp.Diff(tt.want, short(flows.events)); diff != "" {
				t.Errorf("flow run (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, short(tasks.events)); diff != "" {
				t.Errorf("task run (-want +got):\n%s", diff)
			}
			for i, e := range flows.events {
				if e.First != (i == 0) {
					t.Errorf("event %d: First = %t", i, e.First)
				}
			}
		})
	}
}

func TestToldAfterStates(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	l := newListener(t, a)
	row := flowRow()
	row.State = &prefect.State{Type: prefect.Running, Timestamp: at(0)}
	row.EndTime = nil
	l.see(flowSnapshot(row))
	want, _ := a.Pin(flowSnapshot(row), nil)
	if want.Phase != adapter.Unsaid {
		t.Fatalf("a pinned run has phase %d", want.Phase)
	}
	want.Phase, want.Start = adapter.Open, at(0)
	if diff := cmp.Diff(want, l.ledger[flowRunID]); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	l.see(flowSnapshot(flowRow()))
	want.Phase, want.EndType, want.End = adapter.Ended, adapter.Complete, at(10)
	if diff := cmp.Diff(want, l.ledger[flowRunID]); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
}

// TestPlaceholderIsNoRun checks that a subflow's stand-in is never told, in whatever state.
func TestPlaceholderIsNoRun(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	for _, state := range []prefect.StateType{prefect.Running, prefect.Completed, prefect.Paused} {
		row := taskRow()
		row.State = &prefect.State{Type: state, Timestamp: at(5), Details: prefect.StateDetails{ChildFlowRunID: new(flowRunID)}}
		if a.News(taskSnapshot(row), adapter.Told{}) {
			t.Errorf("News says yes of a placeholder in state %s", state)
		}
		if telling := a.Tell(taskSnapshot(row), adapter.Told{}, adapter.Beside{}); len(telling.Events) > 0 {
			t.Errorf("a placeholder in state %s is told", state)
		}
	}
}

// TestMissedRunSeenAgain checks that a run which was there all along is not kept as missed.
func TestMissedRunSeenAgain(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	told := flowTold(t, a)
	told.Phase, told.Start, told.Missed = adapter.Open, at(0), at(3)
	row := flowRow()
	row.State, row.EndTime = &prefect.State{Type: prefect.Running, Timestamp: at(0)}, nil
	if !a.News(flowSnapshot(row), told) {
		t.Fatal("News says no, so the entry would stay marked as missed")
	}
	telling := a.Tell(flowSnapshot(row), told, adapter.Beside{})
	if len(telling.Events) > 0 || !telling.Told.Missed.IsZero() || telling.Told.Phase != adapter.Open {
		t.Errorf("got %d events and %+v", len(telling.Events), telling.Told)
	}
}

func TestEmptySnapshot(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	var s prefect.Snapshot
	if a.News(s, adapter.Told{}) || len(a.Upstreams(s)) > 0 || len(a.Tell(s, adapter.Told{}, adapter.Beside{}).Events) > 0 {
		t.Error("an empty snapshot is told")
	}
	if told, warnings := a.Pin(s, nil); told.ID != [16]byte{} || len(warnings) > 0 {
		t.Errorf("Pin = %+v, %v", told, warnings)
	}
}
