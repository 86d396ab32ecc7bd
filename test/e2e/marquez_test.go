package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// marquez reads a real Marquez's API. Each test has a namespace of its own there.
type marquez struct {
	t         *testing.T
	url       string
	namespace string
}

type marquezJob struct {
	Name          string         `json:"name"`
	SimpleName    string         `json:"simpleName"`
	ParentJobName string         `json:"parentJobName"`
	Description   string         `json:"description"`
	Inputs        []told.Dataset `json:"inputs"`
	Outputs       []told.Dataset `json:"outputs"`
}

type marquezRun struct {
	ID         string    `json:"id"`
	State      string    `json:"state"`
	StartedAt  time.Time `json:"startedAt"`
	EndedAt    time.Time `json:"endedAt"`
	DurationMs int64     `json:"durationMs"`
}

func newMarquez(t *testing.T) *marquez {
	t.Helper()
	address := os.Getenv("MARQUEZ_URL")
	if address == "" {
		rig.Skip(t, "no Marquez: set MARQUEZ_URL")
	}
	return &marquez{t: t, url: address, namespace: "e2e-" + uuid.NewString()}
}

// sink are the settings that deliver to it. On a busy machine it takes half a minute for an event with hundreds of datasets.
func (m *marquez) sink() string {
	return `OPENLINEAGE__TRANSPORT={"type":"http","url":"` + m.url + `","timeout":120}`
}

func (m *marquez) get(path string, into any) {
	m.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, m.url+"/api/v1"+path, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		m.t.Fatalf("GET %s: %s %v: %s", path, answer.Status, err, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		m.t.Fatalf("GET %s: %v: %s", path, err, body)
	}
}

func (m *marquez) jobs() map[string]marquezJob {
	m.t.Helper()
	var page struct {
		Jobs []marquezJob `json:"jobs"`
	}
	m.get("/namespaces/"+url.PathEscape(m.namespace)+"/jobs?limit=500", &page)
	jobs := map[string]marquezJob{}
	for _, j := range page.Jobs {
		jobs[j.Name] = j
	}
	return jobs
}

func (m *marquez) runs(job string) []marquezRun {
	m.t.Helper()
	var page struct {
		Runs []marquezRun `json:"runs"`
	}
	m.get("/namespaces/"+url.PathEscape(m.namespace)+"/jobs/"+url.PathEscape(job)+"/runs?limit=500", &page)
	return page.Runs
}

