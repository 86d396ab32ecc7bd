package adapter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

var (
	subRunID      = uuid.MustParse("df80ef7e-1e2c-49a3-8bb1-dd13078ae9ed")
	subFlowID     = uuid.MustParse("51163acd-1fdb-4b1b-b05c-ae8959fb6f2a")
	placeholderID = uuid.MustParse("633016ad-76b0-4626-9067-826db8df6b3e")
	deploymentID  = uuid.MustParse("f1e69b2d-315b-41d3-bfaa-ad3087fc14c9")
)

// subflowSnapshot returns a run of the flow sub, called in flowRow's run.
func subflowSnapshot() prefect.Snapshot {
	row := flowRow()
	row.ID, row.Name, row.FlowID, row.ParentTaskRunID = subRunID, "sub-run", subFlowID, new(placeholderID)
	s := flowSnapshot(row)
	s.Flow = &prefect.Flow{ID: subFlowID, Name: "sub"}
	s.Placeholder = &prefect.TaskRun{ID: placeholderID, Name: "sub-0", FlowRunID: new(flowRunID)}
	return s
}

// env returns job variables with an environment.
func env(variables string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"env": json.RawMessage(variables)}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 1025)
	tests := []struct {
		name            string
		run, deployment string // env as JSON; empty: none
		want            string
		warned          bool
	}{
		{"none", "", "", "process", false},
		{"the run's", `{"OPENLINEAGE_NAMESPACE":"run"}`, `{"OPENLINEAGE_NAMESPACE":"deployment"}`, "run", false},
		{"the deployment's", `{"OTHER":"x"}`, `{"OPENLINEAGE_NAMESPACE":"deployment"}`, "deployment", false},
		{"empty is unset", `{"OPENLINEAGE_NAMESPACE":"  "}`, `{"OPENLINEAGE_NAMESPACE":"deployment"}`, "deployment", false},
		{"null is unset", `{"OPENLINEAGE_NAMESPACE":null}`, "", "process", false},
		{"an object is unset", `{"OPENLINEAGE_NAMESPACE":{"a":1}}`, "", "process", false},
		{"a number", `{"OPENLINEAGE_NAMESPACE":1.50}`, "", "1.50", false},
		{"a template is unset", `{"OPENLINEAGE_NAMESPACE":"{{ prefect.variables.ns }}"}`, "", "process", false},
		{"a list, as on Kubernetes", `[{"name":"OPENLINEAGE_NAMESPACE","value":"k8s"},{"name":"X","valueFrom":{}}]`, "", "k8s", false},
		{"env is no environment", `"OPENLINEAGE_NAMESPACE=x"`, "", "process", false},
		{"blanks around", `{"OPENLINEAGE_NAMESPACE":" ns "}`, "", "ns", false},
		{"control characters", `{"OPENLINEAGE_NAMESPACE":"a\u0007b\nc"}`, "", "a_b_c", true},
		{"a URI stays as it is", `{"OPENLINEAGE_NAMESPACE":"prefect://host:4200/x y"}`, "", "prefect://host:4200/x y", false},
		{"too long", `{"OPENLINEAGE_NAMESPACE":"` + long + `"}`, "", openlineage.CleanNamespace(long), true},
	}
	a := newAdapter(t, func(s *adapter.Settings) { s.Namespace = "process" })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := flowSnapshot(flowRow())
			if tt.run != "" {
				s.FlowRun.JobVariables = env(tt.run)
			}
			if tt.deployment != "" {
				s.Deployment = &prefect.Deployment{ID: deploymentID, JobVariables: env(tt.deployment)}
			}
			told, warnings := a.Pin(s, nil)
			if told.Run.Namespace != tt.want {
				t.Errorf("namespace %q, want %q", told.Run.Namespace, tt.want)
			}
			if warned := len(warnings) == 1 && warnings[0].Rule == "namespace-replaced"; warned != tt.warned {
				t.Errorf("warnings: %v", warnings)
			}
			// A task is where its flow is.
			task, _ := a.Pin(prefect.Snapshot{TaskRun: new(taskRow()), Flow: s.Flow, Deployment: s.Deployment}, &told)
			if task.Run.Namespace != tt.want {
				t.Errorf("its task's namespace is %q", task.Run.Namespace)
			}
			// A subflow is where its parent is, unless its own variables say otherwise.
			sub, _ := a.Pin(subflowSnapshot(), &told)
			if sub.Run.Namespace != tt.want {
				t.Errorf("its subflow's namespace is %q", sub.Run.Namespace)
			}
			own := subflowSnapshot()
			own.FlowRun.JobVariables = env(`{"OPENLINEAGE_NAMESPACE":"own"}`)
			if sub, _ := a.Pin(own, &told); sub.Run.Namespace != "own" {
				t.Errorf("its subflow's own namespace is %q", sub.Run.Namespace)
			}
		})
	}
}

