package ingest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/cmd/listener/internal/ingest"
	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

func wantEvents(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestUnknownAncestorsGoFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	top := r.flowRun("Top", 0, 0)
	middle := r.subflowRun(top, "Middle", 1, 0)
	leaf := r.subflowRun(middle, "Leaf", 2, 0)
	task := r.taskRun(&leaf.ID, "work", 3, 4)

	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{task}}, live)

	wantEvents(t, r.ledger.events(), "START Top", "START Middle", "START Leaf", "START Leaf.work", "COMPLETE Leaf.work")
	if len(r.ledger.batches) != 1 {
		t.Errorf("%d transactions: an ancestor and its descendant must share one", len(r.ledger.batches))
	}
	if r.stored != 1 {
		t.Errorf("delivery was told %d times of one transaction", r.stored)
	}
	root := r.ledger.told[task.ID].Root
	if root == nil || root.RunID != top.ID {
		t.Errorf("the task's root is %v, not the top flow run", root)
	}
}

func TestNothingNewIsNotStoredAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	task := r.taskRun(&flow.ID, "work", 1, 2)
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{task}}
	r.record(changes, live)
	r.prefect.ForgetRequests()

	r.record(changes, live)

	if b := r.ledger.last(); len(b.Events) != 0 || len(b.Told) != 0 {
		t.Errorf("told again: %v %v", names(b.Events), toldIDs(b))
	}
	if n := len(r.prefect.Requests()); n != 0 {
		t.Errorf("%d requests for runs of which all was said", n)
	}
}

func TestCursorIsStoredWithTheEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, Cursor: &prefect.Cursor{Ended: *at(9)}}, live)

	var cursor prefect.Cursor
	if err := json.Unmarshal(r.ledger.last().Cursors[ingest.CursorName], &cursor); err != nil || !cursor.Ended.Equal(*at(9)) {
		t.Errorf("the stored cursor is %+v (%v)", cursor, err)
	}
	if len(r.ledger.last().Events) != 2 {
		t.Error("the cursor was not stored in the transaction of the events before it")
	}
}

func TestYoungRunWaitsForItsUpstream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 0)
	late := prefecttest.ID("an upstream whose row comes late")
	task := r.taskRun(&flow.ID, "down", 3, 4, late)
	soon := prefect.Changes{TaskRuns: []prefect.TaskRun{task}, Now: *at(5)}

	r.record(soon, live)
	wantEvents(t, r.ledger.events(), "START Flow")

	upstream := r.taskRun(&flow.ID, "up", 1, 2)
	r.prefect.Delete(upstream.ID)
	upstream.ID = late
	r.prefect.AddTaskRun(upstream)
	r.record(soon, live)
	wantEvents(t, r.ledger.events(), "START Flow", "START Flow.down", "COMPLETE Flow.down")
	if body := string(r.ledger.last().Events[1].Body); !strings.Contains(body, late.String()) {
		t.Errorf("the upstream is not among the dependencies: %s", body)
	}
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 0)
	task := r.taskRun(&flow.ID, "down", 3, 4, prefecttest.ID("an upstream that never shows"))
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{task}, Now: *at(60)}, live)
	wantEvents(t, r.ledger.events(), "START Flow", "START Flow.down", "COMPLETE Flow.down")
}

func TestHistoryDoesNotWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 0)
	task := r.taskRun(&flow.ID, "down", 3, 4, prefecttest.ID("an upstream that never shows"))
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{task}, Now: *at(5)}, ingest.Mode{})
	wantEvents(t, r.ledger.events(), "START Flow", "START Flow.down", "COMPLETE Flow.down")
}

func TestTaskOfAVanishedFlowRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gone := prefecttest.ID("deleted")
	task := r.taskRun(&gone, "orphan", 3, 4)

	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{task}, Now: *at(5)}, live)
	wantEvents(t, r.ledger.events())
	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{task}, Now: *at(60)}, live)
	if got := r.ledger.events(); len(got) != 2 {
		t.Errorf("a task whose flow run was deleted must still be told about: %v", got)
	}
}

func TestUpstreamSubflowIsTheFlowRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	top := r.flowRun("Top", 0, 0)
	sub := r.subflowRun(top, "Sub", 1, 2)
	task := r.taskRun(&top.ID, "down", 3, 4, *sub.ParentTaskRunID)

	r.record(prefect.Changes{TaskRuns: []prefect.TaskRun{task}, Now: *at(5)}, live)

	wantEvents(t, r.ledger.events(), "START Top", "START Sub", "COMPLETE Sub", "START Top.down", "COMPLETE Top.down")
	for _, e := range r.ledger.last().Events {
		if e.Job.Name == "Top.down" && !strings.Contains(string(e.Body), sub.ID.String()) {
			t.Errorf("the subflow's run is not among the dependencies: %s", e.Body)
		}
	}
}

func TestResendLeavesTheLedgerAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}}
	r.record(changes, live)
	first := r.ledger.last()

	r.record(changes, ingest.Mode{Resend: true, Destinations: []string{"one"}})

	again := r.ledger.last()
	if diff := cmp.Diff(first.Events, again.Events); diff != "" {
		t.Errorf("what is told again differs (-first +again):\n%s", diff)
	}
	if len(again.Told) != 0 || !again.Resend || !cmp.Equal(again.Destinations, []string{"one"}) {
		t.Errorf("the batch is %+v", again)
	}
}

