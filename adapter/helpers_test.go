package adapter_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

const producer = "https://github.com/prefect-openlineage/listener/tree/v1.2.3"

// newAdapter returns an adapter with the given settings over those of the tests.
func newAdapter(t testing.TB, change ...func(*adapter.Settings)) *adapter.Adapter {
	t.Helper()
	settings := adapter.Settings{Producer: producer, Version: "1.2.3", Grace: 10 * time.Minute}
	for _, f := range change {
		f(&settings)
	}
	a, err := adapter.New(settings)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return a
}

// listener does what the ingest loop does: it keeps a ledger and tells what is new.
type listener struct {
	t        testing.TB
	adapter  *adapter.Adapter
	ledger   map[uuid.UUID]adapter.Told
	events   []adapter.Event
	edges    []adapter.Edge
	warnings []adapter.Warning
}

func newListener(t testing.TB, a *adapter.Adapter) *listener {
	return &listener{t: t, adapter: a, ledger: make(map[uuid.UUID]adapter.Told)}
}

// see takes one snapshot and returns the events that it made.
func (l *listener) see(s prefect.Snapshot) []adapter.Event {
	l.t.Helper()
	id, parentID := l.ids(s)
	told, known := l.ledger[id]
	if !l.adapter.News(s, told) {
		if telling := l.adapter.Tell(s, told, adapter.Beside{}); len(telling.Events) > 0 {
			l.t.Errorf("News said no, Tell made %d events of %s", len(telling.Events), id)
		}
		return nil
	}
	if !known {
		var parent *adapter.Told
		if p, ok := l.ledger[parentID]; ok {
			parent = &p
		}
		var warnings []adapter.Warning
		told, warnings = l.adapter.Pin(s, parent)
		l.warnings = append(l.warnings, warnings...)
	}
	upstream := make(map[uuid.UUID]adapter.Told)
	for _, id := range l.adapter.Upstreams(s) {
		if u, ok := l.ledger[id]; ok {
			upstream[id] = u
		}
	}
	telling := l.adapter.Tell(s, told, adapter.Beside{Upstream: upstream})
	l.keep(s, telling)
	return telling.Events
}

func (l *listener) keep(s prefect.Snapshot, telling adapter.Telling) {
	l.ledger[telling.Told.ID] = telling.Told
	if s.Placeholder != nil {
		l.ledger[s.Placeholder.ID] = telling.Told // a subflow is an upstream under its placeholder's id
	}
	l.events = append(l.events, telling.Events...)
	l.edges = append(l.edges, telling.Edges...)
	l.warnings = append(l.warnings, telling.Warnings...)
}

// ids returns the run's id and its parent's.
func (l *listener) ids(s prefect.Snapshot) (id, parent uuid.UUID) {
	switch {
	case s.TaskRun != nil:
		id = s.TaskRun.ID
		if s.TaskRun.FlowRunID != nil {
			parent = *s.TaskRun.FlowRunID
		}
	case s.FlowRun != nil:
		id = s.FlowRun.ID
		if s.Placeholder != nil && s.Placeholder.FlowRunID != nil {
			parent = *s.Placeholder.FlowRunID
		}
	}
	return id, parent
}

// t0 is when the made-up runs of the tests begin.
var t0 = time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC)

// at returns a moment some seconds after t0.
func at(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }

// told returns a short form of events for tables: START@0 COMPLETE@12.5.
func short(events []adapter.Event) []string {
	list := []string{}
	for _, e := range events {
		list = append(list, fmt.Sprintf("%s@%g", e.Type, e.Time.Sub(t0).Seconds()))
	}
	return list
}

var (
	flowID    = uuid.MustParse("0dab2dc3-34c3-4273-a370-fcf908971aca")
	flowRunID = uuid.MustParse("06b30b81-50e9-4d39-a77f-b9bd994c1576")
	taskRunID = uuid.MustParse("01a22d3d-1e40-7a55-831f-b237ea2c473a")
)

// flowRow returns a completed run of the flow named etl, which a test may change.
func flowRow() prefect.FlowRun {
	return prefect.FlowRun{
		ID: flowRunID, Name: "wine-cuscus", FlowID: flowID, RunCount: 1, Created: at(-2),
		ExpectedStartTime: new(at(-1)), StartTime: new(at(0)), EndTime: new(at(10)),
		State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: at(10)},
	}
}

// taskRow returns a completed run of the task load in that flow run.
func taskRow() prefect.TaskRun {
	return prefect.TaskRun{
		ID: taskRunID, Name: "load-612", FlowRunID: new(flowRunID), TaskKey: "load-4d7a2869",
		DynamicKey: "612afa19-f5f0-4851-a3bf-366b7d553ee6", RunCount: 1, Created: at(0),
		ExpectedStartTime: new(at(1)), StartTime: new(at(2)), EndTime: new(at(5)),
		State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: at(5)},
	}
}

func etl() *prefect.Flow { return &prefect.Flow{ID: flowID, Name: "etl"} }

func flowSnapshot(row prefect.FlowRun) prefect.Snapshot {
	return prefect.Snapshot{FlowRun: &row, Flow: etl(), Server: prefect.Server{Version: "3.9.1"}}
}

func taskSnapshot(row prefect.TaskRun, artifacts ...prefect.Artifact) prefect.Snapshot {
	return prefect.Snapshot{TaskRun: &row, Flow: etl(), Artifacts: artifacts, Server: prefect.Server{Version: "3.9.1"}}
}

// flowTold returns the pinned entry of flowRow's run.
func flowTold(t testing.TB, a *adapter.Adapter) adapter.Told {
	t.Helper()
	told, warnings := a.Pin(flowSnapshot(flowRow()), nil)
	if len(warnings) > 0 {
		t.Fatalf("Pin warned: %v", warnings)
	}
	return told
}

// object decodes a JSON object.
func object(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatalf("not a JSON object: %v\n%s", err, raw)
	}
	return o
}

// dig returns what stands at a path of keys in decoded JSON, nil if nothing does.
func dig(v any, path ...string) any {
	for _, key := range path {
		o, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = o[key]
	}
	return v
}
