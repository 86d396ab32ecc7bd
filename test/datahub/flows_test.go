package datahub

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// The whole suite of flows: every kind of run, and the examples.
var (
	kinds = []string{
		"plain", "mapped", "cache", "nested_tasks", "subflows", "failing", "timed_out", "task_retries", "flow_retries",
		"named_state", "cancelled", "crashed", "never_started", "flow_artifacts", "deployed",
	}
	withoutFlow = []string{"standalone", "background_task"}
	examples    = []string{"test/flows/datasets.py", "test/flows/names.py", "test/flows/assets.py", "test/flows/deployments.py"}
)

// What DataHub gets of the whole suite of flows is what its own classes take, by each way, with each sort of names, and
// shows what the events say.
func TestFlows(t *testing.T) {
	t.Parallel()
	rig.DatahubPython(t)
	p := rig.StartPrefect(t)
	p.RunFlows(kinds...)
	p.RunFlows(withoutFlow...)
	for _, script := range examples {
		p.StartScript(script).Wait()
	}
	told.Settled(t, p)
	code, stdout, stderr := rig.NewListener(t, p.URL).Run("preview", "--since", "1h")
	if code != 0 {
		t.Fatalf("preview ended with %d: %s", code, stderr)
	}
	events := told.Parse(t, stdout)
	t.Logf("%d events", len(events))

	t.Run("REST", func(t *testing.T) {
		t.Parallel()
		old, current := newGMS(t, "v0.14.1"), newGMS(t, "v1.3.0")
		backfill(t, p, map[string]any{"type": "datahub", "server": old.URL, "plain_patches": true}, map[string]any{
			"type": "datahub", "server": map[string]any{"url": current.URL, "emit_mode": "SYNC_WAIT"}, "urns": "prefect-datahub",
			"platform_instance": "eu", "dataset_lineage": true,
			"datasets": []any{map[string]any{"namespace": "duckdb:///(.*)", "platform_instance": "$1"}},
		})
		for name, g := range map[string]*gms{"old": old, "current": current} {
			t.Run(name, func(t *testing.T) {
				proposals, requests := g.all(t)
				accepted(t, requests)
				shown(t, events, proposals)
				linked(t, events, proposals)
				sparing(t, proposals)
			})
		}
	})
	t.Run("Kafka", func(t *testing.T) {
		t.Parallel()
		overKafka(t, p, events)
	})
}

// backfill sends what ran to destinations, each by itself.
func backfill(t *testing.T, p *rig.Prefect, transports ...map[string]any) {
	t.Helper()
	list, err := json.Marshal(transports)
	if err != nil {
		t.Fatal(err)
	}
	l := rig.NewListener(t, p.URL, "OPENLINEAGE__TRANSPORT__TYPE=composite", "OPENLINEAGE__TRANSPORT__TRANSPORTS="+string(list))
	if code, stdout, stderr := l.Run("backfill", "--since", "1h"); code != 0 {
		t.Fatalf("the backfill ended with %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := l.Run("deadletters", "list", "-o", "json"); code != 0 || strings.Contains(stdout, `"run"`) {
		t.Errorf("dead letters (exit %d): %s", code, stdout)
	}
}

// broker returns a Kafka and a schema registry: those that the environment names, else new ones.
func broker(t *testing.T, topic string) (bootstrap, registry string) {
	t.Helper()
	bootstrap, registry = os.Getenv("KAFKA_BOOTSTRAP"), os.Getenv("SCHEMA_REGISTRY_URL")
	if bootstrap == "" || registry == "" {
		k := rig.StartKafka(t, topic)
		bootstrap, registry = k.Bootstrap, k.Registry
	}
	return bootstrap, registry
}

// overKafka sends what ran to a real Kafka and reads it back with DataHub's own client and schema.
func overKafka(t *testing.T, p *rig.Prefect, events []told.Event) {
	t.Helper()
	topic := "listener-datahub-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	bootstrap, registry := broker(t, topic)
	backfill(t, p, map[string]any{"type": "datahub", "kafka": map[string]any{
		"connection": map[string]any{
			"bootstrap": bootstrap, "schema_registry_url": registry,
			"producer_config": map[string]any{"allow.auto.create.topics": true},
		},
		"topic_routes": map[string]any{"MetadataChangeProposal": topic},
	}})
	proposals, requests := consumed(t, bootstrap, topic)
	accepted(t, requests)
	shown(t, events, proposals)
	linked(t, events, proposals)
	sparing(t, proposals)
}

// consumed reads all proposals of a topic.
func consumed(t *testing.T, bootstrap, topic string) ([]proposal, []request) {
	t.Helper()
	cmd := exec.Command(rig.DatahubPython(t), filepath.Join(rig.Root(), "test", "datahub", "consume.py"), bootstrap, topic)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("reading the topic: %v\n%s", err, stderr.String())
	}
	var all []proposal
	var requests []request
	for line := range strings.Lines(stdout.String()) {
		body := []byte(strings.TrimSpace(line))
		told, err := proposals("POST", "/aspects?action=ingestProposal", body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, told...)
		requests = append(requests, request{"/aspects?action=ingestProposal", body})
	}
	return all, requests
}
