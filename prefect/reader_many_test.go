package prefect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
)

// A loop may make several hundred artifacts in one run, under one key or many: all come, each once, over as many pages
// as it takes.
func TestSnapshotsOfRunsWithHundredsOfArtifacts(t *testing.T) {
	t.Parallel()
	const many = 701 // four pages of 200
	w := newWorld(t)
	flowRun := w.AddFlowRun(prefect.FlowRun{Name: "loop", FlowID: w.flow.ID}).ID
	task := w.AddTaskRun(prefect.TaskRun{Name: "task", FlowRunID: &flowRun}).ID
	alone := w.AddTaskRun(prefect.TaskRun{Name: "alone"}).ID
	for _, id := range []uuid.UUID{flowRun, task, alone} {
		w.end(id, noon)
	}
	for i := range many {
		for _, a := range []prefect.Artifact{{FlowRunID: &flowRun}, {FlowRunID: &flowRun, TaskRunID: &task}, {TaskRunID: &alone}} {
			a.Key, a.Type, a.Created = new(fmt.Sprint(i%350)), new("table"), noon.Add(time.Duration(i)*time.Millisecond)
			w.AddArtifact(a)
		}
	}
	snapshots, bad, err := newReader(w).Snapshots(t.Context(),
		[]prefect.FlowRun{w.FlowRun(flowRun)}, []prefect.TaskRun{w.TaskRun(task), w.TaskRun(alone)}, nil)
	if err != nil || len(bad) > 0 || len(snapshots) != 3 {
		t.Fatalf("%d snapshots, %v, bad rows %v", len(snapshots), err, bad)
	}
	for _, s := range snapshots {
		seen := map[uuid.UUID]bool{}
		for _, a := range s.Artifacts {
			seen[a.ID] = true
		}
		if len(s.Artifacts) != many || len(seen) != many {
			t.Errorf("%.10s: %d artifacts, of which %d differ, not %d", summary(s), len(s.Artifacts), len(seen), many)
		}
	}
}
