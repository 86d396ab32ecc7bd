package parents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// place is where a run stands, as its own events say and as its children were told.
type place struct {
	Run, Job, Root, RootJob string // a job as namespace/name
}

// TestParents runs the flows of the guide, started in every way that it names, and compares what dbt and Spark were
// handed with what the listener said of the same task runs.
func TestParents(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	dir := examples(t)
	p.StartScript("test/parents/run.py", dir).Wait()
	text, err := os.ReadFile(filepath.Join(dir, "started.json"))
	if err != nil {
		t.Fatal(err)
	}
	var started map[string]string
	if err := json.Unmarshal(text, &started); err != nil {
		t.Fatal(err)
	}
	recorded(t, p, 3*len(started))
	l := rig.NewListener(t, p.URL, "OPENLINEAGE_NAMESPACE=lake house")
	code, events, log := l.Run("preview", "--since", "1h")
	if code != 0 {
		t.Fatalf("preview ended with %d: %s", code, log)
	}
	check(t, told.Parse(t, events), started, log)
	children(t, told.Parse(t, events), filepath.Join(dir, "seen.ndjson"), len(started))
	t.Run("valid", func(t *testing.T) { told.Validate(t, told.Parse(t, events)) })
}

// recorded waits until the server shows the ends of that many task runs: the two of Nightly, one of which stands in for
// Models, and the one of Models. The automation may have made further runs, which nobody works off.
func recorded(t *testing.T, p *rig.Prefect, tasks int) {
	t.Helper()
	rig.Eventually(t, 2*time.Minute, "all task runs can be read", func() bool {
		ended := 0
		for _, row := range p.Filter("task_runs", nil) {
			if row["state_type"] == "COMPLETED" {
				ended++
			}
		}
		return ended >= tasks
	})
}

// examples writes the guide's own files and stand-ins for the programs that they call.
func examples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	page := docs.Read(t, filepath.Join(rig.Root(), "docs", "parents.md"))
	write("start.py", page.Section(t, "A flow run that something else started").Fences[0].Text)
	fences := page.Section(t, "dbt, Spark and others that a flow starts").Fences
	write("lineage.py", fences[0].Text)
	write("flows.py", fences[1].Text)
	for name, script := range map[string]string{"dbt-ol": "dbt_ol.py", "spark-submit": "spark_submit.py"} {
		write("bin/"+name, fmt.Sprintf("#!/bin/sh\nexec %q %q \"$@\"\n", rig.Python(t), filepath.Join(rig.Root(), "test", "parents", script)))
	}
	return dir
}

const (
	airflow = "01934ab7-7c1e-7d2a-9d6e-3f6d8f0c2a11"
	dag     = "01934ab7-7c1e-7d2a-9d6e-3f6d8f0c2a22"
)

// check looks at the flow runs that were started from outside.
func check(t *testing.T, events []told.Event, started map[string]string, log string) {
	t.Helper()
	task := place{Run: airflow, Job: "airflow/daily.start_nightly", Root: airflow, RootJob: "airflow/daily.start_nightly"}
	tree := task
	tree.Root, tree.RootJob = dag, "airflow/daily"
	want := map[string]place{"guide": task, "parent": task, "root": tree, "context": tree, "broken": {}, "deployment": {}, "automation": {}}
	got := map[string]place{}
	for way, run := range started {
		for _, e := range events {
			if e.Run.RunID != run {
				continue
			}
			if before, ok := got[way]; ok && before != above(t, e) {
				t.Errorf("%s: two events name other parents: %+v and %+v", way, before, above(t, e))
			}
			got[way] = above(t, e)
			triggered := strings.Contains(string(e.Run.Facets["prefect_run"]), `"trigger":{"id":"`) &&
				strings.Contains(string(e.Run.Facets["prefect_run"]), `"name":"when orders arrive","type":"automation"`)
			if triggered != (way == "automation") {
				t.Errorf("%s: prefect_run is %s", way, e.Run.Facets["prefect_run"])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parents from outside (-want +got):\n%s", diff)
	}
	if n := strings.Count(log, "parent-ignored"); n != 1 {
		t.Errorf("%d warnings about the broken parent: %s", n, log)
	}
}

// above is the parent that an event names.
func above(t *testing.T, e told.Event) place {
	t.Helper()
	var facet struct {
		ref
		Root ref `json:"root"`
	}
	raw, ok := e.Run.Facets["parent"]
	if !ok {
		return place{}
	}
	if err := json.Unmarshal(raw, &facet); err != nil {
		t.Fatal(err)
	}
	return place{facet.Run.RunID, facet.job(), facet.Root.Run.RunID, facet.Root.job()}
}

type ref struct {
	Run struct {
		RunID string `json:"runId"`
	} `json:"run"`
	Job struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"job"`
}

func (r ref) job() string { return r.Job.Namespace + "/" + r.Job.Name }

// children compares what the children were handed with what the events of the same task runs say.
func children(t *testing.T, events []told.Event, path string, runs int) {
	t.Helper()
	said := map[string]place{}
	for _, e := range events {
		up := above(t, e)
		said[e.Run.RunID] = place{e.Run.RunID, e.Job.Namespace + "/" + e.Job.Name, up.Root, up.RootJob}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]int{}
	for line := range bytes.Lines(text) {
		var child struct {
			Way           string
			RunID         string `json:"run_id"`
			Namespace     string `json:"job_namespace"`
			Name          string `json:"job_name"`
			RootID        string `json:"root_parent_run_id"`
			RootNamespace string `json:"root_parent_job_namespace"`
			RootName      string `json:"root_parent_job_name"`
		}
		if err := json.Unmarshal(line, &child); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		ways[child.Way]++
		if child.RootID == "17" {
			continue // the guide's code takes the parent from outside as it is, this one is broken
		}
		handed := place{child.RunID, child.Namespace + "/" + child.Name, child.RootID, child.RootNamespace + "/" + child.RootName}
		if diff := cmp.Diff(said[child.RunID], handed); diff != "" {
			t.Errorf("%s (-told +handed over):\n%s", child.Way, diff)
		}
	}
	want := map[string]int{"dbt by context": runs, "dbt by ids": runs, "spark": runs}
	if diff := cmp.Diff(want, ways); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
}
