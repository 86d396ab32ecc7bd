package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
)

// emitKafkaCommand makes this program DataHub's Kafka client of the measurement, as emitCommand does for REST.
const emitKafkaCommand = "datahub-kafka-emit"

// datahubKafka measures how fast proposals reach a real broker, beside DataHub's own Python emitter with the same
// proposals, broker and schema registry, both with the settings that they have by themselves. The clock runs from the
// first Emit to the end of the flush; making the aspects' JSON is part of it on both sides, connecting is not.
func (b *bench) datahubKafka() {
	n := 20_000
	if b.options.quick {
		n = 2000
	}
	python := b.datahubPython()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	const topic = "measured"
	k := rig.StartKafka(b, topic)
	script := filepath.Join(rig.Root(), "test", "bench", "datahub_emit_kafka.py")
	file := b.writeProposals(n)
	var ours, theirs []spent
	written := 0
	send := func(name, first string) spent {
		cmd := exec.CommandContext(b.Context(), name, first, k.Bootstrap, k.Registry, topic, file) //nolint:gosec // the programs to be measured
		s := b.spend(cmd)
		written += n + 1
		if got := b.endOf(k.Bootstrap, topic); got != written {
			b.Fatalf("%s: the topic has %d proposals, not %d", filepath.Base(name), got, written)
		}
		return s
	}
	for range min(b.options.pairs, sendingRounds) {
		theirs = append(theirs, send(python, script))
		ours = append(ours, send(self, emitKafkaCommand))
	}
	seconds := func(s spent) float64 { return s.Seconds }
	cpu := func(s spent) float64 { return s.CPU * 1000 / float64(n) }
	first := func(s spent) float64 { return s.First }
	const other = "Python's emit and flush"
	b.compareRates("Emit and Flush", float64(n)/middle(ours, seconds), "/s", other, float64(n)/middle(theirs, seconds), timesBare(0.1))
	b.compare("CPU time per 1000 proposals", middle(ours, cpu), "s", other, middle(theirs, cpu), none)
	b.compare("the first proposal, with connecting", middle(ours, first), "s", other, middle(theirs, first), none)
}

// endOf returns how many records a topic of one partition has.
func (b *bench) endOf(bootstrap, topic string) int {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	asked, partition := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	asked.Topic, partition.Timestamp = topic, -1
	asked.Partitions = append(asked.Partitions, partition)
	request.Topics = append(request.Topics, asked)
	answer, err := request.RequestWith(b.Context(), client)
	if err != nil || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		b.Fatalf("asking for the end of %s: %v", topic, err)
	}
	return int(answer.Topics[0].Partitions[0].Offset)
}

// emitDataHubKafka is the client: it reads all proposals, sends one and then all, and says how long that took.
func emitDataHubKafka(ctx context.Context, out io.Writer, args []string) error {
	if len(args) != 4 {
		return errors.New("takes a broker, a registry, a topic and a file")
	}
	all, err := readDescribed(args[3])
	if err != nil {
		return err
	}
	config, _, err := kafka.NewConfig(map[string]any{
		"connection":   map[string]any{"bootstrap": args[0], "schema_registry_url": args[1]},
		"topic_routes": map[string]any{"MetadataChangeProposal": args[2]},
	})
	if err != nil {
		return err
	}
	emitter, err := kafka.New(config, kafka.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = emitter.Close(ctx) }() // flushed or failed by then
	var failed atomic.Pointer[error]
	send := func(some []described) (time.Duration, time.Duration, error) {
		began, worked := time.Now(), processorTime()
		for _, d := range some {
			p, err := d.proposal()
			if err != nil {
				return 0, 0, err
			}
			emitter.Emit(ctx, p, func(_ kafka.Delivery, err error) {
				if err != nil {
					failed.Store(&err)
				}
			})
		}
		err := emitter.Flush(ctx)
		if one := failed.Load(); one != nil {
			err = fmt.Errorf("a proposal was not delivered: %w", *one)
		}
		return time.Since(began), processorTime() - worked, err
	}
	first, _, err := send(all[:1])
	if err != nil {
		return err
	}
	took, worked, err := send(all)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(spent{First: first.Seconds(), Seconds: took.Seconds(), CPU: worked.Seconds()})
}
