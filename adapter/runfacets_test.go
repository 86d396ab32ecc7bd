package adapter_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// tell returns the events of a run that is first seen with this snapshot.
func tell(t testing.TB, a *adapter.Adapter, s prefect.Snapshot, upstream map[uuid.UUID]adapter.Told) adapter.Telling {
	t.Helper()
	var parent *adapter.Told
	if s.TaskRun != nil && s.TaskRun.FlowRunID != nil {
		parent = new(flowTold(t, a))
	}
	told, _ := a.Pin(s, parent)
	return a.Tell(s, told, adapter.Beside{Upstream: upstream})
}

// last returns the last event, decoded.
func last(t testing.TB, telling adapter.Telling) map[string]any {
	t.Helper()
	if len(telling.Events) == 0 {
		t.Fatal("nothing was told")
	}
	return object(t, telling.Events[len(telling.Events)-1].Body)
}

// bare returns a facet without the fields that every facet has.
func bare(v any) any {
	facet, ok := v.(map[string]any)
	if !ok {
		return v
	}
	delete(facet, "_producer")
	delete(facet, "_schemaURL")
	return facet
}

func TestErrorMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		state   prefect.StateType
		message *string
		want    any
	}{
		{"failed", prefect.Failed, new("boom"), "boom"},
		{"crashed", prefect.Crashed, new("evicted"), "evicted"},
		{"no message", prefect.Failed, nil, "TheName"},
		{"blank message", prefect.Failed, new(" "), "TheName"},
		{"secrets", prefect.Failed, new("at postgres://u:p@h/db, password=x"), "at postgres://***@h/db, password=***"},
		{"cancelled", prefect.Cancelled, new("not needed"), nil},
		{"completed", prefect.Completed, new("All states completed."), nil},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			row := taskRow()
			row.State = &prefect.State{Type: tt.state, Name: "TheName", Timestamp: at(5), Message: tt.message}
			telling := tell(t, a, taskSnapshot(row), nil)
			facet := dig(last(t, telling), "run", "facets", "errorMessage")
			if got := dig(facet, "message"); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if tt.want != nil && dig(facet, "programmingLanguage") != "PYTHON" {
				t.Errorf("language %v", dig(facet, "programmingLanguage"))
			}
			if start := object(t, telling.Events[0].Body); dig(start, "run", "facets", "errorMessage") != nil {
				t.Error("START has an error message")
			}
		})
	}
}

func TestPrefectRunFacet(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	outer, inner := uuid.MustParse("01a22d3d-1f63-7003-9825-2146174128a2"), taskRow()
	inner.TaskInputs = map[string][]prefect.TaskInput{"__parents__": {{Type: "task_run", ID: &outer}}}
	inner.State.Name = "Cached"
	s := taskSnapshot(inner)
	s.Server.UIURL = "http://prefect.local"
	telling := tell(t, a, s, nil)
	fixed := map[string]any{
		"kind": "task-run", "taskRunId": taskRunID.String(), "flowRunId": flowRunID.String(), "flowId": flowID.String(),
		"flowName": "etl", "taskKey": "load-4d7a2869", "enclosingTaskRunId": outer.String(),
		"url": "http://prefect.local/runs/task-run/" + taskRunID.String(),
	}
	if diff := cmp.Diff(any(fixed), bare(dig(object(t, telling.Events[0].Body), "run", "facets", "prefect_run"))); diff != "" {
		t.Errorf("START (-want +got):\n%s", diff)
	}
	fixed["runName"], fixed["stateName"], fixed["stateType"], fixed["runCount"] = "load-612", "Cached", "COMPLETED", 1.0
	fixed["cached"], fixed["inferred"] = true, false
	if diff := cmp.Diff(any(fixed), bare(dig(last(t, telling), "run", "facets", "prefect_run"))); diff != "" {
		t.Errorf("COMPLETE (-want +got):\n%s", diff)
	}
	if dig(last(t, telling), "run", "facets", "jobDependencies") != nil {
		t.Error("the enclosing task is a dependency")
	}

	sub := subflowSnapshot()
	sub.FlowRun.WorkPoolName, sub.FlowRun.WorkQueueName = new("k8s"), new("default")
	sub.Placeholder.TaskInputs = inner.TaskInputs
	flow := flowTold(t, a)
	told, _ := a.Pin(sub, &flow)
	telling = a.Tell(sub, told, adapter.Beside{})
	if start := object(t, telling.Events[0].Body); dig(start, "run", "facets", "prefect_run", "workPool") != nil {
		t.Error("START names a work pool, which Prefect may set later")
	}
	facet := dig(last(t, telling), "run", "facets", "prefect_run")
	want := []any{"flow-run", subRunID.String(), placeholderID.String(), outer.String(), "k8s", "default", nil}
	got := []any{
		dig(facet, "kind"), dig(facet, "flowRunId"), dig(facet, "parentTaskRunId"), dig(facet, "enclosingTaskRunId"),
		dig(facet, "workPool"), dig(facet, "workQueue"), dig(facet, "taskRunId"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("subflow (-want +got):\n%s", diff)
	}
}

func TestPageURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, setting string
		server        prefect.Server
		flow, task    any
	}{
		{"nobody knows", "", prefect.Server{Version: "3.9.1"}, nil, nil},
		{"the server", "", prefect.Server{Version: "3.9.1", UIURL: "http://s"}, "http://s/runs/flow-run/", "http://s/runs/task-run/"},
		{"the setting", "http://x/", prefect.Server{Version: "3.9.1", UIURL: "http://s"}, "http://x/runs/flow-run/", "http://x/runs/task-run/"},
		{"2.x", "", prefect.Server{Version: "2.20.25", UIURL: "http://s"}, "http://s/flow-runs/flow-run/", "http://s/task-runs/task-run/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAdapter(t, func(s *adapter.Settings) { s.UIURL = tt.setting })
			flow, task := flowSnapshot(flowRow()), taskSnapshot(taskRow())
			flow.Server, task.Server = tt.server, tt.server
			for _, run := range []struct {
				s    prefect.Snapshot
				want any
				id   uuid.UUID
			}{{flow, tt.flow, flowRunID}, {task, tt.task, taskRunID}} {
				if run.want != nil {
					run.want = run.want.(string) + run.id.String()
				}
				if got := dig(last(t, tell(t, a, run.s, nil)), "run", "facets", "prefect_run", "url"); got != run.want {
					t.Errorf("got %v, want %v", got, run.want)
				}
			}
		})
	}
}

