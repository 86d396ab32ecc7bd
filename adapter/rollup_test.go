package adapter_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

// rolledTask is a task run and what it read and wrote, for tables.
type rolledTask struct {
	name          string
	start, end    float64
	reads, writes []string
	after         []string // tasks that it waited for
}

func taskID(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

func (r rolledTask) row() prefect.TaskRun {
	row := prefect.TaskRun{ID: taskID(r.name), FlowRunID: new(flowRunID), StartTime: new(at(r.start)), EndTime: new(at(r.end)),
		TaskInputs: map[string][]prefect.TaskInput{}}
	for _, name := range r.after {
		row.TaskInputs["x"] = append(row.TaskInputs["x"], prefect.TaskInput{Type: "task_run", ID: new(taskID(name))})
	}
	return row
}

func (r rolledTask) artifacts() []prefect.Artifact {
	var list []prefect.Artifact
	add := func(marker, table string) {
		list = append(list, prefect.Artifact{
			ID: taskID(r.name + marker + table), Type: new("table"), Description: new(marker), TaskRunID: new(taskID(r.name)),
			Created: at(r.end), Data: json.RawMessage(fmt.Sprintf(`[{"database_uri":"duckdb:///w","table":%q,"description":"by %s"}]`, table, r.name)),
		})
	}
	for _, table := range r.reads {
		add("ol-dataset_input", table)
	}
	for _, table := range r.writes {
		add("ol-dataset_output", table)
	}
	return list
}

// rolledEnd tells a flow run with this rollup and returns its end.
func rolledEnd(t *testing.T, a *adapter.Adapter, roll *adapter.Rollup) (endBody, []byte) {
	t.Helper()
	s := flowSnapshot(flowRow())
	events := a.Tell(s, flowTold(t, a), adapter.Beside{Rollup: roll}).Events
	var end endBody
	if err := json.Unmarshal(events[1].Body, &end); err != nil {
		t.Fatal(err)
	}
	return end, events[1].Body
}

func TestRollup(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		tasks []rolledTask
		want  []string
	}{
		{"nothing", nil, []string{}},
		{"a chain", []rolledTask{
			{name: "extract", start: 1, end: 2, reads: []string{"raw"}, writes: []string{"stage"}},
			{name: "load", start: 3, end: 4, reads: []string{"stage"}, writes: []string{"mart"}},
		}, []string{"<raw", ">mart", ">stage"}},
		{"read before it was written", []rolledTask{
			{name: "reader", start: 1, end: 2, reads: []string{"a"}},
			{name: "writer", start: 3, end: 4, writes: []string{"a"}},
		}, []string{"<a", ">a"}},
		{"side by side", []rolledTask{
			{name: "reader", start: 1, end: 9, reads: []string{"a"}},
			{name: "writer", start: 2, end: 3, writes: []string{"a"}},
		}, []string{"<a", ">a"}},
		{"of two readers one came before", []rolledTask{
			{name: "first", start: 1, end: 2, reads: []string{"a"}},
			{name: "writer", start: 3, end: 4, writes: []string{"a"}},
			{name: "second", start: 5, end: 6, reads: []string{"a"}},
		}, []string{"<a", ">a"}},
		{"updated in place", []rolledTask{
			{name: "update", start: 1, end: 2, reads: []string{"a"}, writes: []string{"a"}},
		}, []string{"<a", ">a"}},
		{"made and then updated in place", []rolledTask{
			{name: "make", start: 1, end: 2, writes: []string{"a"}},
			{name: "update", start: 3, end: 4, reads: []string{"a"}, writes: []string{"a"}},
		}, []string{">a"}},
		{"the clock of the reader's machine is behind", []rolledTask{
			{name: "writer", start: 5, end: 6, writes: []string{"a"}},
			{name: "reader", start: 4, end: 5, reads: []string{"a"}, after: []string{"writer"}},
		}, []string{">a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAdapter(t, func(s *adapter.Settings) { s.FlowDatasets = adapter.FlowDatasetsRollup })
			var bodies []string
			for seed := range uint64(8) { // rows come in any order
				shuffled := rand.New(rand.NewPCG(seed, 1))
				roll := a.NewRollup()
				var artifacts []prefect.Artifact
				for _, task := range tt.tasks {
					roll.AddTask(task.row())
					artifacts = append(artifacts, task.artifacts()...)
				}
				shuffled.Shuffle(len(artifacts), func(i, j int) { artifacts[i], artifacts[j] = artifacts[j], artifacts[i] })
				for _, artifact := range artifacts {
					roll.AddArtifact(artifact)
				}
				end, body := rolledEnd(t, a, roll)
				got := []string{}
				for _, d := range end.Inputs {
					got = append(got, "<"+d.Name)
				}
				for _, d := range end.Outputs {
					got = append(got, ">"+d.Name)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Fatalf("datasets (-want +got):\n%s", diff)
				}
				bodies = append(bodies, string(body))
			}
			for _, body := range bodies {
				if body != bodies[0] {
					t.Errorf("another order of rows gives another event:\n%s\n%s", bodies[0], body)
				}
			}
		})
	}
}

