package ingest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
)

// rolledWith are settings with a rollup and these rules.
func rolledWith(t *testing.T, rules ...adapter.Rule) func(*adapter.Settings) {
	t.Helper()
	policy, err := adapter.NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *adapter.Settings) {
		rollup(s)
		s.Policy = policy
	}
}

// TestRollupGoesByTheWholePolicy keeps tasks out by rules that look at the flow and the task, seen before or not.
func TestRollupGoesByTheWholePolicy(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]ingest.Mode{"live": live, "history": {}} {
		for _, with := range []string{"its tasks", "nothing else"} {
			t.Run(name+" with "+with, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.with(rolledWith(t, adapter.Rule{Scope: adapter.Scope{Flow: []string{"Flow"}, Task: []string{"secret"}}}))
				flow := r.flowRun("Flow", 0, 10)
				open, secret := r.taskRun(&flow.ID, "open", 1, 2), r.taskRun(&flow.ID, "secret", 3, 4)
				r.table(open, writes, "a")
				r.table(secret, writes, "b")
				changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}}
				want := []string{"COMPLETE Flow >a"}
				if with == "its tasks" {
					changes.TaskRuns = []prefect.TaskRun{open, secret}
					want = []string{"COMPLETE Flow.open >a", "COMPLETE Flow >a"}
				}
				r.record(changes, mode)
				wantEnds(t, r.ledger.last(), want...)
			})
		}
	}
}

// TestRollupOfASilentSubflow keeps out what a subflow did that is not told about, though its run was not seen before.
func TestRollupOfASilentSubflow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 20)
	sub := r.subflowRun(flow, "Sub", 1, 9)
	r.prefect.UpdateFlowRun(sub.ID, func(f *prefect.FlowRun) { f.Tags = []string{"openlineage:off"} })
	r.table(r.taskRun(&sub.ID, "secret", 2, 3), writes, "b")
	below := r.subflowRun(sub, "Below", 4, 8)
	r.table(r.taskRun(&below.ID, "secret", 5, 6), writes, "c")
	r.table(r.taskRun(&flow.ID, "open", 10, 11), writes, "a")
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}}, ingest.Mode{})
	wantEnds(t, r.ledger.last(), "COMPLETE Flow >a")
}

// TestRollupOfRunsThatAreSentAgain decides anew about tasks that were kept back, as their own ends do.
func TestRollupOfRunsThatAreSentAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rolledWith(t, adapter.Rule{Scope: adapter.Scope{Task: []string{"load"}}}))
	flow := r.flowRun("Flow", 0, 10)
	load := r.taskRun(&flow.ID, "load", 1, 2)
	r.table(load, writes, "a")
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{load}}
	r.record(changes, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow")
	r.with(rollup)
	r.record(changes, ingest.Mode{Resend: true})
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.load >a", "COMPLETE Flow >a")
}

// TestLateTaskWritesWhatItsFlowRead tells the flow's end again where a dataset is now an output that was an input alone.
func TestLateTaskWritesWhatItsFlowRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 10)
	r.table(r.taskRun(&flow.ID, "read", 1, 2), reads, "a")
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow <a")
	late := r.taskRun(&flow.ID, "late", 5, 6)
	r.table(late, writes, "a")
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{late}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.late >a", "COMPLETE Flow <a >a")
}

// TestLateTaskAfterAFailedCommit tells a flow's end again though the first try to store it failed.
func TestLateTaskAfterAFailedCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 10)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}}, live)
	late := r.taskRun(&flow.ID, "late", 5, 6)
	r.table(late, writes, "a")
	r.ledger.fail = errors.New("disk full")
	changes := prefect.Changes{TaskRuns: []prefect.TaskRun{late}, Now: *at(60)}
	if _, err := r.recorder.Record(t.Context(), changes, live); err == nil {
		t.Fatal("nothing failed")
	}
	r.ledger.fail = nil
	r.record(changes, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Flow.late >a", "COMPLETE Flow >a")
}