func TestDeploymentFacet(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	s := flowSnapshot(flowRow())
	s.Deployment = &prefect.Deployment{ID: deploymentID, Name: "prod", Version: new("2"), Created: at(-100)}
	want := map[string]any{"id": deploymentID.String(), "name": "prod", "version": "2", "created": "2026-11-30T15:58:20.000000Z"}
	if diff := cmp.Diff(any(want), bare(dig(last(t, tell(t, a, s, nil)), "run", "facets", "prefect_deployment"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.FlowRun.DeploymentVersion = new("1") // the one that the run was started with
	if got := dig(last(t, tell(t, a, s, nil)), "run", "facets", "prefect_deployment", "version"); got != "1" {
		t.Errorf("version %v", got)
	}
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	ids := make([]uuid.UUID, 6)
	for i := range ids {
		ids[i] = uuid.UUID{15: byte(i + 1)}
	}
	row := taskRow()
	row.TaskInputs = map[string][]prefect.TaskInput{
		"x":           {{Type: "task_run", ID: &ids[3]}, {Type: "constant"}, {Type: "parameter"}, {Type: "task_run", ID: &ids[0]}},
		"y":           {{Type: "flow_run", ID: &ids[1]}, {Type: "task_run"}},
		"wait_for":    {{Type: "task_run", ID: &ids[0]}, {Type: "task_run", ID: &ids[2]}},
		"__parents__": {{Type: "task_run", ID: &ids[4]}},
	}
	s := taskSnapshot(row)
	if diff := cmp.Diff(ids[:4], a.Upstreams(s)); diff != "" {
		t.Errorf("Upstreams (-want +got):\n%s", diff)
	}
	ref := func(name string, id uuid.UUID) adapter.Told {
		return adapter.Told{Run: adapter.RunRef{RunID: id, Namespace: "ns", Name: name}}
	}
	upstream := map[uuid.UUID]adapter.Told{
		ids[0]: ref("etl.b", ids[0]), ids[2]: ref("etl.b", ids[2]), ids[3]: ref("etl.a", ids[3]), // ids[1] is unknown
	}
	dependency := func(name string, id uuid.UUID) any {
		return map[string]any{"job": map[string]any{"namespace": "ns", "name": name}, "run": map[string]any{"runId": id.String()}}
	}
	want := []any{dependency("etl.a", ids[3]), dependency("etl.b", ids[0]), dependency("etl.b", ids[2])}
	telling := tell(t, a, s, upstream)
	for _, e := range telling.Events {
		if diff := cmp.Diff(any(want), dig(object(t, e.Body), "run", "facets", "jobDependencies", "upstream")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Type, diff)
		}
	}

	// A subflow waits for what its placeholder waits for; a placeholder and its subflow are one upstream.
	sub := subflowSnapshot()
	sub.Placeholder.TaskInputs = map[string][]prefect.TaskInput{"y": {{Type: "task_run", ID: &ids[0]}, {Type: "flow_run", ID: &ids[1]}}}
	if diff := cmp.Diff(ids[:2], a.Upstreams(sub)); diff != "" {
		t.Errorf("Upstreams of a subflow (-want +got):\n%s", diff)
	}
	flow := flowTold(t, a)
	told, _ := a.Pin(sub, &flow)
	telling = a.Tell(sub, told, adapter.Beside{Upstream: map[uuid.UUID]adapter.Told{ids[0]: ref("other", ids[5]), ids[1]: ref("other", ids[5])}})
	if diff := cmp.Diff(any([]any{dependency("other", ids[5])}), dig(last(t, telling), "run", "facets", "jobDependencies", "upstream")); diff != "" {
		t.Errorf("subflow (-want +got):\n%s", diff)
	}
}

// TestParentComplete checks that a parent goes out whole, with its root, or not at all.
func TestParentComplete(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	s := taskSnapshot(taskRow())
	flow := flowTold(t, a)
	told, _ := a.Pin(s, &flow)
	ref := map[string]any{
		"run": map[string]any{"runId": flowRunID.String()}, "job": map[string]any{"namespace": "default", "name": "etl"},
	}
	want := map[string]any{"run": ref["run"], "job": ref["job"], "root": ref}
	for _, e := range a.Tell(s, told, adapter.Beside{}).Events {
		if diff := cmp.Diff(any(want), bare(dig(object(t, e.Body), "run", "facets", "parent"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Type, diff)
		}
	}
	told.Root = nil
	for _, e := range a.Tell(s, told, adapter.Beside{}).Events {
		if dig(object(t, e.Body), "run", "facets", "parent") != nil {
			t.Errorf("%s has half a parent", e.Type)
		}
	}
}

// TestPinnedFactsStay checks that later events repeat what the first one said, whatever Prefect says by then.
func TestPinnedFactsStay(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	s := flowSnapshot(flowRow())
	s.Deployment = &prefect.Deployment{ID: deploymentID, Name: "prod", Description: new("first"), JobVariables: env(`{"OPENLINEAGE_NAMESPACE":"one"}`)}
	s.FlowRun.State, s.FlowRun.EndTime = &prefect.State{Type: prefect.Running, Timestamp: at(0)}, nil
	l := newListener(t, a)
	l.see(s)
	l.see(flowSnapshot(flowRow())) // the deployment is gone
	if len(l.events) != 2 {
		t.Fatalf("%d events", len(l.events))
	}
	start, end := object(t, l.events[0].Body), object(t, l.events[1].Body)
	if diff := cmp.Diff(start["job"], end["job"]); diff != "" {
		t.Errorf("the job changed (-start +end):\n%s", diff)
	}
	if got := dig(end, "job", "facets", "documentation", "description"); got != "first" {
		t.Errorf("description %v", got)
	}
}

// TestUnknownServer checks that processing_engine is there whatever is known: DataHub refuses events without it.
func TestUnknownServer(t *testing.T) {
	t.Parallel()
	s := flowSnapshot(flowRow())
	s.Server = prefect.Server{}
	a := newAdapter(t)
	for want, a := range map[string]*adapter.Adapter{"unknown": a, "3.6.0": a.WithServer(prefect.Server{Version: "3.6.0"})} {
		facet := bare(dig(last(t, tell(t, a, s, nil)), "run", "facets", "processing_engine"))
		if diff := cmp.Diff(any(map[string]any{"name": "Prefect", "version": want, "openlineageAdapterVersion": "1.2.3"}), facet); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestBrokenLedger checks that an entry which can't be used costs its own events only, with a warning.
func TestBrokenLedger(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	s := flowSnapshot(flowRow())
	told := flowTold(t, a)
	told.JobFacets = []byte("{")
	if telling := a.Tell(s, told, adapter.Beside{}); len(telling.Events) != 2 || len(telling.Warnings) != 1 || telling.Warnings[0].Rule != "facets-refused" {
		t.Errorf("unreadable job facets: %d events, %v", len(telling.Events), telling.Warnings)
	}
	told = flowTold(t, a)
	told.Run.Name = ""
	telling := a.Tell(s, told, adapter.Beside{})
	if len(telling.Events) != 0 || len(telling.Warnings) != 2 || telling.Warnings[0].Rule != "event-refused" || telling.Told.Phase != adapter.Ended {
		t.Errorf("no job name: %d events, %v, phase %d", len(telling.Events), telling.Warnings, telling.Told.Phase)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	s := flowSnapshot(flowRow())
	s.FlowRun.Parameters = map[string]json.RawMessage{
		"n": json.RawMessage(`1.50`), "day": json.RawMessage(`"2026-11-30"`), "api_key": json.RawMessage(`"hunter2"`),
		"db": json.RawMessage(`{"url":"postgres://u:hunter2@h/db","pwd":"hunter2"}`), "nothing": json.RawMessage(`null`),
	}
	if got := dig(last(t, tell(t, newAdapter(t), s, nil)), "run", "facets", "executionParameters"); got != nil {
		t.Errorf("nobody asked for %v", got)
	}
	a := newAdapter(t, func(s *adapter.Settings) { s.Parameters = true })
	parameter := func(key, value string) any { return map[string]any{"key": key, "value": value} }
	want := []any{
		parameter("api_key", "***"), parameter("day", "2026-11-30"),
		parameter("db", `{"pwd":"***","url":"postgres://***@h/db"}`), parameter("n", "1.50"), parameter("nothing", "null"),
	}
	for _, e := range tell(t, a, s, nil).Events {
		if diff := cmp.Diff(any(want), dig(object(t, e.Body), "run", "facets", "executionParameters", "parameters")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Type, diff)
		}
	}
}