func TestNamespaceDefault(t *testing.T) {
	t.Parallel()
	if got := flowTold(t, newAdapter(t)).Run.Namespace; got != "default" {
		t.Errorf("got %q", got)
	}
}

func TestAncestry(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	flow := flowTold(t, a)
	if flow.Parent != nil || flow.Root != nil || flow.Ancestor != uuid.Nil || flow.FlowRunID != uuid.Nil {
		t.Errorf("a root flow run has a parent: %+v", flow)
	}
	sub, _ := a.Pin(subflowSnapshot(), &flow)
	task, _ := a.Pin(taskSnapshot(taskRow()), &sub)
	if diff := cmp.Diff([]any{&flow.Run, &flow.Run, flowRunID, flowRunID}, []any{sub.Parent, sub.Root, sub.Ancestor, sub.FlowRunID}); diff != "" {
		t.Errorf("subflow: parent, root, ancestor, flow run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{&sub.Run, &flow.Run, subRunID}, []any{task.Parent, task.Root, task.Ancestor}); diff != "" {
		t.Errorf("its task: parent, root, ancestor (-want +got):\n%s", diff)
	}
	if task.FlowID != subFlowID || task.FlowRunID != flowRunID {
		t.Errorf("its task: flow %s, flow run %s", task.FlowID, task.FlowRunID)
	}
}

func TestOutsideParent(t *testing.T) {
	t.Parallel()
	const id, rootID = "5f0c3ab0-6c0f-4b53-9f9e-0a3bd8c0a111", "5f0c3ab0-6c0f-4b53-9f9e-0a3bd8c0a222"
	parent := adapter.RunRef{RunID: uuid.MustParse(id), Namespace: "airflow", Name: "daily.trigger"}
	root := adapter.RunRef{RunID: uuid.MustParse(rootID), Namespace: "airflow", Name: "daily"}
	older := adapter.RunRef{RunID: uuid.MustParse(rootID), Namespace: "other", Name: "job"} // beside each context
	context := func(inner string) string {
		text, err := json.Marshal(inner)
		if err != nil {
			t.Fatal(err)
		}
		return `{"OPENLINEAGE_CONTEXT":` + string(text) + `,"OPENLINEAGE_PARENT_ID":"other/job/` + rootID + `"}`
	}
	const parentJSON = `"run":{"runId":"` + id + `"},"job":{"namespace":"airflow","name":"daily.trigger"}`
	const rootJSON = `"root":{"run":{"runId":"` + rootID + `"},"job":{"namespace":"airflow","name":"daily"}}`
	tests := []struct {
		name         string
		env          string
		parent, root *adapter.RunRef
		warned       bool
	}{
		{"none", `{}`, nil, nil, false},
		{"parent", `{"OPENLINEAGE_PARENT_ID":"airflow/daily.trigger/` + id + `"}`, &parent, &parent, false},
		{"parent and root", `{"OPENLINEAGE_PARENT_ID":"airflow/daily.trigger/` + id + `","OPENLINEAGE_ROOT_PARENT_ID":"airflow/daily/` + rootID + `"}`, &parent, &root, false},
		{"a namespace with slashes", `{"OPENLINEAGE_PARENT_ID":"airflow://h:1/job/` + id + `"}`, &adapter.RunRef{RunID: parent.RunID, Namespace: "airflow://h:1", Name: "job"}, &adapter.RunRef{RunID: parent.RunID, Namespace: "airflow://h:1", Name: "job"}, false},
		{"root alone", `{"OPENLINEAGE_ROOT_PARENT_ID":"airflow/daily/` + rootID + `"}`, nil, nil, false},
		{"context", context(`{"parent":{` + parentJSON + `}}`), &parent, &parent, false},
		{"context with root", context(`{"parent":{` + parentJSON + `,` + rootJSON + `}}`), &parent, &root, false},
		{"context with root beside", context(`{"parent":{` + parentJSON + `},` + rootJSON + `}`), &parent, &root, false},
		{"no UUID", `{"OPENLINEAGE_PARENT_ID":"airflow/daily.trigger/17"}`, nil, nil, true},
		{"nil UUID", `{"OPENLINEAGE_PARENT_ID":"airflow/daily.trigger/` + uuid.Nil.String() + `"}`, nil, nil, true},
		{"two parts", `{"OPENLINEAGE_PARENT_ID":"daily.trigger/` + id + `"}`, nil, nil, true},
		{"one part", `{"OPENLINEAGE_PARENT_ID":"` + id + `"}`, nil, nil, true},
		{"no namespace", `{"OPENLINEAGE_PARENT_ID":"/daily.trigger/` + id + `"}`, nil, nil, true},
		{"no name", `{"OPENLINEAGE_PARENT_ID":"airflow//` + id + `"}`, nil, nil, true},
		{"a bad root", `{"OPENLINEAGE_PARENT_ID":"airflow/daily.trigger/` + id + `","OPENLINEAGE_ROOT_PARENT_ID":"x"}`, &parent, &parent, true},
		{"context that is no JSON", context(`parent`), &older, &older, true},
		{"context without parent", context(`{"run":1}`), &older, &older, true},
		{"context without job", context(`{"parent":{"run":{"runId":"` + id + `"}}}`), &older, &older, true},
		{"neither", `{"OPENLINEAGE_CONTEXT":"{}","OPENLINEAGE_PARENT_ID":"x"}`, nil, nil, true},
		{"context with half a root", context(`{"parent":{` + parentJSON + `,"root":{}}}`), &parent, &parent, true},
	}
	a := newAdapter(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := flowSnapshot(flowRow())
			s.FlowRun.JobVariables = env(tt.env)
			told, warnings := a.Pin(s, nil)
			if diff := cmp.Diff([]*adapter.RunRef{tt.parent, tt.root}, []*adapter.RunRef{told.Parent, told.Root}); diff != "" {
				t.Errorf("parent and root (-want +got):\n%s", diff)
			}
			if warned := len(warnings) == 1 && warnings[0].Rule == "parent-ignored"; warned != tt.warned {
				t.Errorf("warnings: %v", warnings)
			}
			if told.Ancestor != uuid.Nil {
				t.Errorf("ancestor %s", told.Ancestor)
			}
			task, _ := a.Pin(taskSnapshot(taskRow()), &told)
			want := &told.Run
			if tt.root != nil {
				want = tt.root
			}
			if diff := cmp.Diff(want, task.Root); diff != "" {
				t.Errorf("the task's root (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutsideParentYields checks that Prefect's own parent wins and that a deployment's variables are not read: they
// name the parent of some earlier run.
func TestOutsideParentYields(t *testing.T) {
	t.Parallel()
	a := newAdapter(t)
	variables := env(`{"OPENLINEAGE_PARENT_ID":"airflow/job/5f0c3ab0-6c0f-4b53-9f9e-0a3bd8c0a111"}`)
	flow := flowTold(t, a)
	s := subflowSnapshot()
	s.FlowRun.JobVariables = variables
	if told, _ := a.Pin(s, &flow); told.Parent == nil || *told.Parent != flow.Run {
		t.Errorf("a subflow's parent is %+v", told.Parent)
	}
	if told, _ := a.Pin(s, nil); told.Parent != nil { // its own parent is there, though nobody knows it
		t.Errorf("a subflow of an unknown parent has the parent %+v", told.Parent)
	}
	s = flowSnapshot(flowRow())
	s.Deployment = &prefect.Deployment{ID: deploymentID, JobVariables: variables}
	if told, _ := a.Pin(s, nil); told.Parent != nil {
		t.Errorf("a deployment's parent was taken: %+v", told.Parent)
	}
}

func TestRunIDs(t *testing.T) {
	t.Parallel()
	// The ids are those that openlineage-python makes of the run's start and namespace.name.
	id := func(name string, start float64) uuid.UUID {
		return openlineage.StaticUUID(at(start), []byte("ns."+name))
	}
	set := func(tasks adapter.TaskNameType, flows adapter.FlowNameType) *adapter.Adapter {
		return newAdapter(t, func(s *adapter.Settings) {
			s.Namespace, s.RunIDType = "ns", adapter.RunIDOpenLineagePrefect
			s.TaskNameType, s.FlowNameType = tasks, flows
		})
	}
	row := taskRow()
	row.Name = "load 2024-01-01" // that package cuts the day off
	tests := []struct {
		name    string
		adapter *adapter.Adapter
		s       prefect.Snapshot
		want    uuid.UUID
	}{
		{"prefect", newAdapter(t), taskSnapshot(taskRow()), taskRunID},
		{"task", set("", ""), taskSnapshot(taskRow()), id("load", 2)},
		{"task, templated", set("", ""), taskSnapshot(row), id("load 2024-01", 2)},
		{"task, full", set(adapter.TaskNameFull, ""), taskSnapshot(taskRow()), id("load-612", 2)},
		{"flow", set("", ""), flowSnapshot(flowRow()), id("etl", 0)},
		{"flow run", set("", adapter.FlowNameFlowRun), flowSnapshot(flowRow()), id("wine-cuscus", 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if told, _ := tt.adapter.Pin(tt.s, nil); told.Run.RunID != tt.want {
				t.Errorf("got %s, want %s", told.Run.RunID, tt.want)
			}
		})
	}
	t.Run("no time at all", func(t *testing.T) {
		t.Parallel()
		row := flowRow()
		row.StartTime, row.State = nil, nil
		told, warnings := set("", "").Pin(flowSnapshot(row), nil)
		if told.Run.RunID != flowRunID || len(warnings) != 1 || warnings[0].Rule != "run-id-replaced" {
			t.Errorf("got %s, %v", told.Run.RunID, warnings)
		}
	})
}
