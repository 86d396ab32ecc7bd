package ingest_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/prefect"
)

// A flow run whose process was started twice may have two child flow runs under one placeholder: both are told, with the
// same parent.
func TestTwoChildrenOfOnePlaceholder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parent := r.flowRun("Parent", 0, 20)
	first := r.subflowRun(parent, "Child", 1, 10)
	twin := first
	twin.ID = uuid.MustParse("7d1f0a52-6a3e-4c8e-9c1b-0d4f5a6b7c8d")
	twin = r.prefect.AddFlowRun(twin)
	r.record(prefect.Changes{FlowRuns: []prefect.FlowRun{parent, first, twin}}, live)
	wantEvents(t, r.ledger.events(), "START Parent", "START Child", "START Child", "COMPLETE Child", "COMPLETE Child", "COMPLETE Parent")
	for _, e := range r.ledger.last().Events {
		event, err := openlineage.ParseEvent(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		if want := e.Run != parent.ID; (e.Ancestor == parent.ID) != want {
			t.Errorf("%s of %s: the ancestor is %s", event.Type, e.Run, e.Ancestor)
		}
	}
}
