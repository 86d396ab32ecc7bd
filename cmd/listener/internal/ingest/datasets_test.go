package ingest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/state"
)

// with makes the recorder anew over the same ledger, as a new process with these settings does.
func (r *rig) with(change func(*adapter.Settings)) {
	r.t.Helper()
	settings := adapter.Settings{Producer: "https://example.com/producer", Version: "1", Grace: grace}
	change(&settings)
	a, err := adapter.New(settings)
	if err != nil {
		r.t.Fatal(err)
	}
	r.recorder = ingest.NewRecorder(a, r.reader, r.ledger, zap.NewNop(), ingest.NewMetrics(prometheus.NewRegistry()), nil)
}

func lastGood(s *adapter.Settings) { s.DatasetsOnFailure = adapter.DatasetsLast }
func rollup(s *adapter.Settings)   { s.FlowDatasets = adapter.FlowDatasetsRollup }

// table adds a table artifact of a task run that names a dataset; with in it is an input.
func (r *rig) table(task prefect.TaskRun, marker, table string) {
	description := marker
	r.prefect.AddArtifact(prefect.Artifact{
		Description: &description, FlowRunID: task.FlowRunID, TaskRunID: &task.ID, Created: *at(1),
		Data: json.RawMessage(fmt.Sprintf(`[{"database_uri": "duckdb:///w", "table": %q, "columns": ["a"]}]`, table)),
	})
}

const (
	reads  = "ol-dataset_input"
	writes = "ol-dataset_output"
)

// ends are the ends of a batch with their datasets, as "COMPLETE etl <a >b".
func ends(t *testing.T, b state.Batch) []string {
	t.Helper()
	list := []string{}
	for _, e := range b.Events {
		if e.Type == adapter.Start {
			continue
		}
		var body struct {
			Inputs, Outputs []struct{ Namespace, Name string }
		}
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s", e.Type, e.Job.Name)
		for _, d := range body.Inputs {
			line += " <" + d.Name
		}
		for _, d := range body.Outputs {
			line += " >" + d.Name
		}
		list = append(list, line)
	}
	return list
}

func wantEnds(t *testing.T, b state.Batch, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), ends(t, b)); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

// failed gives a run another end.
func failed(t prefect.TaskRun) prefect.TaskRun {
	t.State = &prefect.State{Type: prefect.Failed, Name: "Failed", Timestamp: t.State.Timestamp}
	return t
}

// TestFailedRunRepeats has a failed run repeat the datasets of its job's last good run, over a restart too, and not where
// it named some itself.
func TestFailedRunRepeats(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(lastGood)
	flow := r.flowRun("Flow", 0, 0)
	first := r.taskRun(&flow.ID, "load", 1, 2)
	r.table(first, reads, "raw")
	r.table(first, writes, "clean")
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{first}}, live)
	r.with(lastGood)

	second := failed(r.taskRun(&flow.ID, "load", 3, 4))
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{second}}, live)
	wantEnds(t, r.ledger.last(), "FAIL Flow.load <raw >clean")
	if body := string(r.ledger.last().Events[1].Body); !json.Valid([]byte(body)) || !containsAll(body, `"datasetsRepeated":true`, `"schema"`) {
		t.Errorf("the repeated datasets are not said to be so, or lack their schema: %s", body)
	}

	third := failed(r.taskRun(&flow.ID, "load", 5, 6))
	r.table(third, reads, "other")
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{third}}, live)
	wantEnds(t, r.ledger.last(), "FAIL Flow.load <other")

	r.with(func(*adapter.Settings) {})
	fourth := failed(r.taskRun(&flow.ID, "load", 7, 8))
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{fourth}}, live)
	wantEnds(t, r.ledger.last(), "FAIL Flow.load")
}

// TestFailedRunRepeatsWithinOnePortion reads both runs at once, the failed one first: a history does.
func TestFailedRunRepeatsWithinOnePortion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(lastGood)
	flow := r.flowRun("Flow", 0, 0)
	good := r.taskRun(&flow.ID, "load", 1, 2)
	r.table(good, writes, "old")
	better := r.taskRun(&flow.ID, "load", 3, 4)
	r.table(better, writes, "new")
	later := r.taskRun(&flow.ID, "load", 7, 8)
	r.table(later, writes, "newer")
	bad := failed(r.taskRun(&flow.ID, "load", 5, 6))
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{bad, later, good, better}}, ingest.Mode{})
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.load >old", "COMPLETE Flow.load >new", "FAIL Flow.load >new", "COMPLETE Flow.load >newer")
}

// TestGoneRunRepeats has an inferred end repeat them too.
func TestGoneRunRepeats(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(lastGood)
	flow := r.flowRun("Flow", 0, 0)
	good := r.taskRun(&flow.ID, "load", 1, 2)
	r.table(good, writes, "clean")
	gone := r.taskRun(&flow.ID, "load", 3, 0)
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{good, gone}}, live)
	missing := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, Gone: []uuid.UUID{gone.ID}, Now: noon.Add(grace)}
	r.record(missing, live)
	missing.Now = missing.Now.Add(grace)
	r.record(missing, live)
	wantEnds(t, r.ledger.last(), "ABORT Flow.load >clean")
}

