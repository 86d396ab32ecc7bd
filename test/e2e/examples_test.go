package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// examples are the files of test/flows that show what an event can tell, beside those that other tests run.
var examples = []string{"test/flows/datasets.py", "test/flows/names.py", "test/flows/deployments.py"}

// manyArtifacts is the task with several hundred artifacts, which would fill a golden file.
const manyArtifacts = "Many Artifacts.write_parts"

// otherwise are settings that change what is told.
var otherwise = []string{
	"LISTENER_PARAMETERS=true", "FLOW_NAME_TYPE=path", "FLOW_DATASETS=rollup", "OPENLINEAGE_NAMESPACE=lake house",
	`LISTENER_POLICY=[{"emit":false},{"scope":{"flow":["First Level","Rows","Payments"]},"emit":true},` +
		`{"scope":{"task":"with_f*"},"emit":false}]`,
	`DATASET_MAP=[{"match":"postgres://db\\.example:5432/(.*)","namespace":"postgres://warehouse:5432","name":"$1"}]`,
}

// The examples give exactly the events that they should, as the settings say, and a real Marquez shows them.
func TestExamples(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	runExamples(t, p, examples)
	t.Run("default", func(t *testing.T) { asExpected(t, p, "examples.golden") })
	t.Run("otherwise", func(t *testing.T) {
		got, log := preview(t, p, otherwise...)
		golden(t, "examples-otherwise.golden", told.Brief(t, got))
		told.Validate(t, got)
		noSecret(t, got, log)
	})
	t.Run("names", func(t *testing.T) {
		got, _ := preview(t, p, "DATASET_NAMING=verbatim", "TASK_NAME_TYPE=base", "FLOW_NAME_TYPE=flow-run",
			"RUN_ID_TYPE=openlineage-prefect", `LISTENER_POLICY=[{"emit":false},{"scope":{"flow":["Ünï*","Rows"]},"emit":true}]`)
		golden(t, "examples-names.golden", lines(got))
		told.Validate(t, got)
	})
	t.Run("explain", func(t *testing.T) { explained(t, p) })
	t.Run("marquez", func(t *testing.T) { examplesInMarquez(t, p) })
}

// The examples of datasets and names give the same on the last Prefect 2, which has neither assets nor automations.
func TestExamplesOnPrefect2(t *testing.T) {
	t.Parallel()
	p := rig.StartVersion(t, "2.20.25")
	runExamples(t, p, examples[:2])
	asExpected(t, p, "examples-2.20.25.golden")
}

func runExamples(t *testing.T, p *rig.Prefect, scripts []string) {
	t.Helper()
	for _, script := range scripts {
		p.StartScript(script).Wait()
	}
	told.Settled(t, p)
}

// asExpected looks at what is told of the examples without any setting.
func asExpected(t *testing.T, p *rig.Prefect, file string) {
	t.Helper()
	got, log := preview(t, p)
	golden(t, file, told.Brief(t, without(got, manyArtifacts)))
	told.Validate(t, got)
	countParts(t, got)
	noSecret(t, got, log)
	for _, fault := range []string{
		"row 1 goes out without its lifecycle", "row 1 goes out without its row_count", "row 2 is left out: it has no database_uri",
		"its data is a number", "its data is no JSON", "its data is null",
	} {
		if strings.Count(log, fault) != 1 {
			t.Errorf("no one warning that %s: %s", fault, log)
		}
	}
}

// preview returns what the listener would send, and its log.
func preview(t *testing.T, p *rig.Prefect, env ...string) ([]told.Event, string) {
	t.Helper()
	code, stdout, stderr := rig.NewListener(t, p.URL, env...).Run("preview", "--since", "1h")
	if code != 0 {
		t.Fatalf("preview ended with %d: %s", code, stderr)
	}
	return told.Parse(t, stdout), stderr
}

func without(events []told.Event, job string) []told.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e told.Event) bool { return e.Job.Name == job })
}

// countParts wants all of the several hundred artifacts in one end.
func countParts(t *testing.T, events []told.Event) {
	t.Helper()
	for _, e := range events {
		if e.Job.Name != manyArtifacts || !e.Terminal() {
			continue
		}
		got := names(e.Outputs)
		if len(slices.Compact(got)) != 400 || got[0] != "s3://lake parts/000.parquet" || got[399] != "s3://lake parts/399.parquet" {
			t.Errorf("%d datasets of 400 artifacts: %q", len(got), got)
		}
		return
	}
	t.Errorf("%s is not told of", manyArtifacts)
}

