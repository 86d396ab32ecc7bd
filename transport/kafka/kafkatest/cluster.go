// Package kafkatest holds brokers in memory for tests (kfake), and reads what they have, those of a real Kafka too.
package kafkatest

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is some brokers in memory.
type Cluster struct {
	*kfake.Cluster
	tb testing.TB
}

// New starts brokers that end with the test: one, unless an option says otherwise.
func New(tb testing.TB, opts ...kfake.Opt) *Cluster {
	tb.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		tb.Fatalf("starting brokers: %v", err)
	}
	tb.Cleanup(fake.Close)
	return &Cluster{Cluster: fake, tb: tb}
}

// Addr is the addresses of all brokers, with commas between.
func (c *Cluster) Addr() string { return strings.Join(c.ListenAddrs(), ",") }

// Records returns what a topic holds, by partition and in order.
func (c *Cluster) Records(topic string, opts ...kgo.Opt) []*kgo.Record {
	c.tb.Helper()
	return Records(c.tb, c.Addr(), topic, opts...)
}

// patience is how long reading a topic may take.
const patience = time.Minute

// Records returns what a topic of any brokers holds, by partition and in order.
func Records(tb testing.TB, brokers, topic string, opts ...kgo.Opt) []*kgo.Record {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ConsumeTopics(topic), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		tb.Fatalf("reading topic %s: %v", topic, err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil || ends.Error() != nil {
		tb.Fatalf("reading topic %s: %v %v", topic, err, ends.Error())
	}
	want := int64(0)
	ends.Each(func(end kadm.ListedOffset) { want += end.Offset })
	var records []*kgo.Record
	for int64(len(records)) < want {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			tb.Fatalf("reading topic %s: %d of %d records came", topic, len(records), want)
		}
		records = append(records, fetches.Records()...)
	}
	slices.SortFunc(records, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return records
}

// Unused is an address at which nobody listens.
func Unused(tb testing.TB) string {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
