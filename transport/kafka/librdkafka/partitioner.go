package librdkafka

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Partitioner is the rule by which a record's partition follows from its key.
type Partitioner string

// The partitioners that there are. Those that end in random send records without a key anywhere, the others send all of
// them to one partition.
const (
	ConsistentRandom Partitioner = "consistent_random" // CRC-32
	Consistent       Partitioner = "consistent"
	Murmur2Random    Partitioner = "murmur2_random" // as the Java client
	Murmur2          Partitioner = "murmur2"
	FNV1aRandom      Partitioner = "fnv1a_random" // as Sarama
	FNV1a            Partitioner = "fnv1a"
	Random           Partitioner = "random"
)

// partitioners are all, the default first.
var partitioners = []Partitioner{ConsistentRandom, Consistent, Murmur2Random, Murmur2, FNV1aRandom, FNV1a, Random}

// Pick returns the partition, of n, of a record with a key. False: any will do. A nil key is none; an empty one is one,
// but for ConsistentRandom, as in librdkafka.
func (p Partitioner) Pick(key []byte, n int) (int, bool) {
	switch p {
	case Random:
		return 0, false
	case ConsistentRandom:
		if len(key) == 0 {
			return 0, false
		}
	case Murmur2Random, FNV1aRandom:
		if key == nil {
			return 0, false
		}
	case Consistent, Murmur2, FNV1a:
	}
	return int(p.hash(key) % uint32(n)), true
}

func (p Partitioner) hash(key []byte) uint32 {
	switch p {
	case Murmur2, Murmur2Random:
		return murmur2(key) & 0x7fffffff
	case FNV1a, FNV1aRandom:
		return fnv1a(key)
	default:
		return crc32.ChecksumIEEE(key)
	}
}

// murmur2 is MurmurHash2 with Kafka's seed.
func murmur2(key []byte) uint32 {
	const (
		seed  = 0x9747b28c
		mix   = 0x5bd1e995
		shift = 24
	)
	h := seed ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := binary.LittleEndian.Uint32(key) * mix
		k ^= k >> shift
		h = h*mix ^ k*mix
	}
	if len(key) > 0 {
		var rest [4]byte
		copy(rest[:], key)
		h = (h ^ binary.LittleEndian.Uint32(rest[:])) * mix
	}
	h = (h ^ h>>13) * mix
	return h ^ h>>15
}

// fnv1a is the 32-bit FNV-1a, of which librdkafka takes the absolute value as a signed number, as Sarama does.
func fnv1a(key []byte) uint32 {
	h := uint32(0x811c9dc5)
	for _, b := range key {
		h = (h ^ uint32(b)) * 0x01000193
	}
	if int32(h) < 0 {
		return -h
	}
	return h
}

// ForTopic makes a Partitioner one of the client's.
func (p Partitioner) ForTopic(string) kgo.TopicPartitioner { return topicPartitioner{p} }

type topicPartitioner struct{ rule Partitioner }

// RequiresConsistency says that a record waits for its own partition rather than going to another. Only records that
// may go anywhere do so.
func (t topicPartitioner) RequiresConsistency(record *kgo.Record) bool {
	_, fixed := t.rule.Pick(record.Key, 1)
	return fixed
}

// Partition returns a record's partition.
func (t topicPartitioner) Partition(record *kgo.Record, n int) int {
	if partition, fixed := t.rule.Pick(record.Key, n); fixed {
		return partition
	}
	return rand.IntN(n) //nolint:gosec // nothing depends on it that nobody may guess
}
