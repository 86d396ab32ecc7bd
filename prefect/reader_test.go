package prefect_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func newReader(w *world) *prefect.Reader {
	return prefect.NewReader(w.client, prefect.ReaderConfig{UIURL: "http://prefect.test"})
}

// summary names what a snapshot holds.
func summary(s prefect.Snapshot) string {
	var name string
	if s.FlowRun != nil {
		name = s.FlowRun.Name
	} else {
		name = s.TaskRun.Name
	}
	text := name + ":"
	if s.Flow != nil {
		text += " flow=" + s.Flow.Name
	}
	if s.Deployment != nil {
		text += " deployment=" + s.Deployment.Name
	}
	if s.Placeholder != nil {
		text += " placeholder=" + s.Placeholder.Name
	}
	for _, a := range s.Artifacts {
		text += " " + *a.Key
	}
	return text
}

func summaries(snapshots []prefect.Snapshot) []string {
	var all []string
	for _, s := range snapshots {
		all = append(all, summary(s))
	}
	return all
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sub := w.AddFlow("Sub")
	deployment := w.AddDeployment(prefect.Deployment{Name: "nightly", FlowID: w.flow.ID})
	parent := w.AddFlowRun(prefect.FlowRun{Name: "parent", FlowID: w.flow.ID, DeploymentID: &deployment.ID}).ID
	holds := w.AddTaskRun(prefect.TaskRun{Name: "Sub-0", FlowRunID: &parent}).ID
	child := w.AddFlowRun(prefect.FlowRun{Name: "child", FlowID: sub.ID, ParentTaskRunID: &holds}).ID
	lost := w.AddFlowRun(prefect.FlowRun{Name: "lost", FlowID: prefecttest.ID("no flow"), DeploymentID: &sub.ID, ParentTaskRunID: &sub.ID}).ID
	task := w.AddTaskRun(prefect.TaskRun{Name: "task", FlowRunID: &parent}).ID
	alone := w.AddTaskRun(prefect.TaskRun{Name: "alone"}).ID
	far := w.AddFlowRun(prefect.FlowRun{Name: "far", FlowID: sub.ID}).ID
	farTask := w.AddTaskRun(prefect.TaskRun{Name: "far task", FlowRunID: &far}).ID
	strayTask := w.AddTaskRun(prefect.TaskRun{Name: "stray", FlowRunID: &sub.ID}).ID
	toldTask := w.AddTaskRun(prefect.TaskRun{Name: "told", FlowRunID: &w.flow.ID}).ID
	running := w.AddTaskRun(prefect.TaskRun{Name: "running", FlowRunID: &parent}).ID
	for _, id := range []uuid.UUID{parent, child, lost, holds, task, alone, farTask, strayTask, toldTask} {
		w.end(id, noon)
	}
	w.SetState(running, prefect.State{Type: prefect.Running})

	artifact := func(key string, flowRun, taskRun uuid.UUID, second int, kind string) {
		a := prefect.Artifact{Key: &key, Type: &kind, FlowRunID: &flowRun, Created: noon.Add(time.Duration(second) * time.Second)}
		if taskRun != uuid.Nil {
			a.TaskRunID = &taskRun
		}
		w.AddArtifact(a)
	}
	for i, key := range []string{"d", "a", "c", "b", "e", "a"} { // the last one is a later version of the same key
		artifact(key, parent, task, []int{4, 1, 3, 2, 5, 6}[i], "table")
	}
	artifact("note", parent, task, 1, "markdown")
	artifact("own", parent, uuid.Nil, 1, "table")
	artifact("early", parent, running, 1, "table")

	flowRuns := []prefect.FlowRun{w.FlowRun(parent), w.FlowRun(child), w.FlowRun(lost)}
	taskRuns := []prefect.TaskRun{w.TaskRun(task), w.TaskRun(alone), w.TaskRun(farTask), w.TaskRun(strayTask), w.TaskRun(toldTask), w.TaskRun(running)}
	flowOf := map[uuid.UUID]prefect.FlowRef{w.flow.ID: {FlowID: sub.ID, DeploymentID: deployment.ID}}
	snapshots, bad, err := newReader(w).Snapshots(t.Context(), flowRuns, taskRuns, flowOf)
	if err != nil || len(bad) > 0 {
		t.Fatalf("got %v, bad rows %v", err, bad)
	}
	want := []string{
		"parent: flow=Load deployment=nightly own",
		"child: flow=Sub placeholder=Sub-0",
		"lost:",
		"task: flow=Load deployment=nightly a b c d e a",
		"alone:",
		"far task: flow=Sub", // its flow run was read
		"stray:",             // its flow run is not there
		"told: flow=Sub deployment=nightly",
		"running: flow=Load deployment=nightly",
	}
	if diff := cmp.Diff(want, summaries(snapshots)); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
	if got, want := snapshots[0].Server, (prefect.Server{Version: "3.9.1", UIURL: "http://prefect.test"}); got != want {
		t.Errorf("server: got %+v, want %+v", got, want)
	}
}

func TestSnapshotsOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	snapshots, bad, err := newReader(w).Snapshots(t.Context(), nil, nil, nil)
	if err != nil || len(snapshots)+len(bad) > 0 {
		t.Errorf("got %v, %v, %v", snapshots, bad, err)
	}
	if n := w.Count(""); n != 1 {
		t.Errorf("%d requests, want one for the version", n)
	}
}

// Many artifacts fill many pages, however the runs are asked for.
func TestSnapshotsReadAllArtifacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, prefecttest.PageLimit(30))
	parent := w.flowRun(noon)
	var taskRuns []prefect.TaskRun
	want := make(map[uuid.UUID]int)
	for i := range 120 {
		id := w.taskRun(parent, noon)
		w.end(id, noon)
		for range []int{0, 1, 2, 90}[i%4/(1+i/8%5)] {
			w.AddArtifact(prefect.Artifact{FlowRunID: &parent, TaskRunID: &id, Created: noon})
			want[id]++
		}
		taskRuns = append(taskRuns, w.TaskRun(id))
	}
	w.end(parent, noon)
	for range 50 {
		w.AddArtifact(prefect.Artifact{FlowRunID: &parent, Created: noon})
		want[parent]++
	}
	reader := newReader(w)
	first, _, err := reader.Snapshots(t.Context(), []prefect.FlowRun{w.FlowRun(parent)}, taskRuns, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range first {
		id := parent
		if s.TaskRun != nil {
			id = s.TaskRun.ID
		}
		seen := make(map[uuid.UUID]bool)
		for _, a := range s.Artifacts {
			seen[a.ID] = true
		}
		if len(s.Artifacts) != want[id] || len(seen) != want[id] {
			t.Errorf("%s: %d artifacts, %d different ones, want %d", id, len(s.Artifacts), len(seen), want[id])
		}
	}
	again, _, err := reader.Snapshots(t.Context(), []prefect.FlowRun{w.FlowRun(parent)}, taskRuns, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same read gives another order (-first +again):\n%s", diff)
	}
}

func TestSnapshotsAskSeldomForNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		deployment := w.AddDeployment(prefect.Deployment{Name: "nightly", FlowID: w.flow.ID})
		missing := prefecttest.ID("not yet")
		run := w.AddFlowRun(prefect.FlowRun{FlowID: w.flow.ID, DeploymentID: &deployment.ID, ParentTaskRunID: &missing})
		reader := newReader(w)
		read := func(wantFlows, wantTasks int) prefect.Snapshot {
			t.Helper()
			w.ForgetRequests()
			snapshots, _, err := reader.Snapshots(t.Context(), []prefect.FlowRun{run}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if flows, tasks := w.Count("/flows/filter"), w.Count("/task_runs/filter"); flows != wantFlows || flows != w.Count("/deployments/filter") || tasks != wantTasks {
				t.Errorf("%d requests for flows, %d for deployments, %d for placeholders", flows, w.Count("/deployments/filter"), tasks)
			}
			return snapshots[0]
		}
		read(1, 1)
		if s := read(0, 0); s.Flow == nil || s.Deployment == nil || s.Placeholder != nil {
			t.Errorf("got %s", summary(s))
		}
		time.Sleep(21 * time.Second) // that something isn't there is believed for a short while
		w.AddTaskRun(prefect.TaskRun{ID: missing, Name: "placeholder"})
		if s := read(0, 1); s.Placeholder == nil {
			t.Error("the placeholder is still taken for missing")
		}
		read(0, 0)
		time.Sleep(5 * time.Minute)
		read(1, 1)
	})
}