// A destination that joined later is named: it is told what the others know, and the store sees to it that only those
// get it that lack it.
func TestNamedDestinationsAreToldAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	changes := prefect.Changes{FlowRuns: []prefect.FlowRun{flow}}
	r.record(changes, live)
	first := r.ledger.last()
	r.record(changes, ingest.Mode{Destinations: []string{"late"}})
	again := r.ledger.last()
	if diff := cmp.Diff(first.Events, again.Events); diff != "" {
		t.Errorf("what the late one is told differs (-first +again):\n%s", diff)
	}
	if len(again.Told) != 0 || again.Resend || !cmp.Equal(again.Destinations, []string{"late"}) {
		t.Errorf("the batch is %+v", again)
	}
}

func TestGoneTwiceIsAnAbort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lost := r.flowRun("Lost", 0, 0)
	other := r.flowRun("Other", 0, 0)
	both := []prefect.FlowRun{lost, other}
	r.record(prefect.Changes{FlowRuns: both}, live)
	r.prefect.Delete(lost.ID)
	gone := func(after time.Duration, others ...prefect.FlowRun) {
		r.record(prefect.Changes{FlowRuns: others, Gone: []uuid.UUID{lost.ID}, Now: noon.Add(after)}, live)
	}

	gone(time.Hour, other)
	gone(time.Hour+grace/2, other)
	wantEvents(t, r.ledger.events(), "START Lost", "START Other")
	gone(time.Hour + grace) // nothing else answers: it may be another server
	wantEvents(t, r.ledger.events(), "START Lost", "START Other")
	gone(time.Hour+grace, other)
	gone(time.Hour+2*grace, other)
	wantEvents(t, r.ledger.events(), "START Lost", "START Other", "ABORT Lost")
	if told := r.ledger.told[lost.ID]; told.Phase != adapter.Ended || !told.Inferred {
		t.Errorf("the ledger says %+v", told)
	}
}

func TestSeenAgainIsNotGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.flowRun("Flow", 0, 0)
	other := r.flowRun("Other", 0, 0)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{run, other}}, live)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{other}, Gone: []uuid.UUID{run.ID}, Now: noon.Add(time.Hour)}, live)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{run}, Now: noon.Add(time.Hour + time.Minute)}, live)
	if told := r.ledger.told[run.ID]; !told.Missed.IsZero() {
		t.Errorf("a run that was seen again still counts as missed since %s", told.Missed)
	}
}

func TestFailedCommitStoresNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	r.ledger.fail = errors.New("no space")
	if _, err := r.recorder.Record(t.Context(), prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, Now: *at(9)}, live); !errors.Is(err, r.ledger.fail) {
		t.Errorf("the error is %v", err)
	}
	r.ledger.fail = nil
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, Now: *at(9)}, live)
	wantEvents(t, r.ledger.events(), "START Flow", "COMPLETE Flow")
}

func TestBadRowsGoToQuarantine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	bad := prefect.BadRow{Resource: "task_runs", ID: "7", Reason: "no time", Raw: []byte(`{"id":7}`)}
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, Bad: []prefect.BadRow{bad}}, live)
	b := r.ledger.last()
	if len(b.Quarantine) != 1 || string(b.Quarantine[0].Raw) != `{"id":7}` || len(b.Events) != 2 {
		t.Errorf("quarantine %v, events %v", b.Quarantine, names(b.Events))
	}
}

func TestInferEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 10)
	stuck := r.taskRun(&flow.ID, "stuck", 1, 0)
	late := r.taskRun(&flow.ID, "late", 2, 0)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{flow}, TaskRuns: []prefect.TaskRun{stuck, late}}, live)
	r.prefect.SetState(late.ID, prefect.State{Type: prefect.Failed, Timestamp: *at(8)})

	orphans := orphansOf(r, stuck.ID, late.ID)
	if err := r.recorder.InferEnds(t.Context(), noon.Add(grace+time.Minute), orphans); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, r.ledger.events(), "START Flow", "START Flow.stuck", "START Flow.late", "COMPLETE Flow",
		"FAIL Flow.late", "COMPLETE Flow.stuck")
	if told := r.ledger.told[stuck.ID]; !told.Inferred || !told.End.Equal(*at(10)) {
		t.Errorf("the inferred end is %+v", told)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	top := r.flowRun("Top", 0, 5)
	sub := r.subflowRun(top, "Sub", 1, 2)
	placeholder := r.prefect.TaskRun(*sub.ParentTaskRunID)
	waiting := r.prefect.AddFlowRun(prefect.FlowRun{
		FlowID: top.FlowID, State: &prefect.State{Type: prefect.Scheduled, Name: "Late", Timestamp: *at(1)},
	})
	why := map[uuid.UUID]ingest.Reason{}
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{top, waiting}, TaskRuns: []prefect.TaskRun{placeholder}},
		ingest.Mode{Explain: func(reason ingest.Reason) { why[reason.Run] = reason }})
	for id, want := range map[uuid.UUID]string{
		top.ID:         "START and COMPLETE of job Top: its state is Completed (COMPLETED)",
		waiting.ID:     "it has not started: its state is Late (SCHEDULED)",
		placeholder.ID: "it stands in for the subflow run " + sub.ID.String() + ", which is looked at itself",
	} {
		if got := why[id].Why; got != want {
			t.Errorf("the reason is %q, not %q", got, want)
		}
	}
}
