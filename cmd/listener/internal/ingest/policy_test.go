package ingest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
)

func noFlow(name string) adapter.Rule {
	return adapter.Rule{Scope: adapter.Scope{Flow: []string{name}}}
}
func noTask(name string) adapter.Rule {
	return adapter.Rule{Scope: adapter.Scope{Task: []string{name}}}
}

// TestPolicyIsRemembered checks that what was decided at first sight holds over a restart with other rules, in both
// directions, and that a run first seen later goes by the new ones.
func TestPolicyIsRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(noFlow("Quiet"), noTask("hum"))
	quiet, loud := r.flowRun("Quiet", 0, 0), r.flowRun("Loud", 1, 0)
	hum, sing := r.taskRun(&loud.ID, "hum", 2, 0), r.taskRun(&loud.ID, "sing", 3, 0)
	r.record(prefect.Changes{
		FlowRuns: []prefect.FlowRun{quiet, loud}, TaskRuns: []prefect.TaskRun{hum, sing, r.taskRun(&quiet.ID, "think", 4, 5)},
	}, live)
	wantEvents(t, r.ledger.events(), "START Loud", "START Loud.sing")

	r.restart(noFlow("Loud"))
	r.record(prefect.Changes{
		TaskRuns: []prefect.TaskRun{endedTask(hum, 6), endedTask(sing, 7), r.taskRun(&quiet.ID, "dream", 6, 7)},
	}, live)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{ended(quiet, 8), ended(loud, 9)}}, live)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{r.flowRun("Loud", 20, 21), r.flowRun("Quiet", 22, 23)}}, live)
	wantEvents(t, r.ledger.events(), "START Loud", "START Loud.sing", "COMPLETE Loud.sing", "COMPLETE Loud",
		"START Quiet", "COMPLETE Quiet")
}

func ended(run prefect.FlowRun, end int) prefect.FlowRun {
	run.EndTime, run.State = at(end), completed(end)
	return run
}

func endedTask(run prefect.TaskRun, end int) prefect.TaskRun {
	run.EndTime, run.State = at(end), completed(end)
	return run
}

// TestPolicyIsCheap checks that a run which is not told about is looked into once and then costs nothing.
func TestPolicyIsCheap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(adapter.Rule{})
	flow := r.flowRun("Quiet", 0, 0)
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{r.taskRun(&flow.ID, "think", 1, 2)}}
	r.record(changes, live)
	if got := len(r.ledger.last().Told); got != 2 {
		t.Errorf("%d entries are written at first, not 2", got)
	}
	r.prefect.ForgetRequests()
	r.record(changes, live)
	r.record(prefect.Changes{TaskRuns: changes.TaskRuns}, live) // the flow run is not asked for again
	if got := len(r.prefect.Requests()); got != 0 {
		t.Errorf("%d requests for what is known to be kept back", got)
	}
	if got := len(r.ledger.last().Told); got != 0 {
		t.Errorf("%d entries are written again", got)
	}
}

// TestPolicyOrder checks that a run below one that is not told about waits for the nearest above it that is, which is
// read and told first.
func TestPolicyOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(adapter.Rule{Scope: adapter.Scope{Flow: []string{"Sub"}}, EmitTasks: new(true)})
	top := r.flowRun("Top", 0, 0)
	sub := r.subflowRun(top, "Sub", 1, 0)
	task := r.taskRun(&sub.ID, "load", 2, 0)
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{task}}, live)
	wantEvents(t, r.ledger.events(), "START Top", "START Sub.load")
	events := r.ledger.last().Events
	if events[1].Ancestor != top.ID {
		t.Errorf("the task waits for %s, not for the top flow run %s", events[1].Ancestor, top.ID)
	}
}

// TestResendDecidesAnew checks that runs which were kept back by mistake can be told about later, on request only.
func TestResendDecidesAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(adapter.Rule{})
	flow := r.flowRun("Flow", 0, 9)
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{r.taskRun(&flow.ID, "load", 1, 2)}}
	r.record(changes, live)
	r.restart()
	r.record(changes, ingest.Mode{})
	r.record(changes, ingest.Mode{Destinations: []string{"one"}})
	wantEvents(t, r.ledger.events())
	r.record(changes, ingest.Mode{Resend: true})
	wantEvents(t, r.ledger.events(), "START Flow", "START Flow.load", "COMPLETE Flow.load", "COMPLETE Flow")
	r.record(changes, live) // and from now on it counts as told
	wantEvents(t, r.ledger.events(), "START Flow", "START Flow.load", "COMPLETE Flow.load", "COMPLETE Flow")
}

