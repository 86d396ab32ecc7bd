package told

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/rig"
)

// Expectation is what must have been told of one run, worked out from Prefect's own rows and not by the listener's code.
type Expectation struct {
	RunID string
	Types []string
	Job   string // its name
	What  string // for messages
}

// EndTypes are the events that tell of an end, by the state's type.
var EndTypes = map[string]string{"COMPLETED": "COMPLETE", "FAILED": "FAIL", "CRASHED": "FAIL", "CANCELLED": "ABORT"}

// Expected asks Prefect for all runs and says which events they stand for.
func Expected(t testing.TB, p *rig.Prefect) map[string]Expectation {
	t.Helper()
	flowNames := map[string]string{}
	for _, f := range p.Filter("flows", nil) {
		flowNames[f["id"].(string)] = f["name"].(string)
	}
	want := map[string]Expectation{}
	flowOf := map[string]string{}
	for _, r := range p.Filter("flow_runs", nil) {
		id, flow := r["id"].(string), flowNames[r["flow_id"].(string)]
		flowOf[id] = flow
		want[id] = Expectation{RunID: id, Types: typesOf(r), Job: flow, What: "flow run " + flow}
	}
	for _, r := range p.Filter("task_runs", nil) {
		if child := r["state"].(map[string]any)["state_details"].(map[string]any)["child_flow_run_id"]; child != nil {
			continue // a subflow's placeholder is no job
		}
		id, name := r["id"].(string), taskName(r)
		if flowRun, ok := r["flow_run_id"].(string); ok {
			name = flowOf[flowRun] + "." + name
		}
		want[id] = Expectation{RunID: id, Types: typesOf(r), Job: name, What: "task run " + name}
	}
	for id, e := range want {
		if len(e.Types) == 0 {
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
	if end := EndTypes[state]; end != "" {
		types = append(types, end)
	}
	return types
}

// taskName repeats the rule for names, for the runs of test/flows: Prefect 2 ends a run's name in the whole dynamic
// key, Prefect 3 in its first three characters. Without a flow Prefect 3 calls it as the task, Prefect 2 by chance.
func taskName(row map[string]any) string {
	name, key, dynamic := row["name"].(string), row["task_key"].(string), row["dynamic_key"].(string)
	if rest, ok := strings.CutPrefix(dynamic, key+"-"); ok && len(rest) == 32 {
		return name
	}
	for _, suffix := range []string{dynamic, dynamic[:min(3, len(dynamic))]} {
		if base, ok := strings.CutSuffix(name, "-"+suffix); ok {
			return base
		}
	}
	return key[:strings.LastIndex(key, "-")]
}

// Missing lists what of the expected has not been told, in words; empty when all was.
func Missing(want map[string]Expectation, got []Event) []string {
	told := map[string][]string{}
	for _, e := range got {
		told[e.Run.RunID] = append(told[e.Run.RunID], e.EventType)
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(want)) {
		e := want[id]
		if !containsInOrder(told[id], e.Types) {
			lines = append(lines, fmt.Sprintf("%s %s: told %v of %v", e.What, id, told[id], e.Types))
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

// Judge checks what was delivered to one destination against what had to be: nothing missing, nothing besides,
// copies identical, each run in order, ancestors first. Copies are allowed only up to the bound.
func Judge(t testing.TB, want map[string]Expectation, got []Event, copies int) {
	t.Helper()
	for _, line := range Missing(want, got) {
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
		case !slices.Contains(w.Types, e.EventType):
			t.Errorf("unexpected %s of %s %s", e.EventType, w.What, e.Run.RunID)
		case e.Job.Name != w.Job:
			t.Errorf("the job of %s is %q, not %q", w.What, e.Job.Name, w.Job)
		}
		if ended[e.Run.RunID] {
			t.Errorf("%s of %s %s came after its end", e.EventType, w.What, e.Run.RunID)
		}
		if p, ok := e.Parent(t); ok && !started[p.Run.RunID] {
			t.Errorf("%s of %s %s came before its parent's first event", e.EventType, w.What, e.Run.RunID)
		}
		started[e.Run.RunID] = true
		if e.Terminal() {
			ended[e.Run.RunID] = true
		}
	}
	if repeats > copies {
		t.Errorf("%d repeats, at most %d may be", repeats, copies)
	}
}
