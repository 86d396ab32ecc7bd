package mapping_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mapping"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// told returns the events that the adapter tells of a golden test's history, and those of this package's own.
func told(t testing.TB, name string) [][]byte {
	t.Helper()
	path := filepath.Join("..", "..", "..", "adapter", "testdata", "golden", name+".out.json")
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("testdata", name+".json")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var events [][]byte
	for _, event := range file.Events {
		events = append(events, event)
	}
	return events
}

// histories are the names of all golden histories of the adapter.
func histories(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../../adapter/testdata/golden/*.out.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".out.json"))
	}
	return append(names, "everything")
}

// usual are the settings by default.
func usual() mapping.Settings {
	return mapping.Settings{
		URNs: mapping.OpenLineage, Env: "PROD", CancelledAs: aspect.Skipped, Materialize: true, Schema: true, Columns: true,
	}
}

// memory is what a transport remembers.
type memory struct {
	runs map[string]time.Time
	jobs map[string]string
}

func newMemory() memory { return memory{map[string]time.Time{}, map[string]string{}} }

func (m memory) of(body []byte) mapping.Memory {
	var event struct{ Run struct{ RunID string } }
	_ = json.Unmarshal(body, &event)
	return mapping.Memory{
		Started: m.runs[event.Run.RunID], Job: func(namespace, name string) string { return m.jobs[namespace+" "+name] },
	}
}

func (m memory) note(mapped mapping.Mapped) {
	if !mapped.Started.IsZero() {
		m.runs[mapped.RunID] = mapped.Started
	}
	m.jobs[mapped.Namespace+" "+mapped.Name] = mapped.Job
}

// mapAll maps a history as a transport would that forgets nothing.
func mapAll(t testing.TB, settings mapping.Settings, events [][]byte) []mapping.Mapped {
	t.Helper()
	m, known := mapping.New(settings), newMemory()
	var all []mapping.Mapped
	for i, event := range events {
		mapped, err := m.Map(event, known.of(event))
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		known.note(mapped)
		all = append(all, mapped)
	}
	return all
}

// render writes what an event says, a line for each aspect and each operation; as a transport does, of what describes
// flows, tasks and datasets only what is new.
func render(t testing.TB, b *bytes.Buffer, body []byte, m mapping.Mapped, said map[string]bool) {
	t.Helper()
	var event struct {
		EventType, EventTime string
		Job                  struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(body, &event); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "# %s of %s / %s at %s\n", event.EventType, event.Job.Namespace, event.Job.Name, event.EventTime)
	line := func(p mcp.Proposal) {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		text := fmt.Sprintf("%s %s %s %s\n", p.ChangeType, p.EntityURN, p.AspectName, p.Aspect)
		if !said[text] || p.EntityType == "dataProcessInstance" {
			b.WriteString(text)
		}
		said[text] = true
	}
	for _, p := range m.Structure {
		line(p)
	}
	for _, a := range m.Additions {
		for _, op := range a.Ops {
			p, err := a.Proposal([]mcp.PatchOp{op})
			if err != nil {
				t.Fatal(err)
			}
			line(p)
		}
	}
	for _, p := range m.Run {
		line(p)
	}
	for _, refused := range m.Refused {
		fmt.Fprintf(b, "REFUSED %s\n", refused)
	}
	b.WriteByte('\n')
}

// What DataHub is told of each kind of event, with the names of its endpoint and with those of prefect-datahub.
func TestGolden(t *testing.T) {
	t.Parallel()
	instance := usual()
	instance.PlatformInstance, instance.Env, instance.CancelledAs = "eu", "DEV", aspect.Failure
	instance.PlainPatches = true
	prefect := usual()
	prefect.URNs = mapping.PrefectDataHub
	prefectInstance := instance
	prefectInstance.URNs, prefectInstance.DatasetLineage = mapping.PrefectDataHub, true
	tests := []struct {
		golden, history string
		settings        mapping.Settings
	}{
		{"all-kinds", "all-kinds", usual()},
		{"all-kinds-prefect", "all-kinds", prefect},
		{"failures", "failures", usual()},
		{"cancelling", "cancelling", usual()},
		{"cancelling-as-failure", "cancelling", instance},
		{"every-dataset-key", "every-dataset-key", usual()},
		{"outside-parent", "outside-parent", usual()},
		{"own-namespace", "own-namespace", usual()},
		{"three-levels", "three-levels", usual()},
		{"three-levels-path", "three-levels-path", usual()},
		{"three-levels-prefect", "three-levels", prefect},
		{"without-flow", "without-flow", usual()},
		{"without-flow-prefect", "without-flow", prefect},
		{"paused-resumed", "paused-resumed", usual()},
		{"everything", "everything", usual()},
		{"everything-prefect-instance", "everything", prefectInstance},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			said := map[string]bool{}
			events := told(t, tt.history)
			for i, mapped := range mapAll(t, tt.settings, events) {
				render(t, &got, events[i], mapped, said)
			}
			file := filepath.Join("testdata", "golden", tt.golden+".txt")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("(-want +got), -update accepts it:\n%s", diff)
			}
		})
	}
}