// TestResendDecidesAnewAboutTasks checks that tasks which were kept back in a flow run that was told about can be told
// about later, and what was told stays told.
func TestResendDecidesAnewAboutTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(adapter.Rule{Emit: true, EmitTasks: new(false)})
	flow := r.flowRun("Flow", 0, 9)
	sub := r.subflowRun(flow, "Sub", 3, 8)
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow, sub}, TaskRuns: []prefect.TaskRun{
		r.taskRun(&flow.ID, "load", 1, 2), r.taskRun(&sub.ID, "think", 4, 5),
	}}
	r.record(changes, live)
	wantEvents(t, r.ledger.events(), "START Flow", "START Sub", "COMPLETE Sub", "COMPLETE Flow")
	for _, rules := range [][]adapter.Rule{nil, {noFlow("*")}} {
		r.restart(rules...)
		r.record(changes, ingest.Mode{Resend: true})
		wantEvents(t, names(r.ledger.last().Events), "START Flow", "START Flow.load", "COMPLETE Flow.load", "START Sub",
			"START Sub.think", "COMPLETE Sub.think", "COMPLETE Sub", "COMPLETE Flow")
	}
}

func TestPolicyMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(noFlow("Quiet"), noFlow("Never"))
	quiet, loud := r.flowRun("Quiet", 0, 0), r.flowRun("Loud", 1, 0)
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{quiet, loud}, TaskRuns: []prefect.TaskRun{r.taskRun(&quiet.ID, "think", 4, 5)}}
	r.record(changes, live)
	r.record(changes, live)
	want := `
# HELP prefect_openlineage_policy_decisions_total Runs seen for the first time, by what decided whether they are told about (a rule of LISTENER_POLICY by its number) and how.
# TYPE prefect_openlineage_policy_decisions_total counter
prefect_openlineage_policy_decisions_total{by="filter",told="false"} 0
prefect_openlineage_policy_decisions_total{by="filter",told="true"} 0
prefect_openlineage_policy_decisions_total{by="flow-run",told="false"} 1
prefect_openlineage_policy_decisions_total{by="flow-run",told="true"} 0
prefect_openlineage_policy_decisions_total{by="none",told="false"} 0
prefect_openlineage_policy_decisions_total{by="none",told="true"} 1
prefect_openlineage_policy_decisions_total{by="rule-1",told="false"} 1
prefect_openlineage_policy_decisions_total{by="rule-1",told="true"} 0
prefect_openlineage_policy_decisions_total{by="rule-2",told="false"} 0
prefect_openlineage_policy_decisions_total{by="rule-2",told="true"} 0
prefect_openlineage_policy_decisions_total{by="tag",told="false"} 0
prefect_openlineage_policy_decisions_total{by="tag",told="true"} 0
prefect_openlineage_policy_decisions_total{by="variable",told="false"} 0
prefect_openlineage_policy_decisions_total{by="variable",told="true"} 0
`
	if err := testutil.GatherAndCompare(r.registry, strings.NewReader(want), "prefect_openlineage_policy_decisions_total"); err != nil {
		t.Error(err)
	}
}

func TestExplainPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.restart(noFlow("Quiet"), adapter.Rule{Scope: adapter.Scope{Task: []string{"hum"}}, Emit: true})
	quiet := r.flowRun("Quiet", 0, 5)
	tagged := r.flowRun("Loud", 1, 5)
	tagged.Tags = []string{"openlineage:off"}
	think, hum := r.taskRun(&quiet.ID, "think", 2, 3), r.taskRun(&quiet.ID, "hum", 3, 4)
	why := map[uuid.UUID]ingest.Reason{}
	explain := ingest.Mode{Explain: func(reason ingest.Reason) { why[reason.Run] = reason }}
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{quiet, tagged}, TaskRuns: []prefect.TaskRun{think, hum}}
	check := func(want map[uuid.UUID]string) {
		t.Helper()
		got := map[uuid.UUID]string{}
		for id, reason := range why {
			got[id] = reason.Why
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reasons (-want +got):\n%s", diff)
		}
	}
	r.record(changes, explain)
	check(map[uuid.UUID]string{
		quiet.ID:  "rule 1 of LISTENER_POLICY (flow Quiet) keeps it from being told about",
		tagged.ID: "its tag openlineage:off keeps it from being told about",
		think.ID:  "its flow run (rule 1 of LISTENER_POLICY (flow Quiet)) keeps it from being told about",
		hum.ID:    "START and COMPLETE of job Quiet.hum: its state is Completed (COMPLETED), and rule 2 of LISTENER_POLICY (task hum) lets it be told about",
	})
	if diff := cmp.Diff(ingest.Reason{
		Run: hum.ID, Kind: "task-run", Name: hum.Name, State: prefect.Completed, Told: true, Why: why[hum.ID].Why, By: "rule-2",
		Namespace: "default", Job: "Quiet.hum", Events: []adapter.EventType{adapter.Start, adapter.Complete},
	}, why[hum.ID]); diff != "" {
		t.Errorf("reason (-want +got):\n%s", diff)
	}
	r.record(changes, explain)
	check(map[uuid.UUID]string{
		quiet.ID:  "when it was first seen it was kept from being told about",
		tagged.ID: "when it was first seen it was kept from being told about",
		think.ID:  "when it was first seen it was kept from being told about",
		hum.ID:    "all there is to say was said before",
	})
}
