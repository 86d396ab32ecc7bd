package datahubkafka_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// patience is how long a busy machine may take for what should take seconds.
const patience = 4 * time.Minute

// line is a proposal as the Python programs read and write it.
type line struct {
	Key            string              `json:"key,omitempty"`
	EntityType     string              `json:"entityType"`
	EntityURN      string              `json:"entityUrn"`
	ChangeType     mcp.ChangeType      `json:"changeType"`
	AspectName     *string             `json:"aspectName"`
	Aspect         *string             `json:"aspect"`
	ContentType    *string             `json:"contentType"`
	SystemMetadata *mcp.SystemMetadata `json:"systemMetadata"`
	Headers        map[string]string   `json:"headers"`
}

func lineOf(p mcp.Proposal) line {
	l := line{
		EntityType: p.EntityType, EntityURN: p.EntityURN, ChangeType: p.ChangeType, SystemMetadata: p.SystemMetadata, Headers: p.Headers,
	}
	if p.AspectName != "" {
		l.AspectName = &p.AspectName
	}
	if p.Aspect != nil {
		l.Aspect, l.ContentType = new(string(p.Aspect)), new(p.ResolvedContentType())
	}
	return l
}

func newEmitter(t *testing.T, bootstrap, registry, topic string, producer map[string]any) *kafka.Emitter {
	t.Helper()
	config, _, err := kafka.NewConfig(map[string]any{
		"connection": map[string]any{
			"bootstrap": bootstrap, "schema_registry_url": registry, "producer_config": producer,
		},
		"topic_routes": map[string]any{"MetadataChangeProposal": topic},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := kafka.New(config, kafka.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = e.Close(ctx) // the test has looked at what counts
	})
	return e
}

// python runs a program of this folder with DataHub's client and returns what it printed.
func python(t *testing.T, stdin []byte, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, rig.DatahubPython(t), append([]string{filepath.Join(rig.Root(), "test", "datahubkafka", name)}, args...)...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	return stdout.Bytes()
}

// records reads a topic until nothing came for a while; at least n records must be there.
func records(t *testing.T, bootstrap, topic string, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []*kgo.Record
	for ctx.Err() == nil {
		once, stop := context.WithTimeout(ctx, 2*time.Second)
		got := client.PollFetches(once).Records()
		stop()
		all = append(all, got...)
		if len(got) == 0 && len(all) >= n {
			return all
		}
	}
	t.Fatalf("%d records are in %s, not %d", len(all), topic, n)
	return nil
}

// schemaOf asks the registry for the schema of an id, as a consumer does.
func schemaOf(t *testing.T, registry string, id uint32) *avro.Schema {
	t.Helper()
	var answer struct{ Schema string }
	getJSON(t, registry+"/schemas/ids/"+itoa(id), &answer)
	schema, err := avro.Parse(answer.Schema)
	if err != nil {
		t.Fatalf("the schema with the id %d: %v", id, err)
	}
	return schema
}

func decodeLines(t *testing.T, text []byte) []line {
	t.Helper()
	var all []line
	for in := json.NewDecoder(bytes.NewReader(text)); in.More(); {
		var l line
		if err := in.Decode(&l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// deadline is a context that leaves a busy machine time.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
