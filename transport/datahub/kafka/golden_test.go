package kafka_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/kafka"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// recordings is what DataHub's Python emitter sent to a registry and a broker. It is kept beside the checkout.
type recordings struct {
	SchemaSHA256 string `json:"schema_file_sha256"`
	SchemaBytes  int    `json:"schema_file_bytes"`
	Requests     []struct {
		Method       string
		Path         string
		Headers      [][2]string
		BodyKeys     []string `json:"body_keys"`
		SchemaSHA256 string   `json:"body_schema_sha256"`
		SchemaType   string   `json:"body_schemaType"`
	} `json:"registry_requests"`
	Messages []recorded
}

type recorded struct {
	Case, Topic string
	Partition   int32
	KeyHex      string `json:"key_hex"`
	ValueHex    string `json:"value_hex"`
	Headers     any
	Decoded     struct {
		EntityType string
		EntityURN  string `json:"entityUrn"`
		ChangeType mcp.ChangeType
		AspectName string
		Aspect     struct {
			Value struct {
				Text string `json:"$bytes_utf8"`
			}
			ContentType string
		}
		SystemMetadata *mcp.SystemMetadata
		Headers        map[string]string
	}
}

func (r recorded) proposal() mcp.Proposal {
	d := r.Decoded
	return mcp.Proposal{
		EntityType: d.EntityType, EntityURN: d.EntityURN, ChangeType: d.ChangeType, AspectName: d.AspectName,
		Aspect: json.RawMessage(d.Aspect.Value.Text), ContentType: d.Aspect.ContentType,
		SystemMetadata: d.SystemMetadata, Headers: d.Headers,
	}
}

// readRecordings skips the test where the recordings are missing, and fails it in CI.
func readRecordings(t *testing.T) recordings {
	t.Helper()
	const path = "../../../../shared/datahub-golden/kafka-mcp.json"
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") != "" {
			t.Fatal("CI must not skip: the recordings of DataHub's Kafka emitter are missing: " + path)
		}
		t.Skip("the recordings of DataHub's Kafka emitter are not here: " + path)
	}
	if err != nil {
		t.Fatal(err)
	}
	var r recordings
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Messages) == 0 || len(r.Requests) == 0 {
		t.Fatal("the recordings hold nothing")
	}
	return r
}

// Messages that are not the recorded bytes, and why. Maps have no order in Avro; theirs is that of Python's dictionary,
// which for all recorded ones is the sorted one.
var byteDeviations = map[string]string{}

func TestRecordedMessages(t *testing.T) {
	t.Parallel()
	r := readRecordings(t)
	broker, answers := newBroker(t), newRegistry(t)
	e := newEmitter(t, connection(addr(broker), answers.URL))
	outcomes := newTally()
	for i, m := range r.Messages {
		e.Emit(t.Context(), m.proposal(), outcomes.of(i))
	}
	flush(t, e)
	for i, err := range outcomes.outcomes(t, len(r.Messages)) {
		if err != nil {
			t.Errorf("%s: %v", r.Messages[i].Case, err)
		}
	}
	used := map[string]bool{}
	for i, got := range written(t, addr(broker), len(r.Messages)) {
		want := r.Messages[i]
		if got.Topic != want.Topic || hex.EncodeToString(got.Key) != want.KeyHex || got.Partition != want.Partition {
			t.Errorf("%s: topic %s, partition %d, key %s", want.Case, got.Topic, got.Partition, got.Key)
		}
		if len(got.Headers) > 0 || want.Headers != nil {
			t.Errorf("%s: headers %v, recorded %v", want.Case, got.Headers, want.Headers)
		}
		value, err := hex.DecodeString(want.ValueHex)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(got.Value, value) {
			continue
		}
		if diff := cmp.Diff(decode(t, value), decode(t, got.Value)); diff != "" {
			t.Errorf("%s: %s", want.Case, diff)
		}
		if byteDeviations[want.Case] == "" {
			t.Errorf("%s: other bytes\n got %x\nwant %x", want.Case, got.Value, value)
		}
		used[want.Case] = true
	}
	for name := range byteDeviations {
		if !used[name] {
			t.Errorf("the deviation of %s is listed and was not seen", name)
		}
	}
}

