package kafka_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

var update = flag.Bool("update", false, "write the golden file of librdkafka's partitions anew")

// golden is where the partitions stand that package librdkafka is held to without a broker.
var golden = filepath.Join(rig.Root(), "transport", "kafka", "librdkafka", "testdata", "partitions.json")

// produced is what produce.py says.
type produced struct {
	Keys   map[librdkafka.Partitioner]map[string]int `json:"keys"`
	Events [][2]any                                  `json:"events"`
}

// produce lets Python send what Go is compared with.
func produce(t *testing.T, task any) produced {
	t.Helper()
	python := rig.Python(t)
	if err := exec.CommandContext(t.Context(), python, "-c", "import confluent_kafka").Run(); err != nil {
		rig.Skip(t, "no confluent-kafka in .cache/venv; run make test")
	}
	input, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "produce.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var said produced
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	return said
}

// hierarchies are events without a parent, with one, and with a root above it.
func hierarchies() []string {
	var bodies []string
	for i := range 60 {
		parent := ""
		run := `"run":{"runId":"01941f29-7c00-7000-8000-000000000001"}`
		switch i % 3 {
		case 1:
			parent = fmt.Sprintf(`"parent":{%s,"job":{"namespace":"prefect","name":"Flow é %d"}}`, run, i)
		case 2:
			parent = fmt.Sprintf(`"parent":{%s,"job":{"namespace":"prefect","name":"flow"},"root":{%s,"job":{"namespace":"airflow","name":"dag/%d"}}}`, run, run, i)
		}
		bodies = append(bodies, fmt.Sprintf(`{"eventTime":"2026-11-30T10:00:00Z","eventType":"START","job":{"namespace":"n","name":"job & %d"},`+
			`"run":{"runId":"01941f29-7c00-7000-8000-%012d","facets":{%s}}}`, i, i, parent))
	}
	return bodies
}

// Keys and partitions are those of the Python client with librdkafka, on the same topic.
func TestTheSamePartitionAsThePythonClient(t *testing.T) {
	const topic = "partitions"
	b := kafkatest.New(t, kfake.SeedTopics(partitions, topic)) // where a record goes is decided by who sends it
	partitioners := []librdkafka.Partitioner{"consistent_random", "consistent", "murmur2_random", "murmur2", "fnv1a_random", "fnv1a"}
	keys := []string{"a", "é", "数据", "run:prefect/flow", strings.Repeat("long/", 500)}
	for i := range 200 {
		keys = append(keys, fmt.Sprintf("run:prefect/%d.%x", i, i*i))
	}
	var events []json.RawMessage
	for _, body := range hierarchies() {
		events = append(events, json.RawMessage(body))
	}
	said := produce(t, m{"bootstrap": b.Addr(), "topic": topic, "partitioners": partitioners, "keys": keys, "events": events})
	if *update {
		text, err := json.MarshalIndent(m{"partitions": partitions, "keys": said.Keys}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, rule := range partitioners {
		for _, key := range keys {
			if got, _ := rule.Pick([]byte(key), partitions); got != said.Keys[rule][key] {
				t.Errorf("%s of %.40q: partition %d, librdkafka says %d", rule, key, got, said.Keys[rule][key])
			}
		}
	}
	before := len(kafkatest.Records(t, b.Addr(), topic))
	to, _ := build(t, topic, m{"bootstrap.servers": b.Addr()})
	for _, body := range events {
		event := transporttest.Event(1, 0)
		event.Body = body
		if err := to.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	records := kafkatest.Records(t, b.Addr(), topic)
	if len(records) != before+len(events) {
		t.Fatalf("%d records, %d before", len(records), before)
	}
	records = slices.DeleteFunc(records, func(r *kgo.Record) bool { return len(r.Headers) == 0 }) // ours
	want, got := map[string]string{}, map[string]string{}
	for _, pair := range said.Events {
		want[pair[0].(string)] = fmt.Sprint(pair[1])
	}
	for _, record := range records {
		got[string(record.Key)] = fmt.Sprint(record.Partition)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != len(events) {
		t.Errorf("%d keys (-python +here):\n%s", len(want), diff)
	}
}
