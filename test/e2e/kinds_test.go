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

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
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
	live := rig.NewListener(t, p.URL, told.FileSink(out))
	live.Start()
	p.RunFlows(everyKind...)
	p.RunFlows(withoutFlow...)
	want := told.Settled(t, p)
	rig.Eventually(t, time.Minute, "all events are told live", func() bool { return len(told.Missing(want, told.Read(t, out))) == 0 })
	if code := live.Stop(); code != 0 {
		t.Errorf("the listener ended with %d: %s", code, live.Log())
	}
	got := told.Read(t, out)

	t.Run("expected", func(t *testing.T) { told.Judge(t, want, got, 0) })
	t.Run("golden", func(t *testing.T) { golden(t, "kinds.golden", told.Story(t, got)) })
	t.Run("spec", func(t *testing.T) { told.Validate(t, got) })
	t.Run("secrets", func(t *testing.T) {
		for _, e := range got {
			if bytes.Contains(e.Raw, []byte("etl:secret")) {
				t.Errorf("a secret went out: %s", e.Raw)
			}
		}
		if strings.Contains(live.Log(), "etl:secret") {
			t.Error("a secret is in the log")
		}
	})
	t.Run("backfill", func(t *testing.T) { backfills(t, p, got) })
	t.Run("marquez", func(t *testing.T) { inMarquez(t, p) })
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
		t.Errorf("events (-want +got); go test ./test/e2e -run %s -update accepts them:\n%s", strings.Split(t.Name(), "/")[0], diff)
	}
}

// backfills tells the same history three more times and compares every byte.
func backfills(t *testing.T, p *rig.Prefect, live []told.Event) {
	var all []map[string]string
	for _, zone := range []string{"America/St_Johns", "Asia/Kathmandu"} {
		path := filepath.Join(t.TempDir(), "backfill.ndjson")
		l := rig.NewListener(t, p.URL, told.FileSink(path), "TZ="+zone)
		code, _, stderr := l.Run("backfill", "--since", "1h")
		if code != 0 {
			t.Fatalf("backfill ended with %d: %s", code, stderr)
		}
		all = append(all, told.Bodies(t, told.Read(t, path)))
		if code, _, stderr := l.Run("backfill", "--since", "1h"); code != 0 || len(told.Read(t, path)) != len(all[0]) {
			t.Errorf("a second backfill told again (exit %d): %s", code, stderr)
		}
	}
	code, stdout, stderr := rig.NewListener(t, p.URL).Run("preview", "--since", "1h")
	if code != 0 {
		t.Fatalf("preview ended with %d: %s", code, stderr)
	}
	all = append(all, told.Bodies(t, told.Parse(t, stdout)))
	for i := 1; i < len(all); i++ {
		if diff := cmp.Diff(all[0], all[i]); diff != "" {
			t.Errorf("backfill %d differs from the first:\n%s", i, diff)
		}
	}
	said := told.Bodies(t, live)
	for key, body := range all[0] {
		if said[key] != body {
			t.Errorf("told live:\n%s\nand in the backfill:\n%s", said[key], body)
		}
	}
	if extra := len(said) - len(all[0]); extra > 0 {
		t.Logf("live told %d events more, which it may", extra)
	}
}