func TestSchemaIsTheRecordedOne(t *testing.T) {
	t.Parallel()
	r := readRecordings(t)
	sum := sha256.Sum256([]byte(kafka.Schema))
	if got := hex.EncodeToString(sum[:]); got != r.SchemaSHA256 || len(kafka.Schema) != r.SchemaBytes {
		t.Errorf("%d bytes, SHA-256 %s; recorded %d, %s", len(kafka.Schema), got, r.SchemaBytes, r.SchemaSHA256)
	}
}

// What the recorded client asks of a registry beyond what this emitter asks, and why this one does not.
var requestDeviations = map[string]string{
	"GET /associations": "Confluent's client asks for an association of the topic with a subject first, which needs the " +
		"cluster's id, so a broker, before it can encode anything; DataHub's topics have none, and TopicNameStrategy holds",
}

// Headers that differ from the recorded ones, and why.
var headerDeviations = map[string]string{
	"User-Agent":                          "names another program",
	"Confluent-Client-Version":            "names a version of Confluent's Python client",
	"Confluent-Accept-Unknown-Properties": "a wish of that client about answers, of which only the id is read",
	"Accept":                              "the answer is wanted as JSON; that client says */*",
	"Accept-Encoding":                     "net/http takes gzip alone",
	"Connection":                          "keep-alive is HTTP/1.1's default",
	"Host":                                "net/http takes it out of the headers",
}

func TestRecordedRegistryRequests(t *testing.T) {
	t.Parallel()
	r := readRecordings(t)
	answers := newRegistry(t)
	e := newEmitter(t, connection(addr(newBroker(t)), answers.URL))
	for _, err := range e.EmitAll(t.Context(), []mcp.Proposal{proposal(0), proposal(1)}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	flush(t, e)
	got, used := answers.requests(), map[string]bool{}
	for _, want := range r.Requests {
		if len(got) == 0 || got[0].target != want.Path {
			key := want.Method + " " + want.Path[:min(len(want.Path), len("/associations"))]
			if used[key] = true; requestDeviations[key] == "" {
				t.Errorf("not asked: %s %s", want.Method, want.Path)
			}
			continue
		}
		one := got[0]
		got = got[1:]
		if one.method != want.Method {
			t.Errorf("%s: the method is %s", want.Path, one.method)
		}
		if diff := cmp.Diff(want.BodyKeys, slices.Sorted(maps.Keys(one.body))); diff != "" {
			t.Error(diff)
		}
		schema, _ := one.body["schema"].(string)
		sum := sha256.Sum256([]byte(schema))
		if hex.EncodeToString(sum[:]) != want.SchemaSHA256 || one.body["schemaType"] != want.SchemaType {
			t.Errorf("another schema is registered: %s %x", one.body["schemaType"], sum)
		}
		compareHeaders(t, want.Headers, one.header, used)
	}
	if len(got) > 0 {
		t.Errorf("asked beyond what was recorded: %v", got)
	}
	for name := range maps.Keys(headerDeviations) {
		if !used[name] {
			t.Errorf("the deviation of header %s is listed and was not seen", name)
		}
	}
	for name := range requestDeviations {
		if !used[name] {
			t.Errorf("the deviation %s is listed and was not seen", name)
		}
	}
}

func compareHeaders(t *testing.T, want [][2]string, got http.Header, used map[string]bool) {
	t.Helper()
	for _, header := range want {
		if got.Get(header[0]) == header[1] {
			continue
		}
		if used[header[0]] = true; headerDeviations[header[0]] == "" {
			t.Errorf("header %s: %q, recorded %q", header[0], got.Get(header[0]), header[1])
		}
	}
}