// edges are the lineage graph's edges around a job, as "origin -> destination".
func (m *marquez) edges(job string) []string {
	m.t.Helper()
	var page struct {
		Graph []struct {
			InEdges []struct {
				Origin      string `json:"origin"`
				Destination string `json:"destination"`
			} `json:"inEdges"`
		} `json:"graph"`
	}
	m.get("/lineage?depth=20&nodeId="+url.QueryEscape("job:"+m.namespace+":"+job), &page)
	var edges []string
	for _, node := range page.Graph {
		for _, e := range node.InEdges {
			edges = append(edges, strings.ReplaceAll(e.Origin+" -> "+e.Destination, m.namespace, "NS"))
		}
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

func names(sets []told.Dataset) []string {
	all := []string{}
	for _, d := range sets {
		all = append(all, d.Namespace+" "+d.Name)
	}
	slices.Sort(all)
	return all
}

// The demo's flow in a real Marquez, told live: job tree, states, durations and edges are right.
func TestDemoInMarquez(t *testing.T) {
	t.Parallel()
	m := newMarquez(t)
	p := rig.StartPrefect(t)
	l := rig.NewListener(t, p.URL, m.sink(), "OPENLINEAGE_NAMESPACE="+m.namespace)
	l.Start()
	database := "DEMO_DATABASE=" + filepath.Join(t.TempDir(), "customers")
	codes := map[int]bool{}
	for range 20 {
		codes[p.RunScript("demo/update_customers.py", database)] = true
		if len(codes) == 2 {
			break
		}
	}
	if len(codes) != 2 {
		t.Fatalf("twenty runs of a flaky flow ended with %v", codes)
	}
	told.Settled(t, p)
	awaitDelivered(t, l)
	checkRuns(t, m, p, told.Expected(t, p))

	jobs := m.jobs()
	want := []string{
		"Update Customers < ",
		"Update Customers.extract_customers < Update Customers",
		"Update Customers.load_customers < Update Customers",
	}
	if diff := cmp.Diff(want, tree(jobs)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	const org, firm = "duckdb:///company_customers_db org_customers", "duckdb:///company_customers_db firm_customers"
	extract, load := jobs["Update Customers.extract_customers"], jobs["Update Customers.load_customers"]
	if got := names(extract.Outputs); !slices.Equal(got, []string{org}) || len(extract.Inputs) > 0 {
		t.Errorf("extract_customers reads %v and writes %v", names(extract.Inputs), got)
	}
	if got := names(load.Inputs); !slices.Equal(got, []string{org}) {
		t.Errorf("load_customers reads %v", got)
	}
	if lastRunOf(t, m, "Update Customers.load_customers").State == "COMPLETED" {
		if got := names(load.Outputs); !slices.Equal(got, []string{firm}) {
			t.Errorf("load_customers writes %v", got)
		}
	}
	edges := m.edges("Update Customers.extract_customers")
	for _, want := range []string{
		"job:NS:Update Customers.extract_customers -> dataset:duckdb:///company_customers_db:org_customers",
		"dataset:duckdb:///company_customers_db:org_customers -> job:NS:Update Customers.load_customers",
	} {
		if !slices.Contains(edges, want) {
			t.Errorf("no edge %s in %q", want, edges)
		}
	}
}

// tree is the jobs with their parents, as "child < parent".
func tree(jobs map[string]marquezJob) []string {
	var lines []string
	for _, j := range jobs {
		lines = append(lines, j.Name+" < "+j.ParentJobName)
	}
	slices.Sort(lines)
	return lines
}

func lastRunOf(t *testing.T, m *marquez, job string) marquezRun {
	t.Helper()
	runs := m.runs(job)
	if len(runs) == 0 {
		t.Fatalf("%s has no runs in Marquez", job)
	}
	return slices.MaxFunc(runs, func(a, b marquezRun) int { return a.StartedAt.Compare(b.StartedAt) })
}

// inMarquez tells every kind of run to a real Marquez and reads states and durations back.
func inMarquez(t *testing.T, p *rig.Prefect) {
	m := newMarquez(t)
	l := rig.NewListener(t, p.URL, m.sink(), "OPENLINEAGE_NAMESPACE="+m.namespace)
	if code, _, stderr := l.Run("backfill", "--since", "1h"); code != 0 {
		t.Fatalf("backfill ended with %d: %s", code, stderr)
	}
	checkRuns(t, m, p, told.Expected(t, p))
}

// awaitDelivered waits until nothing is left in the listener's outbox.
func awaitDelivered(t *testing.T, l *rig.Listener) {
	t.Helper()
	asked := time.Now().Add(2 * time.Second) // the position is in whole seconds of the server's clock
	rig.Eventually(t, time.Minute, "the outbox is empty", func() bool {
		code, stdout, _ := l.Run("status", "-o", "json")
		var status struct {
			ReadUpTo     time.Time `json:"read_up_to"`
			OutboxEvents int       `json:"outbox_events"`
		}
		return code == 0 && json.Unmarshal([]byte(stdout), &status) == nil &&
			status.ReadUpTo.After(asked) && status.OutboxEvents == 0
	})
}

var marquezStates = map[string]string{"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}

// checkRuns compares Marquez's runs with Prefect's rows: the state, and the duration where there was a start.
func checkRuns(t *testing.T, m *marquez, p *rig.Prefect, want map[string]told.Expectation) {
	t.Helper()
	byID := map[string]marquezRun{}
	for name := range m.jobs() {
		for _, r := range m.runs(name) {
			byID[r.ID] = r
		}
	}
	rows := map[string]map[string]any{}
	for _, resource := range []string{"flow_runs", "task_runs"} {
		for _, row := range p.Filter(resource, nil) {
			rows[row["id"].(string)] = row
		}
	}
	for id, e := range want {
		row := rows[id]
		if variables, _ := row["job_variables"].(map[string]any); len(variables) > 0 {
			continue // it names a namespace of its own
		}
		run, ok := byID[id]
		switch {
		case !ok:
			if !strings.HasPrefix(e.Job, "Deployed") {
				t.Errorf("%s %s is not in Marquez", e.What, id)
			}
			continue
		case run.State != marquezStates[e.Types[len(e.Types)-1]]:
			t.Errorf("%s is %s in Marquez, and %v was told", e.What, run.State, e.Types)
		}
		if len(e.Types) < 2 {
			continue
		}
		start, end := moment(t, row["start_time"]), moment(t, row["end_time"])
		if want := end.Sub(start).Milliseconds(); run.DurationMs < want-1 || run.DurationMs > want+1 {
			t.Errorf("%s took %d ms in Marquez and %d ms in Prefect", e.What, run.DurationMs, want)
		}
	}
}

func moment(t *testing.T, text any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text.(string))
	if err != nil {
		t.Fatal(err)
	}
	return at
}
