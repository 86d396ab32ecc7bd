package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/rig"
)

// expectation is what must have been told of one run, worked out from Prefect's own rows and not by the listener's code.
type expectation struct {
	runID string
	types []string
	job   string // name
	what  string // for messages
}

var endTypes = map[string]string{"COMPLETED": "COMPLETE", "FAILED": "FAIL", "CRASHED": "FAIL", "CANCELLED": "ABORT"}

// expected asks Prefect for all runs and says which events they stand for.
func expected(t *testing.T, p *rig.Prefect) map[string]expectation {
	t.Helper()
	flowNames := map[string]string{}
	for _, f := range p.Filter("flows", nil) {
		flowNames[f["id"].(string)] = f["name"].(string)
	}
	want := map[string]expectation{}
	flowOf := map[string]string{}
	for _, r := range p.Filter("flow_runs", nil) {
		id, flow := r["id"].(string), flowNames[r["flow_id"].(string)]
		flowOf[id] = flow
		want[id] = expectation{runID: id, types: typesOf(r), job: flow, what: "flow run " + flow}
	}
	for _, r := range p.Filter("task_runs", nil) {
		if child := r["state"].(map[string]any)["state_details"].(map[string]any)["child_flow_run_id"]; child != nil {
			continue // a subflow's placeholder is no job
		}
		id, name := r["id"].(string), taskName(r)
		if flowRun, ok := r["flow_run_id"].(string); ok {
			name = flowOf[flowRun] + "." + name
		}
		want[id] = expectation{runID: id, types: typesOf(r), job: name, what: "task run " + name}
	}
	for id, e := range want {
		if len(e.types) == 0 {
			delete(want, id)
		}
	}
	return want
}

func typesOf(row map[string]any) []string {
	var types []string
	state := row["state_type"].(string)
	if row["run_count"].(float64) > 0 {
		types = append(types, "START")
	}
	if end := endTypes[state]; end != "" {
		types = append(types, end)
	}
	return types
}

// taskName repeats the rule for 3.x names, for the runs of test/flows.
func taskName(row map[string]any) string {
	name, key, dynamic := row["name"].(string), row["task_key"].(string), row["dynamic_key"].(string)
	if strings.HasPrefix(dynamic, key) {
		return name
	}
	if base, ok := strings.CutSuffix(name, "-"+dynamic[:3]); ok {
		return base
	}
	return key[:strings.LastIndex(key, "-")]
}

// missing lists what of the expected has not been told, in words; empty when all was.
func missing(want map[string]expectation, got []event) []string {
	told := map[string][]string{}
	for _, e := range got {
		told[e.Run.RunID] = append(told[e.Run.RunID], e.EventType)
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(want)) {
		e := want[id]
		if !containsInOrder(told[id], e.types) {
			lines = append(lines, fmt.Sprintf("%s %s: told %v of %v", e.what, id, told[id], e.types))
		}
	}
	return lines
}

func containsInOrder(have, want []string) bool {
	for _, h := range have {
		if len(want) > 0 && h == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// judge checks what was delivered to one destination against what had to be: nothing missing, nothing besides,
// copies identical, each run in order, ancestors first. Copies are allowed only up to the bound.
func judge(t *testing.T, want map[string]expectation, got []event, copies int) {
	t.Helper()
	for _, line := range missing(want, got) {
		t.Errorf("missing: %s", line)
	}
	bodies := map[string]string{} // by run, type and time
	started := map[string]bool{}
	ended := map[string]bool{}
	repeats := 0
	for i, e := range got {
		key := e.Run.RunID + e.EventType + e.EventTime.String()
		if first, again := bodies[key]; again {
			repeats++
			if first != string(e.Raw) {
				t.Errorf("two copies of %s of run %s differ:\n%s\n%s", e.EventType, e.Run.RunID, first, e.Raw)
			}
			continue
		}
		bodies[key] = string(e.Raw)
		w, known := want[e.Run.RunID]
		switch {
		case !known:
			t.Errorf("event %d is about an unexpected run: %s", i, e.Raw)
			continue
		case !slices.Contains(w.types, e.EventType):
			t.Errorf("unexpected %s of %s %s", e.EventType, w.what, e.Run.RunID)
		case e.Job.Name != w.job:
			t.Errorf("the job of %s is %q, not %q", w.what, e.Job.Name, w.job)
		}
		if ended[e.Run.RunID] {
			t.Errorf("%s of %s %s came after its end", e.EventType, w.what, e.Run.RunID)
		}
		if p, ok := e.parent(t); ok && !started[p.Run.RunID] {
			t.Errorf("%s of %s %s came before its parent's first event", e.EventType, w.what, e.Run.RunID)
		}
		started[e.Run.RunID] = true
		if e.terminal() {
			ended[e.Run.RunID] = true
		}
	}
	if repeats > copies {
		t.Errorf("%d repeats, at most %d may be", repeats, copies)
	}
}
