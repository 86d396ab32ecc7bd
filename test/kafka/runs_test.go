package kafka_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/kafka/kafkatest"
)

// told is what of a record's value tells which event it is.
type told struct {
	EventType string `json:"eventType"`
	EventTime string `json:"eventTime"`
	Run       struct {
		RunID string `json:"runId"`
	} `json:"run"`
}

// A thousand runs are told of while the broker is killed and comes back, twice: nothing is lost, each run is on one
// partition and in order, and the copies are true copies.
func TestAThousandRunsOverRestarts(t *testing.T) {
	b := start(t)
	const runs = 1000
	server := prefecttest.NewTCP(t)
	end := time.Now().Add(-time.Minute).Truncate(time.Second)
	for i := range runs {
		flow := server.AddFlow(fmt.Sprintf("flow-%d", i%100))
		from := end.Add(-time.Duration(i) * time.Second)
		server.AddFlowRun(prefect.FlowRun{
			FlowID: flow.ID, RunCount: 1, StartTime: &from, EndTime: &end,
			State: &prefect.State{Type: prefect.Completed, Name: "Completed", Timestamp: end},
		})
	}
	const topic = "runs"
	listener := rig.NewListener(t, server.URL, "OPENLINEAGE__TRANSPORT__TYPE=kafka", "OPENLINEAGE__TRANSPORT__TOPIC="+topic,
		"OPENLINEAGE__TRANSPORT__CONFIG__BOOTSTRAP__SERVERS="+b.address())
	var wg sync.WaitGroup
	stop := make(chan struct{})
	killed := 0
	wg.Go(func() {
		for range 2 {
			// Some events are there before it dies, and others are under way.
			had := len(kafkatest.Records(t, b.address(), topic))
			for len(kafkatest.Records(t, b.address(), topic)) < had+100 {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
			b.down()
			killed++
			time.Sleep(2 * time.Second)
			b.up(t)
		}
	})
	code, _, stderr := listener.Run("backfill", "--since", "2h")
	close(stop)
	wg.Wait()
	if killed == 0 {
		t.Error("all was delivered before the broker could be killed")
	}
	if code != 0 {
		t.Fatalf("backfill ended with %d: %s", code, stderr)
	}
	copies := judge(t, b, topic, runs)
	t.Logf("the broker was killed %d times; %d copies", killed, copies)
}

// judge reads a topic back and returns how many records are copies.
func judge(t *testing.T, b *broker, topic string, runs int) (copies int) {
	t.Helper()
	partition, seen, order := map[string]int32{}, map[string]string{}, map[string][]string{}
	keys := map[string]int32{}
	for _, record := range kafkatest.Records(t, b.address(), topic) {
		var event told
		if err := json.Unmarshal(record.Value, &event); err != nil {
			t.Fatal(err)
		}
		id := event.Run.RunID
		if on, ok := partition[id]; ok && on != record.Partition {
			t.Errorf("run %s is on partitions %d and %d", id, on, record.Partition)
		}
		partition[id] = record.Partition
		if on, ok := keys[string(record.Key)]; ok && on != record.Partition {
			t.Errorf("key %s is on partitions %d and %d", record.Key, on, record.Partition)
		}
		keys[string(record.Key)] = record.Partition
		name := id + " " + event.EventType + " " + event.EventTime
		if before, ok := seen[name]; ok {
			copies++
			if before != string(record.Value) {
				t.Errorf("the copies of %s differ", name)
			}
			continue
		}
		seen[name] = string(record.Value)
		order[id] = append(order[id], event.EventType)
	}
	if len(order) != runs {
		t.Errorf("%d runs arrived, not %d", len(order), runs)
	}
	for id, types := range order {
		if got := strings.Join(types, " "); got != "START COMPLETE" {
			t.Errorf("run %s: %s", id, got)
		}
	}
	return copies
}
