package prefect_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

// pastRuns are a flow run that ended an hour ago and its task runs, each with as many artifacts as its number says, of
// which those of the last one name the task run alone.
func pastRuns(w *world) (prefect.FlowRun, []prefect.TaskRun) {
	parent := w.flowRun(noon)
	var tasks []uuid.UUID
	for i := range 4 {
		id := w.taskRun(parent, noon)
		w.end(id, noon)
		for range i {
			flowRun := &parent
			if i == 3 {
				flowRun = nil
			}
			w.AddArtifact(prefect.Artifact{FlowRunID: flowRun, TaskRunID: &id, Created: noon})
		}
		tasks = append(tasks, id)
	}
	w.end(parent, noon)
	w.AddArtifact(prefect.Artifact{FlowRunID: &parent, Created: noon})
	w.pass(time.Hour)
	var rows []prefect.TaskRun
	for _, id := range tasks {
		rows = append(rows, w.TaskRun(id))
	}
	return w.FlowRun(parent), rows
}

func counts(snapshots []prefect.Snapshot) []int {
	var n []int
	for _, s := range snapshots {
		n = append(n, len(s.Artifacts))
	}
	return n
}

// However the artifacts come, with the flow run, after it or ahead of it, they are the same.
func TestArtifactsAreTheSameWhicheverWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent, tasks := pastRuns(w)
	read := func(name string, r *prefect.Reader, flows []prefect.FlowRun, tasks []prefect.TaskRun, want []int, lists int) {
		t.Helper()
		w.ForgetRequests()
		snapshots, _, err := r.Snapshots(t.Context(), flows, tasks, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, counts(snapshots)); diff != "" {
			t.Errorf("%s: artifacts (-want +got):\n%s", name, diff)
		}
		if n := w.Count("/artifacts/filter"); n != lists {
			t.Errorf("%s: %d lists of artifacts were read, want %d", name, n, lists)
		}
	}
	flows := []prefect.FlowRun{parent}
	read("task runs alone", newReader(w), nil, tasks, []int{0, 1, 2, 3}, 1)
	read("together", newReader(w), flows, tasks, []int{1, 0, 1, 2, 3}, 2) // the count tells of the last one's
	read("together, and nothing is odd", newReader(w), flows, tasks[:3], []int{1, 0, 1, 2}, 1)

	later := newReader(w)
	read("the flow run first", later, flows, nil, []int{1}, 1)
	read("its task runs later", later, nil, tasks[:3], []int{0, 1, 2}, 0)

	ahead := newReader(w)
	if err := ahead.ReadAhead(t.Context(), flows, tasks); err != nil {
		t.Fatal(err)
	}
	read("what was read ahead", ahead, flows, tasks, []int{1, 0, 1, 2, 3}, 0)
	read("which serves once", ahead, flows, tasks[:3], []int{1, 0, 1, 2}, 1)

	w.FaultAlways(prefecttest.Path("/artifacts/count"), prefecttest.Status(http.StatusNotFound))
	read("a server that doesn't count", newReader(w), flows, tasks, []int{1, 0, 1, 2, 3}, 2)
}

// A task run that ended a moment before its flow run's artifacts were read may have made more since.
func TestYoungTaskRunsAreReadThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent := w.flowRun(noon)
	id := w.taskRun(parent, noon)
	w.end(parent, noon)
	reader := newReader(w)
	if _, _, err := reader.Snapshots(t.Context(), []prefect.FlowRun{w.FlowRun(parent)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	w.end(id, noon)
	w.AddArtifact(prefect.Artifact{FlowRunID: &parent, TaskRunID: &id, Created: noon})
	snapshots, _, err := reader.Snapshots(t.Context(), nil, []prefect.TaskRun{w.TaskRun(id)}, nil)
	if err != nil || len(snapshots[0].Artifacts) != 1 {
		t.Errorf("got %v, %v", counts(snapshots), err)
	}
}

// Artifacts that were read ahead belong to the run as it was then.
func TestReadAheadIsOfOneState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent := w.flowRun(noon)
	w.end(parent, noon)
	reader := newReader(w)
	if err := reader.ReadAhead(t.Context(), []prefect.FlowRun{w.FlowRun(parent)}, nil); err != nil {
		t.Fatal(err)
	}
	w.SetState(parent, prefect.State{Type: prefect.Failed, Name: "Failed", Timestamp: noon.Add(time.Second)})
	w.AddArtifact(prefect.Artifact{FlowRunID: &parent, Created: noon})
	snapshots, _, err := reader.Snapshots(t.Context(), []prefect.FlowRun{w.FlowRun(parent)}, nil, nil)
	if err != nil || fmt.Sprint(counts(snapshots)) != "[1]" {
		t.Errorf("got %v, %v", counts(snapshots), err)
	}
}
