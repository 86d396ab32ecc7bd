package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// asMuch are the settings by which events name all datasets that they can.
var asMuch = []string{"DATASETS_ON_FAILURE=last", "FLOW_DATASETS=rollup"}

const (
	rawOrders   = "s3://lake raw/orders.parquet"
	cleanOrders = "s3://lake clean/orders.parquet"
	dailyOrders = "postgres://warehouse.example:5432 shop.sales.daily_orders"
	customers   = "postgres://warehouse.example:5432 shop.sales.customers"
	dailyReport = "file /reports/daily.csv"
)

// The assets of a flow are the datasets of its tasks, and those the flow's own; a failed run keeps its job's. Live, what
// nobody expected is told in a second end. A backfill tells the same in one.
func TestAssets(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	out := filepath.Join(t.TempDir(), "live.ndjson")
	live := rig.NewListener(t, p.URL, append([]string{told.FileSink(out)}, asMuch...)...)
	live.Start()
	const script = "test/flows/assets.py"
	good := []string{
		"COMPLETE Lake <" + customers + " >" + dailyReport + " >" + dailyOrders + " >" + cleanOrders + " >" + rawOrders,
		"COMPLETE Lake.clean_orders <" + rawOrders + " >" + cleanOrders,
		"COMPLETE Lake.land_orders >" + rawOrders,
		"COMPLETE Lake.load_daily_orders <" + customers + " <" + cleanOrders + " >" + dailyOrders,
		"COMPLETE Lake.report >" + dailyReport,
	}
	for day := range 2 {
		if code := p.RunScript(script); code != 0 {
			t.Fatalf("a good day ended with %d", code)
		}
		// From the first day the listener learns who makes assets.
		awaitEnds(t, live, out, slices.Repeat(good, day+1))
	}
	if code := p.RunScript(script, "BROKEN=yes"); code != 3 {
		t.Fatalf("a broken day ended with %d", code)
	}

	want := slices.Concat(good, good, []string{
		"COMPLETE Lake.clean_orders <" + rawOrders + " >" + cleanOrders,
		"COMPLETE Lake.land_orders >" + rawOrders,
		"FAIL Lake <" + customers + " >" + cleanOrders + " >" + rawOrders,
		"FAIL Lake.load_daily_orders <" + customers + " <" + cleanOrders + " >" + dailyOrders,
	})
	awaitEnds(t, live, out, want)
	if code := live.Stop(); code != 0 {
		t.Errorf("the listener ended with %d: %s", code, live.Log())
	}
	said := told.Read(t, out)
	t.Logf("%d ends of 14 runs were told live", countEnds(said))
	t.Run("spec", func(t *testing.T) { told.Validate(t, said) })

	t.Run("backfill", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "backfill.ndjson")
		l := rig.NewListener(t, p.URL, append([]string{told.FileSink(path)}, asMuch...)...)
		if code, _, stderr := l.Run("backfill", "--since", "1h"); code != 0 {
			t.Fatalf("backfill ended with %d: %s", code, stderr)
		}
		again := told.Read(t, path)
		if diff := cmp.Diff(want, lastEnds(again)); diff != "" || countEnds(again) != len(want) {
			t.Errorf("%d ends in the backfill (-want +got):\n%s", countEnds(again), diff)
		}
		sameUnlessCorrected(t, said, again)
	})
	t.Run("marquez", func(t *testing.T) { assetsInMarquez(t, p) })
}

// awaitEnds waits until the last ends of all runs are these. A busy server writes down minutes late what assets were made.
func awaitEnds(t *testing.T, live *rig.Listener, out string, want []string) {
	t.Helper()
	slices.Sort(want)
	var got []string
	for deadline := time.Now().Add(4 * time.Minute); !slices.Equal(got, want) && time.Now().Before(deadline); time.Sleep(time.Second) {
		got = lastEnds(told.Read(t, out))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("last ends (-want +got):\n%s\n%s", diff, live.Log())
	}
}

// assetsInMarquez looks for edges in a real Marquez after a day that ended with a failed run.
func assetsInMarquez(t *testing.T, p *rig.Prefect) {
	m := newMarquez(t)
	l := rig.NewListener(t, p.URL, append([]string{m.sink(), "OPENLINEAGE_NAMESPACE=" + m.namespace}, asMuch...)...)
	if code, _, stderr := l.Run("backfill", "--since", "1h"); code != 0 {
		t.Fatalf("backfill ended with %d: %s", code, stderr)
	}
	checkRuns(t, m, p, told.Expected(t, p))
	jobs := m.jobs()
	family := []string{
		"Lake < ", "Lake.clean_orders < Lake", "Lake.land_orders < Lake", "Lake.load_daily_orders < Lake", "Lake.report < Lake",
	}
	if diff := cmp.Diff(family, tree(jobs)); diff != "" {
		t.Errorf("jobs in Marquez (-want +got):\n%s", diff)
	}
	for job, want := range map[string][2][]string{
		"Lake.load_daily_orders": {{customers, cleanOrders}, {dailyOrders}}, // its last run failed
		"Lake.clean_orders":      {{rawOrders}, {cleanOrders}},
		"Lake":                   {{customers}, {cleanOrders, rawOrders}},
	} {
		if diff := cmp.Diff(want, [2][]string{names(jobs[job].Inputs), names(jobs[job].Outputs)}); diff != "" {
			t.Errorf("datasets of %s in Marquez (-want +got):\n%s", job, diff)
		}
	}
	if state := lastRunOf(t, m, "Lake.load_daily_orders").State; state != "FAILED" {
		t.Errorf("the last run is %s", state)
	}
	edges := m.edges("Lake.load_daily_orders")
	for _, want := range []string{
		"dataset:postgres://warehouse.example:5432:shop.sales.customers -> job:NS:Lake",
		"job:NS:Lake -> dataset:s3://lake:clean/orders.parquet",
		"dataset:s3://lake:clean/orders.parquet -> job:NS:Lake.load_daily_orders",
		"job:NS:Lake.load_daily_orders -> dataset:postgres://warehouse.example:5432:shop.sales.daily_orders",
	} {
		if !slices.Contains(edges, want) {
			t.Errorf("no edge %s in %q", want, edges)
		}
	}
}

// lastEnds are the last ends of all runs with their datasets, as "COMPLETE job <in >out", sorted.
func lastEnds(events []told.Event) []string {
	last := map[string]string{}
	for _, e := range events {
		if !e.Terminal() {
			continue
		}
		line := fmt.Sprintf("%s %s", e.EventType, e.Job.Name)
		for _, name := range names(e.Inputs) {
			line += " <" + name
		}
		for _, name := range names(e.Outputs) {
			line += " >" + name
		}
		last[e.Run.RunID] = line
	}
	var lines []string
	for _, line := range last {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func countEnds(events []told.Event) int {
	n := 0
	for _, e := range events {
		if e.Terminal() {
			n++
		}
	}
	return n
}

// sameUnlessCorrected compares what was told of the same events, except where live a second end had to say more.
func sameUnlessCorrected(t *testing.T, live, again []told.Event) {
	t.Helper()
	ends := map[string]int{}
	for _, e := range live {
		if e.Terminal() {
			ends[e.Run.RunID]++
		}
	}
	said := told.Bodies(t, live)
	compared := 0
	for key, body := range told.Bodies(t, again) {
		run, _, _ := strings.Cut(key, " ")
		if ends[run] > 1 {
			continue
		}
		if compared++; said[key] != body {
			t.Errorf("told live:\n%s\nand in the backfill:\n%s", said[key], body)
		}
	}
	if compared == 0 {
		t.Error("nothing was told in one end")
	}
}
