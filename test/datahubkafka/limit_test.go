package datahubkafka_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// A topic takes less than the emitter sends at once: only the proposals that are larger than that fail.
func TestTheTopicTakesLess(t *testing.T) {
	k := rig.StartKafka(t, "another") // this test makes its topic itself
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Bootstrap))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const limit = "20000"
	made, err := kadm.NewClient(client).CreateTopic(deadline(t), 1, 1, map[string]*string{"max.message.bytes": new(limit)}, kafka.DefaultTopic)
	if err != nil || made.Err != nil {
		t.Fatalf("making the topic: %v %v", err, made.Err)
	}

	const n = 5000
	isLarge := func(i int) bool { return i%700 == 3 }
	o := &outcomes{ran: make([]atomic.Int32, n)}
	e := newEmitter(t, k.Bootstrap, k.Registry, kafka.DefaultTopic, nil)
	for i := range n {
		e.Emit(t.Context(), sized(i, isLarge(i)), o.of(i))
	}
	if err := e.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	large := 0
	for i := range n {
		if ran := o.ran[i].Load(); ran != 1 {
			t.Fatalf("the callback of proposal %d ran %d times", i, ran)
		}
		if isLarge(i) {
			large++
		}
	}
	for _, err := range o.failed {
		if !errors.Is(err, kafka.ErrTooLarge) || !errors.Is(err, kerr.MessageTooLarge) {
			t.Error(err)
		}
	}
	if len(o.failed) != large {
		t.Fatalf("%d failed, not %d: %.2000v", len(o.failed), large, errors.Join(o.failed...))
	}
	readBack(t, k, n, isLarge)
}

// sized is numbered(i), much larger than the topic takes or not.
func sized(i int, isLarge bool) mcp.Proposal {
	p := numbered(i)
	if isLarge {
		p.Aspect = json.RawMessage(strings.Replace(string(p.Aspect), `{}`, `{"a": "`+strings.Repeat("x", 30_000)+`"}`, 1))
	}
	return p
}