// TestFlowCarriesItsTasks rolls up what tasks read and wrote, those of a subflow too: what was written earlier in the run
// is no input.
func TestFlowCarriesItsTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 20)
	extract := r.taskRun(&flow.ID, "extract", 1, 2)
	r.table(extract, reads, "raw")
	r.table(extract, writes, "stage")
	load := r.taskRun(&flow.ID, "load", 3, 4)
	r.table(load, reads, "stage")
	r.table(load, writes, "mart")
	update := r.taskRun(&flow.ID, "update", 5, 6)
	r.table(update, reads+" "+writes, "counters")
	early := r.taskRun(&flow.ID, "early", 1, 9) // began before the mart was written
	r.table(early, reads, "mart")
	sub := r.subflowRun(flow, "Sub", 10, 15)
	inner := r.taskRun(&sub.ID, "inner", 11, 12)
	r.table(inner, reads, "mart")
	r.table(inner, writes, "report")

	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow, sub}}, live)
	wantEnds(t, r.ledger.last(),
		"COMPLETE Sub <mart >report", "COMPLETE Flow <counters <mart <raw >counters >mart >report >stage")
	backfilled := newRig(t)
	backfilled.prefect = r.prefect
	backfilled.reader = r.reader
	backfilled.with(rollup)
	backfilled.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow, sub}}, ingest.Mode{})
	if diff := cmp.Diff(bodies(r.ledger.last()), bodies(backfilled.ledger.last())); diff != "" {
		t.Errorf("live and in a backfill differ:\n%s", diff)
	}
}

func bodies(b state.Batch) []string {
	var list []string
	for _, e := range b.Events {
		list = append(list, string(e.Body))
	}
	return list
}

// TestFlowWaitsForItsTasks holds a flow's end until its tasks have ended, tells its START at once, and no longer than the
// grace.
func TestFlowWaitsForItsTasks(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"the task ends", "the grace ends", "the flow run crashed"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.with(rollup)
			flow := r.flowRun("Flow", 0, 10)
			if ending == "the flow run crashed" {
				flow.State = &prefect.State{Type: prefect.Crashed, Name: "Crashed", Timestamp: *at(10)}
			}
			task := r.taskRun(&flow.ID, "load", 1, 0)
			r.table(task, writes, "mart")
			changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, Now: *at(12)}
			r.record(changes, live)
			wantEvents(t, r.ledger.events(), "START Flow")
			changes.Now = *at(21)
			r.record(changes, live)
			if ending == "the flow run crashed" {
				wantEnds(t, r.ledger.last(), "FAIL Flow >mart")
				return
			}
			wantEvents(t, r.ledger.events(), "START Flow")
			r.with(rollup) // a restart forgets what it waited for, and nothing else
			r.prefect.ForgetRequests()
			changes.Now = *at(30)
			r.record(changes, live)
			asked := r.prefect.Count("")
			changes.Now = *at(31)
			r.record(changes, live)
			if n := r.prefect.Count(""); n != asked {
				t.Errorf("%d requests a second later for a flow that waits", n-asked)
			}
			switch ending {
			case "the task ends":
				r.prefect.SetState(task.ID, *completed(40))
				changes.Now = *at(60)
			case "the grace ends":
				changes.Now = at(10).Add(grace)
			}
			r.record(changes, live)
			wantEnds(t, r.ledger.last(), "COMPLETE Flow >mart")
		})
	}
}

// TestLateTaskCorrectsItsFlow tells a flow's end once more when a task of it is recorded after all.
func TestLateTaskCorrectsItsFlow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 10)
	soon := r.taskRun(&flow.ID, "soon", 1, 2)
	r.table(soon, writes, "a")
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{soon}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.soon >a", "COMPLETE Flow >a")

	same := r.taskRun(&flow.ID, "same", 3, 4)
	r.table(same, writes, "a")
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{same}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.same >a")

	late := r.taskRun(&flow.ID, "late", 5, 6)
	r.table(late, writes, "b")
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{late}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.late >b", "COMPLETE Flow >a >b")
	if e := r.ledger.last().Events[2]; !e.Time.After(*at(10)) {
		t.Errorf("the end that was told again has the time of the first: %s", e.Time)
	}
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{late}}, live)
	wantEnds(t, r.ledger.last())
}

// TestRollupLeavesSilentTasksOut keeps datasets of tasks that are not told about out of their flow's end.
func TestRollupLeavesSilentTasksOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 10)
	task := r.taskRun(&flow.ID, "open", 1, 2)
	r.table(task, writes, "a")
	secret := r.taskRun(&flow.ID, "secret", 3, 4)
	r.prefect.UpdateTaskRun(secret.ID, func(t *prefect.TaskRun) { t.Tags = []string{"openlineage:off"} })
	r.table(secret, writes, "b")
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow >a")
}

// TestRollupOfManyTasks reads a flow run of thousands of tasks in pages.
func TestRollupOfManyTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 4000)
	for i := range 3000 {
		task := r.taskRun(&flow.ID, fmt.Sprint("t", i), i, i+1)
		r.table(task, writes, fmt.Sprint("part ", i%7))
	}
	r.prefect.ForgetRequests()
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, Now: at(4000).Add(grace)}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow >part 0 >part 1 >part 2 >part 3 >part 4 >part 5 >part 6")
	if n := r.prefect.Count(""); n > 55 {
		t.Errorf("%d requests for a flow run of 3,000 tasks", n)
	}
}

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