func TestSnapshotsTellMissingFromUnanswered(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/flows/", "/deployments/", "/task_runs/", "/flow_runs/", "/artifacts/"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				parent, child := w.flowRun(noon), w.flowRun(noon)
				w.UpdateFlowRun(child, func(r *prefect.FlowRun) { r.ParentTaskRunID, r.DeploymentID = &parent, &parent })
				task := w.taskRun(parent, noon)
				w.end(task, noon)
				w.FaultAlways(prefecttest.Path(path), prefecttest.Status(http.StatusServiceUnavailable))
				snapshots, _, err := newReader(w).Snapshots(t.Context(), []prefect.FlowRun{w.FlowRun(child)}, []prefect.TaskRun{w.TaskRun(task)}, nil)
				if !errors.Is(err, prefect.ErrUnavailable) || snapshots != nil {
					t.Errorf("got %v and %d snapshots", err, len(snapshots))
				}
				w.ClearFaults()
				if _, _, err = newReader(w).Snapshots(t.Context(), []prefect.FlowRun{w.FlowRun(child)}, []prefect.TaskRun{w.TaskRun(task)}, nil); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestSnapshotsPassBadRowsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	flow, deployment := prefecttest.ID("bad flow"), prefecttest.ID("bad deployment")
	w.AddRaw("flows", `{"id":"`+flow.String()+`","name":{"no":"text"}}`)
	w.AddRaw("deployments", `{"id":"`+deployment.String()+`","name":7}`)
	run := w.AddFlowRun(prefect.FlowRun{Name: "run", FlowID: flow, DeploymentID: &deployment})
	w.end(run.ID, noon)
	w.AddRaw("artifacts", `{"id":"`+prefecttest.ID("bad artifact").String()+`","type":"table","flow_run_id":"`+run.ID.String()+`","created":"whenever"}`)
	good := "good"
	w.AddArtifact(prefect.Artifact{Key: &good, FlowRunID: &run.ID})
	snapshots, bad, err := newReader(w).Snapshots(t.Context(), []prefect.FlowRun{w.FlowRun(run.ID)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"run: good"}, summaries(snapshots)); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
	var resources []string
	for _, row := range bad {
		resources = append(resources, row.Resource)
	}
	if diff := cmp.Diff([]string{"flows", "deployments", "artifacts"}, resources); diff != "" {
		t.Errorf("bad rows (-want +got):\n%s", diff)
	}
}

func TestRunsByID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []uuid.UUID
	for i := range 250 {
		run := w.AddFlowRun(prefect.FlowRun{ID: prefecttest.ID(fmt.Sprint("flow run ", i)), FlowID: w.flow.ID})
		ids = append(ids, run.ID)
	}
	task, bad := w.taskRun(ids[0], noon), prefecttest.ID("bad")
	w.AddRaw("task_runs", `{"id":"`+bad.String()+`","name":7}`)
	reader := newReader(w)
	flows, rows, err := reader.FlowRunsByID(t.Context(), append(ids, task))
	if err != nil || len(flows) != 250 || len(rows) > 0 {
		t.Errorf("got %d flow runs, %d bad rows, %v", len(flows), len(rows), err)
	}
	if n := w.Count("/flow_runs/filter"); n != 2 {
		t.Errorf("%d requests for 251 flow runs, want 2", n)
	}
	tasks, rows, err := reader.TaskRunsByID(t.Context(), []uuid.UUID{task, bad, ids[0]})
	if err != nil || len(tasks) != 1 || len(rows) != 1 || rows[0].ID != bad.String() {
		t.Errorf("got %d task runs, bad rows %v, %v", len(tasks), rows, err)
	}
	w.Fault(prefecttest.Path("/flow_runs"), prefecttest.Status(http.StatusUnauthorized))
	if flows, _, err := reader.FlowRunsByID(t.Context(), ids); !errors.Is(err, prefect.ErrUnauthorized) {
		t.Errorf("got %d flow runs, %v", len(flows), err)
	}
}

func TestReaderServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		reader := newReader(w)
		w.Fault(prefecttest.Path("/admin"), prefecttest.Status(500), prefecttest.Status(500), prefecttest.Status(500))
		if _, err := reader.Server(t.Context()); !errors.Is(err, prefect.ErrUnavailable) {
			t.Errorf("got %v of a server that never answered", err)
		}
		want := prefect.Server{Version: "3.9.1", UIURL: "http://prefect.test"}
		check := func(requests int) {
			t.Helper()
			w.ForgetRequests()
			for range 3 {
				if got, err := reader.Server(t.Context()); err != nil || got != want {
					t.Errorf("got %+v, %v", got, err)
				}
			}
			if n := w.Count(""); n != requests {
				t.Errorf("%d requests, want %d", n, requests)
			}
		}
		check(1)
		time.Sleep(5 * time.Minute)
		check(1)
		// When it can't be asked again the last answer stands, and it is asked for each time.
		time.Sleep(5 * time.Minute)
		w.FaultAlways(prefecttest.Path("/admin"), prefecttest.Status(http.StatusServiceUnavailable))
		check(9)
		// A server that keeps its version to itself is read all the same.
		want.Version = ""
		for _, fault := range []prefecttest.Fault{
			prefecttest.Status(http.StatusForbidden), prefecttest.Status(http.StatusNotFound),
			prefecttest.Status(http.StatusTeapot), prefecttest.LoginPage(),
		} {
			w.ClearFaults()
			w.FaultAlways(prefecttest.Path("/admin"), fault)
			reader = newReader(w)
			check(1)
		}
	})
}