// TestRollupBounds is of no use for a flow run that is too large, and says so.
func TestRollupBounds(t *testing.T) {
	t.Parallel()
	a := newAdapter(t, func(s *adapter.Settings) { s.FlowDatasets = adapter.FlowDatasetsRollup })
	roll := a.NewRollup()
	task := rolledTask{name: "many", start: 1, end: 2}
	roll.AddTask(task.row())
	for i := range adapter.MaxRolledDatasets {
		task.writes = append(task.writes, fmt.Sprint("t", i))
	}
	for _, artifact := range task.artifacts() {
		roll.AddArtifact(artifact)
	}
	if err := roll.Full(); err != nil {
		t.Errorf("%d datasets: %v", adapter.MaxRolledDatasets, err)
	}
	task.writes = []string{"one more"}
	roll.AddArtifact(task.artifacts()[0])
	if err := roll.Full(); err == nil {
		t.Error("one dataset more is taken")
	}
	many := a.NewRollup()
	for i := range adapter.MaxRolledTasks + 1 {
		many.AddTask(prefect.TaskRun{ID: taskID(fmt.Sprint(i))})
	}
	if err := many.Full(); err == nil {
		t.Error("one task more is taken")
	}
}

// TestRollupBelievesTablesBeforeAssets merges what a task's artifact and its asset say of one dataset as the task's own end
// does.
func TestRollupBelievesTablesBeforeAssets(t *testing.T) {
	t.Parallel()
	a := newAdapter(t, func(s *adapter.Settings) { s.FlowDatasets = adapter.FlowDatasetsRollup })
	task := rolledTask{name: "make", start: 1, end: 2, writes: []string{"t"}}
	roll := a.NewRollup()
	roll.AddTask(task.row())
	for _, artifact := range task.artifacts() {
		roll.AddArtifact(artifact)
	}
	roll.AddAssets(task.row().ID, []prefect.AssetEvent{{
		Name: "prefect.asset.materialization.succeeded", Occurred: at(3),
		Asset: prefect.Asset{Key: "duckdb:///w/t", Description: "by the asset"},
	}})
	_, body := rolledEnd(t, a, roll)
	if text := string(body); !strings.Contains(text, "by make") || strings.Contains(text, `"description":"by the asset"`) || !strings.Contains(text, "prefect_asset") {
		t.Errorf("the end says %s", body)
	}
}

// TestRollupOfAFailedMaterialization leaves room for the last good run's datasets: of what was to be made nothing was.
func TestRollupOfAFailedMaterialization(t *testing.T) {
	t.Parallel()
	a := newAdapter(t, func(s *adapter.Settings) {
		s.FlowDatasets, s.DatasetsOnFailure = adapter.FlowDatasetsRollup, adapter.DatasetsLast
	})
	task := rolledTask{name: "make", start: 1, end: 2}
	roll := a.NewRollup()
	roll.AddTask(task.row())
	roll.AddAssets(task.row().ID, []prefect.AssetEvent{{
		Name: "prefect.asset.materialization.failed", Occurred: at(2), Asset: prefect.Asset{Key: "s3://lake/clean"}, Upstream: []string{"s3://lake/raw"},
	}})
	s := flowSnapshot(flowRow())
	s.FlowRun.State.Type = prefect.Failed
	last := []adapter.Edge{{Namespace: "s3://lake", Name: "clean", Output: true}}
	events := a.Tell(s, flowTold(t, a), adapter.Beside{Rollup: roll, Last: last}).Events
	body := string(events[len(events)-1].Body)
	if !strings.Contains(body, `"name":"raw"`) || !strings.Contains(body, `"name":"clean"`) {
		t.Errorf("the end says %s", body)
	}
}
