package datahubkafka_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

func itoa(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, answer.Status, err)
	}
}

// samples are proposals that use all that the schema has.
func samples() []mcp.Proposal {
	const table = "urn:li:dataset:(urn:li:dataPlatform:postgres,db.public.tablé😀%28x%2Cy%29,PROD)"
	version := int64(3)
	of := func(change mcp.ChangeType, change2 func(*mcp.Proposal)) mcp.Proposal {
		p := mcp.Proposal{
			EntityType: "dataset", EntityURN: table, ChangeType: change, AspectName: "datasetProperties",
			Aspect: json.RawMessage(`{"description": "naïve 😀 \"q\" </b> \u2028", "customProperties": {"a": "1"}, "tags": []}`),
		}
		change2(&p)
		return p
	}
	nothing := func(*mcp.Proposal) {}
	all := []mcp.Proposal{
		of(mcp.ChangeUpsert, nothing), of(mcp.ChangeCreate, nothing), of(mcp.ChangeUpdate, nothing),
		of(mcp.ChangeRestate, nothing), of(mcp.ChangeCreateEntity, nothing),
		of(mcp.ChangePatch, func(p *mcp.Proposal) { p.Aspect = json.RawMessage(`[{"op": "add", "path": "/tags/x", "value": {}}]`) }),
		of(mcp.ChangeDelete, func(p *mcp.Proposal) { p.Aspect, p.AspectName = nil, "datasetKey" }),
		of(mcp.ChangeDelete, func(p *mcp.Proposal) { p.Aspect, p.AspectName = nil, "" }),
		of(mcp.ChangeUpsert, func(p *mcp.Proposal) { p.Headers = map[string]string{"X-DataHub-Sync-Index-Update": "true"} }),
		of(mcp.ChangeUpsert, func(p *mcp.Proposal) {
			p.SystemMetadata = &mcp.SystemMetadata{
				LastObserved: 1700000000000, RunID: "run", LastRunID: "last", PipelineName: "p", RegistryName: "n",
				RegistryVersion: "v", Properties: map[string]string{"clientId": "a", "clientVersion": "1"}, Version: "2",
				SchemaVersion: &version, AspectCreated: &mcp.AuditStamp{Time: 1, Actor: "urn:li:corpuser:datahub", Message: "m"},
				AspectModified: &mcp.AuditStamp{Time: 2, Actor: "urn:li:corpuser:datahub", Impersonator: "urn:li:corpuser:x"},
			}
		}),
		of(mcp.ChangeUpsert, func(p *mcp.Proposal) { p.SystemMetadata = &mcp.SystemMetadata{} }),
		of(mcp.ChangeUpsert, func(p *mcp.Proposal) {
			p.Aspect = json.RawMessage(`{"description": "` + strings.Repeat("x", 900_000) + `"}`)
		}),
	}
	return all
}

// Both emitters, on one registry and one broker, write the same keys and bytes; DataHub's own classes read them.
func TestTheSameBytesAsPython(t *testing.T) {
	rig.DatahubPython(t)
	k := rig.StartKafka(t, "python", "go")
	limit := map[string]any{"compression.type": "zstd"}
	var lines bytes.Buffer
	for _, p := range samples() {
		if err := json.NewEncoder(&lines).Encode(lineOf(p)); err != nil {
			t.Fatal(err)
		}
	}
	const topic = "python"
	python(t, lines.Bytes(), "emit.py", k.Bootstrap, k.Registry, topic)
	for i, err := range newEmitter(t, k.Bootstrap, k.Registry, topic, limit).EmitAll(t.Context(), samples()) {
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
	}
	n := len(samples())
	got := records(t, k.Bootstrap, topic, 2*n)
	if len(got) != 2*n {
		t.Fatalf("%d records, not %d", len(got), 2*n)
	}
	for i := range n {
		theirs, ours := got[i], got[n+i]
		if !bytes.Equal(theirs.Key, ours.Key) || !bytes.Equal(theirs.Value, ours.Value) {
			t.Errorf("sample %d:\ntheirs %s %.300x\n  ours %s %.300x", i, theirs.Key, theirs.Value, ours.Key, ours.Value)
		}
	}

	for i, l := range decodeLines(t, python(t, nil, "read.py", k.Bootstrap, topic, strconv.Itoa(2*n))) {
		want := lineOf(samples()[i%n])
		if want.SystemMetadata != nil && want.SystemMetadata.RunID == "" {
			want.SystemMetadata.RunID, want.SystemMetadata.LastRunID = mcp.DefaultRunID, mcp.DefaultRunID
		}
		want.Key = want.EntityURN
		if diff := cmp.Diff(want, l); diff != "" {
			t.Errorf("record %d as DataHub reads it: %.1000s", i, diff)
		}
	}
}

// outcomes counts what callbacks hear.
type outcomes struct {
	ran       []atomic.Int32
	delivered atomic.Int32
	mu        sync.Mutex
	failed    []error
}

