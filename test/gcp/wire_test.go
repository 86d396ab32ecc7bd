package gcp_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// compared is how many events both sides send.
const compared = 20

// python is the interpreter with OpenLineage's client and Google's library.
func python(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(rig.Root(), ".cache", "gcp-venv", "bin", "python")
	if _, err := os.Stat(exe); err != nil {
		rig.Skip(t, "no Google library in .cache/gcp-venv; run make test")
	}
	return exe
}

// events are those of the adapter's own examples that say the most.
func events(t *testing.T) []json.RawMessage {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(rig.Root(), "adapter", "testdata", "golden", "*.out.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []json.RawMessage
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, eventsIn(t, text)...)
	}
	slices.SortStableFunc(all, func(a, b json.RawMessage) int { return len(b) - len(a) })
	if len(all) < compared {
		t.Fatalf("only %d events", len(all))
	}
	return all[:compared]
}

// job is what Python is to do.
type job struct {
	Over     string            `json:"over"` // grpc or rest
	Endpoint string            `json:"endpoint"`
	Config   map[string]any    `json:"config,omitempty"` // nil: that of the environment
	Events   []json.RawMessage `json:"events"`
}

// outcome is what became of it.
type outcome struct {
	Refused string   `json:"refused"` // the client could not be made
	Failed  []string `json:"failed"`  // events were not taken
	Calls   []call   `json:"calls"`   // what a server got, over gRPC
}

// call is one call of ProcessOpenLineageRunEvent.
type call struct {
	Method    string         `json:"method"`
	Parent    string         `json:"parent"`
	RequestID string         `json:"request_id"`
	Event     map[string]any `json:"open_lineage"`
}

// viaPython has events sent by OpenLineage's client and Google's library, in a folder and with an environment.
func viaPython(t *testing.T, j job, dir string, env []string) outcome {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("send.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python(t), script)
	cmd.Stdin, cmd.Stderr, cmd.Dir = bytes.NewReader(text), t.Output(), dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sending by Python: %v", err)
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("reading what was sent by Python: %v in %.200s", err, out)
	}
	return o
}

// sent is viaPython of a configuration that has to work.
func sent(t *testing.T, over, endpoint string, config map[string]any, events []json.RawMessage) []call {
	t.Helper()
	o := viaPython(t, job{over, endpoint, config, events}, ".", nil)
	if o.Refused != "" || len(o.Failed) > 0 {
		t.Fatalf("Python: %s %v", o.Refused, o.Failed)
	}
	return o.Calls
}

// here sends the events by the listener's transport and returns the requests.
func here(t *testing.T, config map[string]any, events []json.RawMessage) []transporttest.Request {
	t.Helper()
	sink := google(t, nil)
	spec := map[string]any{"type": "gcplineage", "endpoint": sink.URL(), "credentials_path": keyFile(t, sink.URL())}
	maps.Copy(spec, config)
	destinations, err := factory.Build(spec, factory.Options{UserAgent: "listener/1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	defer destinations[0].Transport.Close(t.Context())
	for i, body := range events {
		event := transport.Event{Key: uuid.NewSHA1(uuid.NameSpaceURL, []byte{byte(i)}).String(), Body: body}
		if err := destinations[0].Transport.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	return lineageRequests(sink)
}

// lineageRequests are the requests that carried events.
func lineageRequests(sink *transporttest.Sink) []transporttest.Request {
	return slices.DeleteFunc(sink.Requests(), func(r transporttest.Request) bool {
		return !strings.HasSuffix(r.URL.Path, ":processOpenLineageRunEvent")
	})
}

// What Google's library sends over gRPC is, field by field, what the listener posts; the listener's copies have the facet
// gcp_lineage on top. Both name each request; the library does so by chance, so that what it sends twice is taken twice.
func TestSameAsOverGRPC(t *testing.T) {
	t.Parallel()
	all := events(t)
	for _, config := range []map[string]any{
		{"project_id": "demo"},
		{"project_id": "demo", "location": "europe-west1", "async_transport_rules": map[string]any{"dbt": map[string]any{"*": true}}},
	} {
		calls := sent(t, "grpc", "", config, all)
		requests := here(t, merged(config, "unmapped", "asis"), all)
		if len(calls) != compared || len(requests) != compared {
			t.Fatalf("%d calls, %d requests", len(calls), len(requests))
		}
		for i, c := range calls {
			if want := "/v1/" + c.Parent + ":processOpenLineageRunEvent"; requests[i].URL.Path != want {
				t.Errorf("the path is %s, not %s", requests[i].URL.Path, want)
			}
			for who, id := range map[string]string{"python": c.RequestID, "here": requests[i].URL.Query().Get("requestId")} {
				if uuid.Validate(id) != nil {
					t.Errorf("%s: the request id is %q", who, id)
				}
			}
			if diff := cmp.Diff(c.Event, withoutOwn(t, requests[i].Body)); diff != "" {
				t.Errorf("event %d (-python +here):\n%s", i, diff)
			}
		}
	}
}

// sameHeaders are headers that carry meaning; the rest names a program or what its HTTP library can do.
var sameHeaders = []string{"Content-Type"}

// Google's own library can speak REST too. Its requests are the listener's, but for what the table names.
func TestSameAsOverREST(t *testing.T) {
	t.Parallel()
	all := events(t)
	sink := google(t, nil)
	config := map[string]any{"project_id": "demo", "location": "us"}
	sent(t, "rest", sink.URL(), merged(config, "credentials_path", keyFile(t, sink.URL())), all)
	python, requests := lineageRequests(sink), here(t, merged(config, "unmapped", "asis"), all)
	if len(python) != compared || len(requests) != compared {
		t.Fatalf("%d requests by Python, %d here", len(python), len(requests))
	}
	for i := range requests {
		// $alt asks for numbers in place of an answer's enums, of which the listener reads none.
		names := func(r transporttest.Request) []string { return slices.Sorted(maps.Keys(r.URL.Query())) }
		if diff := cmp.Diff([][]string{{"$alt", "requestId"}, {"requestId"}}, [][]string{names(python[i]), names(requests[i])}); diff != "" {
			t.Errorf("what is asked with (-python +here):\n%s", diff)
		}
		for _, name := range sameHeaders {
			if a, b := python[i].Header.Get(name), requests[i].Header.Get(name); a != b {
				t.Errorf("%s is %q by Python and %q here", name, a, b)
			}
		}
		// Python signs its own token, which Google's API takes as well as one that is fetched.
		for who, r := range map[string]transporttest.Request{"python": python[i], "here": requests[i]} {
			if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
				t.Errorf("%s: the authorization is %q", who, r.Header.Get("Authorization"))
			}
		}
		if a, b := python[i].Method+python[i].URL.Path, requests[i].Method+requests[i].URL.Path; a != b {
			t.Errorf("%s by Python, %s here", a, b)
		}
		if diff := cmp.Diff(decoded(t, python[i].Body), withoutOwn(t, requests[i].Body)); diff != "" {
			t.Errorf("event %d (-python +here):\n%s", i, diff)
		}
	}
}
