package versions

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

var update = flag.Bool("update", false, "write what was seen into the golden files")

// cases are the cases of test/flows that show each kind of run once.
var cases = []string{
	"plain", "mapped", "cache", "nested_tasks", "subflows", "failing", "timed_out", "task_retries", "flow_retries",
	"named_state", "cancelled", "crashed", "never_started", "flow_artifacts", "assets", "deployed",
}

// withoutFlow are cases whose tasks belong to no flow run, which need a process of their own.
var withoutFlow = []string{"standalone", "background_task"}

// server is a version and what it has.
type server struct {
	version string
	gives   gives
	lacks   []string // cases that it cannot run
	env     []string // what its server and its flows need to be told
}

var servers = []server{
	{
		version: "2.20.25", lacks: []string{"nested_tasks", "assets"},
		env: []string{"PREFECT_EXPERIMENTAL_ENABLE_TASK_SCHEDULING=true"},
	},
	{
		version: "3.0.11", lacks: []string{"assets"},
		gives: gives{flowEnd: true, events: true, socket: true},
	},
	{version: "3.4.25", gives: gives{flowEnd: true, events: true, socket: true}},
	{version: "3.6.0", gives: gives{flowEnd: true, events: true, socket: true}},
	{version: rig.Newest, gives: gives{flowEnd: true, taskEnd: true, events: true, socket: true}},
}

// atOnce is how many servers run side by side: each, with its flows, has work for a core.
const atOnce = 2

// On each server, flows of every kind give what that server shows of them: live, after a time away, and in a backfill.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	places := make(chan struct{}, atOnce)
	for _, s := range servers {
		t.Run(s.version, func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			testServer(t, s)
		})
	}
}

func testServer(t *testing.T, s server) {
	p := rig.StartVersion(t, s.version, s.env...)
	t.Run("gives", func(t *testing.T) { checkGives(t, p, s.gives) })

	out := filepath.Join(t.TempDir(), "live.ndjson")
	live := rig.NewListener(t, p.URL, told.FileSink(out))
	live.Start()
	p.RunFlows(s.cases()...)
	p.RunFlows(withoutFlow...)
	want := told.Settled(t, p)
	awaitAll(t, want, out, live)
	awaitGolden(t, s.version, out)
	if code := live.Stop(); code != 0 {
		t.Errorf("the listener ended with %d: %s", code, live.Log())
	}
	got := lastWords(told.Read(t, out))
	t.Run("client", func(t *testing.T) { client(t, p, s.version) })
	t.Run("expected", func(t *testing.T) { told.Judge(t, want, got, 0) })
	t.Run("server", func(t *testing.T) { tellServer(t, p, s, got) })
	t.Run("times", func(t *testing.T) { times(t, p, got) })
	t.Run("golden", func(t *testing.T) { golden(t, s.version, told.Brief(t, got)) })
	t.Run("spec", func(t *testing.T) { told.Validate(t, got) })
	t.Run("log", func(t *testing.T) {
		quietLog(t, live)
		if n := len(live.LogLines("events cannot be heard")); !s.gives.socket && n != 1 {
			t.Errorf("%d lines say that there is no websocket", n)
		}
	})
	if s.firstOfItsKind() {
		t.Run("away", func(t *testing.T) { away(t, p, got) })
	} else {
		t.Run("backfill", func(t *testing.T) { backfill(t, p, got) })
	}
}

// firstOfItsKind says whether no server before it gives the same: what it gives decides how a time away is read.
func (s server) firstOfItsKind() bool {
	first := slices.IndexFunc(servers, func(other server) bool { return other.gives == s.gives })
	return servers[first].version == s.version
}

// cases are the cases that the server can run.
func (s server) cases() []string {
	return slices.DeleteFunc(slices.Clone(cases), func(name string) bool { return slices.Contains(s.lacks, name) })
}

// tellServer wants in each event what the golden files leave out: Prefect's version and the address of the run's page.
func tellServer(t *testing.T, p *rig.Prefect, s server, events []told.Event) {
	t.Helper()
	for _, e := range events {
		var engine struct{ Version string }
		var run struct{ Kind, URL string }
		for key, into := range map[string]any{"processing_engine": &engine, "prefect_run": &run} {
			if err := json.Unmarshal(e.Run.Facets[key], into); err != nil {
				t.Fatalf("%s of %s: %s: %v", e.EventType, e.Job.Name, key, err)
			}
		}
		page := strings.TrimSuffix(p.URL, "/api") + "/runs/" + run.Kind + "/" + e.Run.RunID
		if strings.HasPrefix(s.version, "2.") {
			page = strings.Replace(page, "/runs/", "/"+run.Kind+"s/", 1)
		}
		if engine.Version != s.version || run.URL != page {
			t.Errorf("%s of %s comes from %q and shows %s, not %s", e.EventType, e.Job.Name, engine.Version, run.URL, page)
		}
	}
}

func golden(t *testing.T, version string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", version+".golden")
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
		t.Errorf("events (-want +got); go test ./test/versions -update accepts them:\n%s", diff)
	}
}

// awaitGolden waits, though not for ever, until the last ends are those of the golden file: a busy server writes down
// minutes late what assets were made, and the listener tells of them then.
func awaitGolden(t *testing.T, version, out string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", version+".golden"))
	if err != nil || *update {
		return
	}
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		if bytes.Equal(want, told.Brief(t, lastWords(told.Read(t, out)))) {
			return
		}
	}
}

// quietLog wants no warning and no error in a listener's log but those about the odd artifacts of the flows: an old
// server is no trouble.
func quietLog(t *testing.T, l *rig.Listener) {
	t.Helper()
	for _, level := range []string{"warn", "error"} {
		for _, line := range l.LogLines(fmt.Sprintf(`"level":%q`, level)) {
			if !strings.Contains(line, "odd data in Prefect") {
				t.Error(line)
			}
		}
	}
}