func (o *outcomes) of(i int) kafka.Callback {
	return func(_ kafka.Delivery, err error) {
		o.ran[i].Add(1)
		if err == nil {
			o.delivered.Add(1)
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.failed = append(o.failed, fmt.Errorf("proposal %d: %w", i, err))
	}
}

func numbered(i int) mcp.Proposal {
	return mcp.Proposal{
		EntityType: "dataset", EntityURN: fmt.Sprintf("urn:li:dataset:(urn:li:dataPlatform:hive,db.t%d,PROD)", i%97),
		ChangeType: mcp.ChangeUpsert, AspectName: "datasetProperties",
		Aspect: fmt.Appendf(nil, `{"description": "%d", "customProperties": {}, "tags": []}`, i),
	}
}

// Broker and registry are away at the start; then the broker is killed and comes back, then the registry goes away. None
// of 10,000 proposals is lost, and each callback runs once.
func TestNothingIsLost(t *testing.T) {
	k := rig.StartKafka(t, kafka.DefaultTopic)
	host, path := k.RegistryHost()
	gate := rig.NewGate(t, host)
	registry := "http://" + gate.Addr() + path
	gate.Shut()
	k.KillBroker()

	const n = 10_000
	o := &outcomes{ran: make([]atomic.Int32, n)}
	e := newEmitter(t, k.Bootstrap, registry, kafka.DefaultTopic, nil)
	next := 0
	emit := func(e *kafka.Emitter, upTo int) {
		for ; next < upTo; next++ {
			e.Emit(t.Context(), numbered(next), o.of(next))
		}
	}
	begun := time.Now()
	emit(e, 2500)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("emitting without servers took %s", took)
	}
	time.Sleep(time.Second)
	if got := o.delivered.Load(); got != 0 {
		t.Fatalf("%d were delivered to nobody", got)
	}
	k.StartBroker()
	gate.Open()
	rig.Eventually(t, patience, "what was emitted without servers is delivered", func() bool { return o.delivered.Load() == 2500 })

	emit(e, 4000)
	k.KillBroker()
	emit(e, 7000)
	gate.Shut()
	k.StartBroker()
	emit(e, 8000)
	late := newEmitter(t, k.Bootstrap, registry, kafka.DefaultTopic, nil) // knows no id, and there is nobody to ask
	emit(late, n)
	rig.Eventually(t, patience, "who knows the id goes on without the registry", func() bool { return o.delivered.Load() >= 8000 })
	gate.Open()
	for _, one := range []*kafka.Emitter{e, late} {
		if err := one.Flush(deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(o.failed...); err != nil {
		t.Fatalf("%d failed: %.2000v", len(o.failed), err)
	}
	for i := range o.ran {
		if ran := o.ran[i].Load(); ran != 1 {
			t.Fatalf("the callback of proposal %d ran %d times", i, ran)
		}
	}
	readBack(t, k, n, func(int) bool { return false })
}

// readBack checks that each of n proposals but the refused ones is in the topic, readable, those of an entity in the order
// of their Emit.
func readBack(t *testing.T, k *rig.Kafka, n int, refused func(i int) bool) {
	t.Helper()
	schemas := map[uint32]*avro.Schema{}
	seen, last := make([]int, n), map[string]int{}
	want := 0
	for i := range n {
		if !refused(i) {
			want++
		}
	}
	for _, r := range records(t, k.Bootstrap, kafka.DefaultTopic, want) {
		id := binary.BigEndian.Uint32(r.Value[1:5])
		if schemas[id] == nil {
			schemas[id] = schemaOf(t, k.Registry, id)
		}
		var p map[string]any
		if _, err := schemas[id].Decode(r.Value[5:], &p); err != nil {
			t.Fatal(err)
		}
		aspect, _ := p["aspect"].(map[string]any)
		text, _ := aspect["value"].([]byte)
		var properties struct{ Description string }
		if err := json.Unmarshal(text, &properties); err != nil {
			t.Fatal(err)
		}
		i, err := strconv.Atoi(properties.Description)
		if err != nil || i < 0 || i >= n || p["entityUrn"] != string(r.Key) || string(r.Key) != numbered(i).EntityURN {
			t.Fatalf("%s: %s", r.Key, text)
		}
		if seen[i]++; seen[i] > 1 {
			continue // a copy is allowed
		}
		if before, ok := last[string(r.Key)]; ok && before > i {
			t.Errorf("%s: proposal %d came behind %d", r.Key, i, before)
		}
		last[string(r.Key)] = i
	}
	copies := 0
	for i, count := range seen {
		switch {
		case refused(i) && count > 0:
			t.Fatalf("proposal %d was refused and is in the topic", i)
		case refused(i):
		case count == 0:
			t.Fatalf("proposal %d is lost", i)
		default:
			copies += count - 1
		}
	}
	t.Logf("%d proposals, %d copies, %d schema ids", n, copies, len(schemas))
}
