package docs_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// notRun are the command lines of the pages that no test runs, by how they begin, with the reason.
var notRun = map[string]string{
	"make fuzz":                        "each target takes a minute; the seeds of all of them run with the unit tests",
	"make build":                       "make test builds the same first",
	"listener: ":                       "is what the listener says",
	`curl -H "Authorization: Bearer $`: "asks a consumer in the cloud, or one that is too large to start here",
	"kafka-acls.sh ":                   "needs a cluster of Kafka's with rights",
	"kafka-console-consumer.sh ":       "needs a cluster of Kafka's",
}

// ranElsewhere are pages whose command lines other tests run: those of test/deploy have helm and kubectl at hand.
var ranElsewhere = []string{"docs/deploying.md", "deploy/helm/prefect-openlineage-listener/README.md"}

// Every command line that a page shows is run here, or by .ci/run, or there is a reason why not.
func TestCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	used, ran := map[string]bool{}, 0
	for _, page := range docs.Pages(t, rig.Root()) {
		if slices.Contains(ranElsewhere, page) {
			continue
		}
		for _, c := range docs.Commands(t, rig.Root(), page) {
			if prefix := reason(c.Line); prefix != "" {
				used[prefix] = true
				continue
			}
			ran++
			w.run(t, c)
		}
	}
	if ran < 15 {
		t.Errorf("only %d commands were run", ran)
	}
	for prefix := range maps.Keys(notRun) {
		if !used[prefix] {
			t.Errorf("no page shows %q any more, and there is a reason why it is not run", prefix)
		}
	}
}

func reason(line string) string {
	for prefix := range notRun {
		if strings.HasPrefix(line, prefix) {
			return prefix
		}
	}
	return ""
}

// world is what the pages' reader has: a Prefect where something ran, a consumer that refuses one event, and a listener
// that runs.
type world struct {
	listener *rig.Listener
	flowRun  string
	tools    string // a folder for what is in nobody's $PATH
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := prefecttest.NewTCP(t)
	server.AddHistory(prefecttest.History{Flows: 1, FlowRuns: 6, Tasks: 1, From: time.Now().Add(-10 * time.Minute), Every: time.Second, Lasts: time.Second})
	sink := transporttest.NewSink(t)
	refused := ""
	sink.Script(func(r transporttest.Request) transporttest.Reply {
		if r.Type == "START" && (refused == "" || refused == r.RunID) {
			refused = r.RunID
			return transporttest.Status(400)
		}
		return transporttest.OK()
	})
	w := &world{tools: t.TempDir()}
	w.listener = rig.NewListener(t, server.URL, "OPENLINEAGE__TRANSPORT__TYPE=http", "OPENLINEAGE__TRANSPORT__NAME=marquez",
		"OPENLINEAGE__TRANSPORT__URL="+sink.URL())
	w.listener.Start()
	t.Cleanup(func() {
		if code := w.listener.Stop(); code != 0 {
			t.Errorf("the listener ended with %d:\n%s", code, w.listener.Log())
		}
	})
	rig.Eventually(t, 60*time.Second, "there is a dead letter and everything else is delivered", func() bool {
		return len(sink.Taken()) == 23
	})
	w.flowRun = refused
	return w
}

// tools are the programs that are run for the pages' sake. What others do to a machine is for its owner to say.
var tools = []string{"listener", "export", "sqlite3"}

var destination = regexp.MustCompile(`--destination \S+`)

var makes = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(make [a-z]+)$`)

// run runs a command as a reader would, with names of this world for those of the page.
func (w *world) run(t *testing.T, c docs.Command) {
	t.Helper()
	if target := makes.FindStringSubmatch(c.Line); target != nil {
		if !docs.CIRuns(t, rig.Root(), target[1]) {
			t.Errorf("%s: %q: .ci/run does not run it", c.Page, c.Line)
		}
		return
	}
	line := strings.NewReplacer("bin/listener", "listener", "--run ID", "--run "+w.flowRun, "drop ID", "drop 999", "replay ID", "replay 1", "ID", "1",
		"NAME", "marquez", "/var/lib/listener/listener.db", w.listener.State, "/backup/", w.tools+"/").Replace(c.Line)
	line = destination.ReplaceAllString(line, "--destination marquez")
	if program, _, _ := strings.Cut(line, " "); !slices.Contains(tools, program) {
		t.Errorf("%s, %s: %q: is not run, and there is no reason why not", c.Page, c.Section, c.Line)
		return
	}
	if line == "listener" {
		return // it runs all the while
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", line)
	command.Dir = w.tools
	path := filepath.Dir(rig.Binary(t)) + ":" + os.Getenv("PATH")
	command.Env = append(slices.Clone(w.listener.Env), "PATH="+path)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s, %s: %q: %v\n%s", c.Page, c.Section, line, err, out)
	}
}

func TestCommandsOfAPage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	text := "# A\n\nWords:\n\n    listener check   # looks\n\n1. a list that\n    goes on\n\n       make demo\n\n```sh\n# first\nhelm install \\\n  x\n```\n\n```env\nA=b\n```\n"
	if err := os.WriteFile(filepath.Join(root, "a.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range docs.Commands(t, root, "a.md") {
		lines = append(lines, c.Line)
	}
	if diff := cmp.Diff([]string{"listener check", "make demo", "helm install x"}, lines); diff != "" {
		t.Error(diff)
	}
}
