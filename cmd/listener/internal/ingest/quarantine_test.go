package ingest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/state"
)

// A row that can't be read is seen at each look back: it is kept once, and again when it has changed.
func TestBadRowsAreKeptOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bad := prefect.BadRow{Resource: "task_runs", ID: "7", Reason: "no time", Raw: []byte(`{"id":7}`)}
	other := prefect.BadRow{Resource: "task_runs", ID: "8", Reason: "no time", Raw: []byte(`{"id":8}`)}
	changed := bad
	changed.Raw = []byte(`{"id":7,"name":"x"}`)
	var kept []int
	for _, rows := range [][]prefect.BadRow{{bad}, {bad}, {bad, other}, {changed}} {
		r.record(prefect.Changes{Bad: rows}, live)
		kept = append(kept, len(r.ledger.last().Quarantine))
	}
	if want := []int{1, 0, 1, 1}; !slices.Equal(kept, want) {
		t.Errorf("kept %v rows, not %v", kept, want)
	}

	// What was not stored is kept the next time.
	r.ledger.fail = errors.New("the store is full")
	third := bad
	third.ID = "9"
	if _, err := r.recorder.Record(t.Context(), prefect.Changes{Bad: []prefect.BadRow{third}}, live); err == nil {
		t.Fatal("the store took it")
	}
	r.ledger.fail = nil
	r.record(prefect.Changes{Bad: []prefect.BadRow{third}}, live)
	if n := len(r.ledger.last().Quarantine); n != 1 {
		t.Errorf("kept %d rows after a store that was full", n)
	}
}

// quarantine is the quarantine of a store.
type quarantine struct {
	rows     []state.BadRow
	released []string
}

func (s *quarantine) Quarantined(context.Context, int) ([]state.BadRow, error) { return s.rows, nil }

func (s *quarantine) Release(_ context.Context, resource, id string) error {
	s.released = append(s.released, resource+" "+id)
	return nil
}

// What a version could not read, and a later one or a later server can, is told about and leaves the quarantine.
func TestRetry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	flow := r.flowRun("Flow", 0, 5)
	task := r.taskRun(&flow.ID, "task", 1, 4)
	odd := prefecttest.ID("odd")
	r.prefect.AddRaw("task_runs", `{"id": "`+odd.String()+`", "state": 7}`)
	rows := &quarantine{rows: []state.BadRow{
		{Resource: "task_runs", ID: task.ID.String()}, {Resource: "flow_runs", ID: flow.ID.String()},
		{Resource: "task_runs", ID: odd.String()}, {Resource: "task_runs", ID: prefecttest.ID("gone").String()},
		{Resource: "artifacts", ID: prefecttest.ID("artifact").String()}, {Resource: "task_runs", ID: "sha256:0a"},
	}}
	if err := r.recorder.Retry(t.Context(), rows, *at(10)); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, r.ledger.events(), "START Flow", "START Flow.task", "COMPLETE Flow.task", "COMPLETE Flow")
	want := []string{"flow_runs " + flow.ID.String(), "task_runs " + task.ID.String()}
	if !slices.Equal(rows.released, want) {
		t.Errorf("released %q, not %q", rows.released, want)
	}
}
