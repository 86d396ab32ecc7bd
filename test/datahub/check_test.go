package datahub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// accepted holds every aspect of the requests to DataHub's own classes: names, entities, fields, types, enums and URNs.
func accepted(t *testing.T, requests []request) {
	t.Helper()
	python, script := rig.DatahubPython(t), filepath.Join(rig.Root(), "..", "shared", "servers", "datahub-validate.py")
	if _, err := os.Stat(script); err != nil {
		rig.Skip(t, "the check by DataHub's classes is not beside the checkout")
	}
	var lines bytes.Buffer
	for _, r := range requests {
		if err := json.NewEncoder(&lines).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, script)
	cmd.Stdin = &lines
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		var bad []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "ok ") {
				bad = append(bad, line)
			}
		}
		t.Fatalf("DataHub's classes: %v\n%s", err, strings.Join(bad[:min(20, len(bad))], ""))
	}
	t.Logf("DataHub's classes say of %d requests: %s", len(requests), text[strings.LastIndexByte(text, '\n')+1:])
}

// state is one change of a run's state.
type state struct {
	TimestampMillis int64
	Status          string
	Result          struct{ Type string }
}

func (s state) String() string { return strings.TrimSpace(s.Status + " " + s.Result.Type) }

// shown wants each event to show in DataHub: its run with this state, properties and what it is a run of.
func shown(t *testing.T, events []told.Event, proposals []proposal) {
	t.Helper()
	states, aspects := map[string][]string{}, map[string]map[string]bool{}
	for _, p := range proposals {
		run, ok := strings.CutPrefix(p.EntityURN, "urn:li:dataProcessInstance:")
		if !ok {
			continue
		}
		if aspects[run] == nil {
			aspects[run] = map[string]bool{}
		}
		aspects[run][p.AspectName] = true
		if p.AspectName == "dataProcessInstanceRunEvent" {
			var s state
			if err := json.Unmarshal(p.Aspect, &s); err != nil {
				t.Fatal(err)
			}
			states[run] = append(states[run], s.String())
		}
	}
	want := map[string]string{
		"START": "STARTED", "RUNNING": "STARTED", "COMPLETE": "COMPLETE SUCCESS", "FAIL": "COMPLETE FAILURE", "ABORT": "COMPLETE SKIPPED",
	}
	for _, e := range events {
		if !slices.Contains(states[e.Run.RunID], want[e.EventType]) {
			t.Errorf("%s of %s does not show: %v", e.EventType, e.Job.Name, states[e.Run.RunID])
		}
		if e.Terminal() && states[e.Run.RunID][len(states[e.Run.RunID])-1] != want[e.EventType] {
			t.Errorf("%s is not in its last state: %v", e.Job.Name, states[e.Run.RunID])
		}
		for _, name := range []string{"dataProcessInstanceProperties", "dataProcessInstanceRelationships"} {
			if !aspects[e.Run.RunID][name] {
				t.Errorf("the run of %s has no %s", e.Job.Name, name)
			}
		}
	}
}

// linked wants every dataset of an event that succeeded to be in the lineage of a task, and each dataset that is linked to
// be made known.
func linked(t *testing.T, events []told.Event, proposals []proposal) {
	t.Helper()
	known, edges := map[string]bool{}, 0
	for _, p := range proposals {
		if p.AspectName == "datasetKey" {
			known[p.EntityURN] = true
		}
	}
	for _, p := range proposals {
		if p.AspectName != "dataJobInputOutput" {
			continue
		}
		for _, op := range operations(t, p.Aspect) {
			var edge struct{ DestinationURN string }
			if json.Unmarshal(op.Value, &edge) == nil && strings.HasPrefix(edge.DestinationURN, "urn:li:dataset:") {
				if edges++; !known[edge.DestinationURN] {
					t.Errorf("%s is linked and not made known", edge.DestinationURN)
				}
			}
			if op.Op != "add" {
				t.Errorf("%s of %s", op.Op, op.Path)
			}
		}
	}
	named := map[string]bool{}
	for _, e := range events {
		if e.EventType == "COMPLETE" {
			for _, d := range e.Inputs {
				named[fmt.Sprint("<", e.Job.Name, d.Namespace, d.Name)] = true
			}
			for _, d := range e.Outputs {
				named[fmt.Sprint(">", e.Job.Name, d.Namespace, d.Name)] = true
			}
		}
	}
	if edges == 0 || edges > len(named) {
		t.Errorf("%d edges for %d datasets of jobs", edges, len(named))
	}
	t.Logf("%d edges for %d datasets of jobs", edges, len(named))
}

type operation struct {
	Op, Path string
	Value    json.RawMessage
}

// operations reads a patch in each of its forms.
func operations(t *testing.T, raw json.RawMessage) []operation {
	t.Helper()
	var envelope struct{ Patch []operation }
	if json.Unmarshal(raw, &envelope) == nil && envelope.Patch != nil {
		return envelope.Patch
	}
	var ops []operation
	if err := json.Unmarshal(raw, &ops); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return ops
}

// sparing wants nothing to be taken away from what others share, and what describes flows, tasks and datasets to be sent
// when it is new: again only by events that were under way at once, or where deployments of one flow say it in turns.
func sparing(t *testing.T, proposals []proposal) {
	t.Helper()
	shared := []string{"globalTags", "ownership", "dataJobInputOutput", "upstreamLineage", "datasetProperties"}
	said, again := map[string]bool{}, 0
	for _, p := range proposals {
		if slices.Contains(shared, p.AspectName) != (p.ChangeType == "PATCH") {
			t.Errorf("%s of %s of %s", p.ChangeType, p.AspectName, p.EntityURN)
		}
		if strings.HasPrefix(p.EntityURN, "urn:li:dataProcessInstance:") {
			continue
		}
		key := p.EntityURN + p.AspectName + string(p.Aspect)
		if said[key] {
			again++
		}
		said[key] = true
	}
	if t.Logf("%d facts, %d sent again", len(said), again); again > len(said)/5 {
		t.Errorf("%d of %d facts were sent again", again, len(said))
	}
}
