package kafka_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is how long what should happen at once may take on a busy machine.
const soon = 20 * time.Second

// newEmitter returns an emitter of settings, which is closed with the test.
func newEmitter(tb testing.TB, values map[string]any) *kafka.Emitter {
	tb.Helper()
	config, _, err := kafka.NewConfig(values)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := kafka.New(config, kafka.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Close(ctx)
	})
	return e
}

// connection returns settings for a broker and a registry, with some properties of the producer.
func connection(broker, registry string, producer ...map[string]any) map[string]any {
	properties := map[string]any{"linger.ms": 0, "retry.backoff.ms": 10, "retry.backoff.max.ms": 50}
	for _, p := range producer {
		maps.Copy(properties, p)
	}
	return map[string]any{"connection": map[string]any{
		"bootstrap": broker, "schema_registry_url": registry, "producer_config": properties,
	}}
}

// newBroker starts a broker in this process that has the topic, at an address or anywhere.
func newBroker(tb testing.TB, options ...kfake.Opt) *kfake.Cluster {
	tb.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(1, kafka.DefaultTopic)}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cluster.Close)
	return cluster
}

func addr(c *kfake.Cluster) string { return c.ListenAddrs()[0] }

// freePort returns a port that nobody uses.
func freePort(tb testing.TB) int {
	tb.Helper()
	var config net.ListenConfig
	l, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// registry is a schema registry that answers as it is told and keeps what it was asked.
type registry struct {
	URL string

	mu     sync.Mutex
	status int
	body   string
	asked  []asked
}

type asked struct {
	method, target string
	header         http.Header
	body           map[string]any
}

// newRegistry starts a registry that knows the schema as id 42, at an address or anywhere.
func newRegistry(tb testing.TB, at ...string) *registry {
	tb.Helper()
	r := &registry{status: http.StatusOK, body: `{"id": 42}`}
	server := httptest.NewUnstartedServer(r)
	for _, address := range at {
		var config net.ListenConfig
		l, err := config.Listen(tb.Context(), "tcp", address)
		if err != nil {
			tb.Fatal(err)
		}
		server.Listener.Close()
		server.Listener = l
	}
	server.Start()
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

func (r *registry) answer(status int, body string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.body = status, body
}

func (r *registry) requests() []asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

func (r *registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(request.Body).Decode(&body) // the test that cares looks at it
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, asked{request.Method, request.RequestURI, request.Header, body})
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.WriteHeader(r.status)
	fmt.Fprint(w, r.body)
}

// proposal makes the i-th of many.
func proposal(i int) mcp.Proposal {
	return mcp.Proposal{
		EntityType: "dataset", EntityURN: fmt.Sprintf("urn:li:dataset:(urn:li:dataPlatform:hive,db.t%d,PROD)", i%7),
		ChangeType: mcp.ChangeUpsert, AspectName: "status", Aspect: fmt.Appendf(nil, `{"removed": false, "n": %d}`, i),
	}
}

// tally counts outcomes.
type tally struct {
	mu  sync.Mutex
	got map[int][]error
}

func newTally() *tally { return &tally{got: map[int][]error{}} }

func (t *tally) of(i int) kafka.Callback {
	return func(_ kafka.Delivery, err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.got[i] = append(t.got[i], err)
	}
}

// outcomes returns the outcome of each of n proposals and fails when one has none or several.
func (t *tally) outcomes(tb testing.TB, n int) []error {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	errs := make([]error, n)
	for i := range n {
		if len(t.got[i]) != 1 {
			tb.Fatalf("the callback of proposal %d ran %d times", i, len(t.got[i]))
		}
		errs[i] = t.got[i][0]
	}
	if len(t.got) != n {
		tb.Fatalf("%d proposals had an outcome, not %d", len(t.got), n)
	}
	return errs
}

func (t *tally) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.got)
}

// flush waits for all outcomes.
func flush(tb testing.TB, e *kafka.Emitter) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), soon)
	defer cancel()
	if err := e.Flush(ctx); err != nil {
		tb.Fatal(err)
	}
}

// written reads n records of the topic.
func written(tb testing.TB, broker string, n int) []*kgo.Record {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(kafka.DefaultTopic))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), soon)
	defer cancel()
	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			tb.Fatalf("%d records are in the topic, not %d", len(records), n)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// eventually waits for something that happens elsewhere.
func eventually(tb testing.TB, what string, yes func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(soon); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %s", soon, what)
		}
	}
}
