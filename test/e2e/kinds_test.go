package e2e

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/openlineage/olvalidate"
	"github.com/prefect-openlineage/listener/test/rig"
)

var update = flag.Bool("update", false, "write what was seen into the golden files")

// everyKind are the cases of test/flows that show each kind of run once.
var everyKind = []string{
	"plain", "mapped", "cache", "nested_tasks", "subflows", "failing", "timed_out", "task_retries", "flow_retries",
	"named_state", "cancelled", "crashed", "never_started", "flow_artifacts", "deployed",
}

// withoutFlow are cases whose tasks belong to no flow run. Prefect takes them for part of a flow run that the same
// process ran before, so they get a process of their own.
var withoutFlow = []string{"standalone", "background_task"}

// Flows of every kind, with and without a deployment, give exactly the events that they should: live, in a backfill,
// twice, in two time zones, into two stores, and in a preview. Nothing in them is against the spec, and no secret of
// the flows is in them.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	p := rig.StartPrefect(t)
	out := filepath.Join(t.TempDir(), "live.ndjson")
	live := rig.NewListener(t, p.URL, fileSink(out))
	live.Start()
	p.RunFlows(everyKind...)
	p.RunFlows(withoutFlow...)
	want := settled(t, p)
	rig.Eventually(t, time.Minute, "all events are told live", func() bool { return len(missing(want, readEvents(t, out))) == 0 })
	if code := live.Stop(); code != 0 {
		t.Errorf("the listener ended with %d: %s", code, live.Log())
	}
	told := readEvents(t, out)

	t.Run("expected", func(t *testing.T) { judge(t, want, told, 0) })
	t.Run("golden", func(t *testing.T) { golden(t, "kinds.golden", story(t, told)) })
	t.Run("spec", func(t *testing.T) { validate(t, told) })
	t.Run("secrets", func(t *testing.T) {
		for _, e := range told {
			if bytes.Contains(e.Raw, []byte("etl:secret")) {
				t.Errorf("a secret went out: %s", e.Raw)
			}
		}
		if strings.Contains(live.Log(), "etl:secret") {
			t.Error("a secret is in the log")
		}
	})
	t.Run("backfill", func(t *testing.T) { backfills(t, p, told) })
	t.Run("marquez", func(t *testing.T) { inMarquez(t, p) })
}

// quiet is how long nothing may have changed in Prefect's tables for all to be in them: its recorder writes task runs
// in batches, many seconds after they ended when it has much to do.
const quiet = 6 * time.Second

// settled waits until Prefect itself shows all that ran in its final state, and returns what must be told.
func settled(t *testing.T, p *rig.Prefect) map[string]expectation {
	t.Helper()
	var rows int
	var since time.Time
	rig.Eventually(t, 2*time.Minute, "no run is open in Prefect and none is added", func() bool {
		open, now := 0, 0
		for _, resource := range []string{"flow_runs", "task_runs"} {
			for _, row := range p.Filter(resource, nil) {
				now++
				if row["state"] == nil || endTypes[row["state_type"].(string)] == "" {
					open++
				}
			}
		}
		if now != rows || open > 0 {
			rows, since = now, time.Now()
		}
		return time.Since(since) >= quiet
	})
	return expected(t, p)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("events (-want +got); go test ./test/e2e -run TestEveryKind -update accepts them:\n%s", diff)
	}
}

func validate(t *testing.T, events []event) {
	t.Helper()
	validator, err := olvalidate.Open(rig.SpecDir(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := validator.Validate(e.Raw); err != nil {
			t.Errorf("%s of %s: %v", e.EventType, e.Job.Name, err)
		}
	}
}

// backfills tells the same history three more times and compares every byte.
func backfills(t *testing.T, p *rig.Prefect, live []event) {
	var all []map[string]string
	for _, zone := range []string{"America/St_Johns", "Asia/Kathmandu"} {
		path := filepath.Join(t.TempDir(), "backfill.ndjson")
		l := rig.NewListener(t, p.URL, fileSink(path), "TZ="+zone)
		code, _, stderr := l.Run("backfill", "--since", "1h")
		if code != 0 {
			t.Fatalf("backfill ended with %d: %s", code, stderr)
		}
		all = append(all, bodies(t, readEvents(t, path)))
		if code, _, stderr := l.Run("backfill", "--since", "1h"); code != 0 || len(readEvents(t, path)) != len(all[0]) {
			t.Errorf("a second backfill told again (exit %d): %s", code, stderr)
		}
	}
	code, stdout, stderr := rig.NewListener(t, p.URL).Run("preview", "--since", "1h")
	if code != 0 {
		t.Fatalf("preview ended with %d: %s", code, stderr)
	}
	all = append(all, bodies(t, eventsOf(t, stdout)))
	for i := 1; i < len(all); i++ {
		if diff := cmp.Diff(all[0], all[i]); diff != "" {
			t.Errorf("backfill %d differs from the first:\n%s", i, diff)
		}
	}
	said := bodies(t, live)
	for key, body := range all[0] {
		if said[key] != body {
			t.Errorf("told live:\n%s\nand in the backfill:\n%s", said[key], body)
		}
	}
	if extra := len(said) - len(all[0]); extra > 0 {
		t.Logf("live told %d events more, which it may", extra)
	}
}

// bodies are the events' bytes by run, type and time.
func bodies(t *testing.T, events []event) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range events {
		key := strings.Join([]string{e.Run.RunID, e.EventType, e.EventTime.String()}, " ")
		if _, twice := all[key]; twice {
			t.Errorf("told twice: %s", key)
		}
		all[key] = string(e.Raw)
	}
	return all
}