// noSecret looks for the password of the examples.
func noSecret(t *testing.T, events []told.Event, log string) {
	t.Helper()
	const secret = "hunter2"
	for _, e := range events {
		if strings.Contains(string(e.Raw), secret) {
			t.Errorf("a secret would go out: %s", e.Raw)
		}
	}
	if strings.Contains(log, secret) {
		t.Errorf("a secret is in the log: %s", log)
	}
}

// lines are the jobs of the ends with their datasets, each once.
func lines(events []told.Event) []byte {
	var all []string
	for _, e := range events {
		if !e.Terminal() {
			continue
		}
		all = append(all, e.Job.Name)
		for _, name := range names(e.Inputs) {
			all = append(all, e.Job.Name+" < "+name)
		}
		for _, name := range names(e.Outputs) {
			all = append(all, e.Job.Name+" > "+name)
		}
	}
	slices.Sort(all)
	return []byte(strings.Join(slices.Compact(all), "\n") + "\n")
}

// explained wants the runs of the deployments that their author keeps back, and the reasons.
func explained(t *testing.T, p *rig.Prefect) {
	code, stdout, stderr := rig.NewListener(t, p.URL).Run("preview", "--since", "1h", "--explain", "-o", "json")
	if code != 0 {
		t.Fatalf("preview ended with %d: %s", code, stderr)
	}
	got := map[string]int{}
	for line := range strings.Lines(stdout) {
		var reason struct {
			Kind, State string
			Told        bool
			By          string `json:"decided_by"`
		}
		if err := json.Unmarshal([]byte(line), &reason); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if reason.State == "SCHEDULED" {
			continue // the automation may have made one run more
		}
		got[fmt.Sprintf("%s told=%t by %s", reason.Kind, reason.Told, reason.By)]++
	}
	want := map[string]int{
		"flow-run told=false by tag": 1, "flow-run told=false by variable": 1, // kept-back, switched-off
		"flow-run told=true by tag": 1, "flow-run told=true by none": 15,
		"task-run told=false by flow-run": 2, "task-run told=false by tag": 9, // pay of these two; every heartbeat
		"task-run told=true by flow-run": 1, "task-run told=true by none": 19,
		"task-run told=false by ": 3, // placeholders of subflows
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// examplesInMarquez looks for jobs, parents, states, durations, datasets and edges of whole flows in a real Marquez.
func examplesInMarquez(t *testing.T, p *rig.Prefect) {
	m := newMarquez(t)
	l := rig.NewListener(t, p.URL, m.sink(), "OPENLINEAGE_NAMESPACE="+m.namespace, "FLOW_DATASETS=rollup", "FLOW_NAME_TYPE=path")
	if code, _, stderr := l.Run("backfill", "--since", "1h"); code != 0 {
		t.Fatalf("backfill ended with %d: %s", code, stderr)
	}
	said := map[string]bool{}
	events, _ := preview(t, p)
	for _, e := range events {
		said[e.Run.RunID] = e.Job.Namespace == "default" // one deployment names another
	}
	want := told.Expected(t, p)
	maps.DeleteFunc(want, func(id string, _ told.Expectation) bool { return !said[id] })
	checkRuns(t, m, p, want)

	jobs := m.jobs()
	golden(t, "examples-marquez.golden", []byte(strings.Join(tree(jobs), "\n")+"\n"))
	if diff := cmp.Diff(names(jobs["Rows.summarize"].Outputs), names(jobs["Rows"].Outputs)); diff != "" {
		t.Errorf("what the flow wrote, and its only task that did (-task +flow):\n%s", diff)
	}
	if n := len(jobs["Many Artifacts"].Outputs); n != 400 {
		t.Errorf("the flow of several hundred artifacts wrote %d datasets in Marquez", n)
	}
	edges := m.edges("Rows")
	for _, want := range []string{
		"dataset:postgres://db.example:5432:shop.public.orders -> job:NS:Rows",
		"dataset:duckdb:///warehouse:kept -> job:NS:Rows",
		"job:NS:Rows -> dataset:snowflake://org-acct:shop.sales.daily",
		"job:NS:Rows -> dataset:s3://lake:daily/2026-11-30.parquet",
		"job:NS:Rows.summarize -> dataset:snowflake://org-acct:shop.sales.daily",
	} {
		if !slices.Contains(edges, want) {
			t.Errorf("no edge %s in %q", want, edges)
		}
	}
}
