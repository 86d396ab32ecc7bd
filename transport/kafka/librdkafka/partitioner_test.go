package librdkafka_test

import (
	"encoding/json"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/transport/kafka/librdkafka"
)

// The hashes are those that librdkafka's own tests, and Java's and Sarama's, hold for these keys. A modulus that is
// larger than any hash shows the hash itself.
func TestHashes(t *testing.T) {
	t.Parallel()
	const all = 1<<32 - 1
	for _, test := range []struct {
		key             string
		murmur2, fnv, c uint32
	}{
		{"", 0x106e08d9, 0x7ee3623b, 0},
		{"kafka", 0x5067cf64, 0xd33c4e1, 0},
		{"giberish123456789", 0x0f552b0c, 0x77a58295, 0},
		{"1234", 0x1fc97b14, 0x23bdd03, 0x9be3e0a3},
		{"234", 0x67c009ca, 0x2dea3cd2, 0},
		{"34", 0x073930da, 0x740fa83e, 0},
		{"4", 0x5a4b5ca1, 0x310ca263, 0xf3b61b38},
	} {
		for rule, want := range map[librdkafka.Partitioner]uint32{
			librdkafka.Murmur2: test.murmur2, librdkafka.FNV1a: test.fnv, librdkafka.Consistent: test.c,
		} {
			if want == 0 && test.key != "" {
				continue
			}
			if got, fixed := rule.Pick([]byte(test.key), all); !fixed || uint32(got) != want {
				t.Errorf("%s of %q: %#x, want %#x", rule, test.key, got, want)
			}
		}
	}
}

func TestRecordsWithoutAKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule       librdkafka.Partitioner
		none, zero bool // whether the partition is fixed
	}{
		{librdkafka.ConsistentRandom, false, false}, {librdkafka.Consistent, true, true},
		{librdkafka.Murmur2Random, false, true}, {librdkafka.Murmur2, true, true},
		{librdkafka.FNV1aRandom, false, true}, {librdkafka.FNV1a, true, true}, {librdkafka.Random, false, false},
	} {
		topic := test.rule.ForTopic("t")
		for key, want := range map[*kgo.Record]bool{{}: test.none, {Key: []byte{}}: test.zero, {Key: []byte("k")}: test.rule != librdkafka.Random} {
			if got := topic.RequiresConsistency(key); got != want {
				t.Errorf("%s with key %q: %v", test.rule, key.Key, got)
			}
		}
		seen := map[int]bool{}
		for range 200 {
			n := topic.Partition(&kgo.Record{}, 4)
			if n < 0 || n > 3 {
				t.Fatalf("partition %d of 4", n)
			}
			seen[n] = true
		}
		if spread := len(seen) > 1; spread == test.none {
			t.Errorf("%s sends records without a key to %d partitions", test.rule, len(seen))
		}
	}
}

// The partitions are those of librdkafka itself, which test/kafka asks and writes down with -update.
func TestLibrdkafkasPartitions(t *testing.T) {
	t.Parallel()
	var golden struct {
		Partitions int
		Keys       map[librdkafka.Partitioner]map[string]int
	}
	if err := json.Unmarshal([]byte(read(t, "partitions.json")), &golden); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for rule, keys := range golden.Keys {
		for key, want := range keys {
			tried++
			if got, _ := rule.Pick([]byte(key), golden.Partitions); got != want {
				t.Errorf("%s of %.40q: partition %d, librdkafka says %d", rule, key, got, want)
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d were tried", tried)
	}
}