// TestSubflowThatIsToldAgain keeps its dependencies, and is told at once though its upstreams are not at hand.
func TestSubflowThatIsToldAgain(t *testing.T) {
	t.Parallel()
	for name, now := range map[string]int{"young": 21, "older": 600} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.with(rollup)
			flow := r.flowRun("Flow", 0, 0)
			up := r.taskRun(&flow.ID, "up", 0, 1)
			sub := r.subflowRun(flow, "Sub", 2, 10)
			r.prefect.UpdateTaskRun(*sub.ParentTaskRunID, func(t *prefect.TaskRun) {
				t.TaskInputs = map[string][]prefect.TaskInput{"x": {{Type: "task_run", ID: &up.ID}}}
			})
			r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow, sub}, TaskRuns: []prefect.TaskRun{up}, Now: *at(20)}, live)
			late := r.taskRun(&sub.ID, "late", 5, 6)
			r.table(late, writes, "a")
			r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{late}, Now: *at(now)}, live)
			wantEnds(t, r.ledger.last(), "COMPLETE Sub.late >a", "COMPLETE Sub >a")
			events := r.ledger.last().Events
			if body := string(events[len(events)-1].Body); !containsAll(body, `"jobDependencies"`, up.ID.String()) {
				t.Errorf("the end that was told again has lost its dependencies: %s", body)
			}
		})
	}
}

// TestRollupOfASubflowsBody takes in what a subflow wrote outside of its tasks: to the flow above it is one of its tasks.
func TestRollupOfASubflowsBody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 20)
	sub := r.subflowRun(flow, "Sub", 1, 9)
	r.prefect.UpdateTaskRun(*sub.ParentTaskRunID, func(t *prefect.TaskRun) { t.EndTime = at(9) })
	for _, made := range []struct {
		by            uuid.UUID
		marker, table string
	}{{sub.ID, writes, "a"}, {sub.ID, reads, "in"}, {flow.ID, writes, "own"}} {
		r.prefect.AddArtifact(prefect.Artifact{
			Description: &made.marker, FlowRunID: &made.by, Created: *at(2),
			Data: json.RawMessage(fmt.Sprintf(`[{"database_uri": "duckdb:///w", "table": %q}]`, made.table)),
		})
	}
	r.table(r.taskRun(&flow.ID, "after", 10, 11), reads, "a")
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow, sub}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Sub <in >a", "COMPLETE Flow <in >a >own")
}

// TestLateTasksOfATree tells every flow above late tasks again that lacks any of theirs.
func TestLateTasksOfATree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	flow := r.flowRun("Flow", 0, 20)
	r.table(r.taskRun(&flow.ID, "soon", 1, 2), writes, "a")
	sub := r.subflowRun(flow, "Sub", 3, 9)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow, sub}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Sub", "COMPLETE Flow >a")
	first, second := r.taskRun(&sub.ID, "first", 4, 5), r.taskRun(&sub.ID, "second", 6, 7)
	r.table(first, writes, "a") // of which only the subflow's end knows nothing
	r.table(second, writes, "b")
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{first, second}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Sub.first >a", "COMPLETE Sub.second >b", "COMPLETE Sub >a >b", "COMPLETE Flow >a >b")
}

// TestRollupOfTooDeepATree has the end go out with its own datasets alone, not with some of its tasks'.
func TestRollupOfTooDeepATree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.with(rollup)
	top := r.flowRun("Top", 0, 200)
	r.table(r.taskRun(&top.ID, "load", 1, 2), writes, "a")
	for i, above := 0, top; i < 70; i++ {
		above = r.subflowRun(above, fmt.Sprint("Sub", i), i+1, 199-i)
	}
	other := r.flowRun("Other", 0, 10)
	r.table(r.taskRun(&other.ID, "load", 1, 2), writes, "b")
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{top, other}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Other >b", "COMPLETE Top")
	late := r.taskRun(&top.ID, "late", 3, 4)
	r.table(late, writes, "c")
	r.prefect.ForgetRequests()
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{late}}, live)
	wantEnds(t, r.ledger.last(), "COMPLETE Top.late >c")
	if n := r.prefect.Count(""); n > 12 {
		t.Errorf("%d requests for a late task of a flow run that is too large", n)
	}
}
