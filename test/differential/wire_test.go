package differential_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// onTheWire is how many events go over the wire in these tests.
const onTheWire = 20

// wireEvents are the first events of the adapter's golden files, of several runs with all sorts of facets and datasets.
func wireEvents(t *testing.T) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	for _, name := range []string{"all-kinds", "every-dataset-key", "three-levels", "failures"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "adapter", "testdata", "golden", name+".out.json"))
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			Events []json.RawMessage `json:"events"`
		}
		if err := json.Unmarshal(text, &golden); err != nil {
			t.Fatal(err)
		}
		all = append(all, golden.Events...)
	}
	if len(all) < onTheWire {
		t.Fatalf("only %d events", len(all))
	}
	return all[:onTheWire]
}

// emitHere sends events by a transport of a configuration, as the outbox would, one after the other.
func emitHere(t *testing.T, spec map[string]any, env map[string]string, events []json.RawMessage) {
	t.Helper()
	destinations, err := factory.Build(spec, factory.Options{Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	defer destinations[0].Transport.Close(t.Context())
	for _, body := range events {
		var of struct {
			Type string    `json:"eventType"`
			Time time.Time `json:"eventTime"`
			Run  struct {
				ID string `json:"runId"`
			} `json:"run"`
			Job struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"job"`
		}
		if err := json.Unmarshal(body, &of); err != nil {
			t.Fatal(err)
		}
		event := transport.Event{
			Key: of.Run.ID + "." + of.Type + "." + of.Time.Format("20060102T150405.000000Z"), RunID: of.Run.ID, Type: of.Type,
			Namespace: of.Job.Namespace, Name: of.Job.Name, Time: of.Time, Body: body,
		}
		if err := destinations[0].Transport.Emit(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
}

// sameOnTheWire gives the same events to both sides and compares each request. It returns both sides' requests.
func sameOnTheWire(t *testing.T, p *python, spec map[string]any, address string, env map[string]string, script transporttest.Script) (python, here []transporttest.Request) {
	t.Helper()
	events := wireEvents(t)
	sinks := [2]*transporttest.Sink{transporttest.NewSink(t), transporttest.NewSink(t)}
	var configured [2]map[string]any
	for i, sink := range sinks {
		sink.Script(script)
		configured[i] = map[string]any{address: sink.URL()}
		maps.Copy(configured[i], spec)
	}
	text, err := json.Marshal(configured[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	forPython := map[string]string{"PATH": os.Getenv("PATH"), "HOME": dir, "OPENLINEAGE__TRANSPORT": string(text)}
	maps.Copy(forPython, env)
	a := p.emit(t, task{Env: forPython, Dir: dir, Events: events})
	if a.Refused != "" || len(a.Failed) > 0 {
		t.Fatalf("python: %s %s", a.Refused, strings.Join(a.Failed, "; "))
	}
	emitHere(t, configured[1], env, events)
	python, here = sinks[0].Requests(), sinks[1].Requests()
	if len(python) != onTheWire || len(here) != onTheWire {
		t.Fatalf("python sent %d requests, here %d, want %d each", len(python), len(here), onTheWire)
	}
	for i := range onTheWire {
		x, err := canonical(observation{requests: python[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		y, err := canonical(observation{requests: here[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		if !withoutOwnTag(x.bodies[0]) {
			t.Errorf("event %d: python sent no tag of its own", i)
		}
		if diff := cmp.Diff(x, y, cmp.AllowUnexported(compared{})); diff != "" {
			t.Errorf("event %d (-python +here):\n%s", i, diff)
		}
	}
	return python, here
}

func TestTwentyEventsToDatadog(t *testing.T) {
	t.Parallel()
	p := newPython(t)
	accepted := transporttest.Always(transporttest.Reply{Status: 202})
	for name, rules := range map[string]map[string]any{
		"sync": {}, "async": {"async_transport_rules": map[string]any{"prefect": map[string]any{"*": true}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{"type": "datadog"}
			maps.Copy(spec, rules)
			if name == "async" { // one at a time, so that the order is that of the events
				spec["max_concurrent_requests"] = 1
			}
			python, here := sameOnTheWire(t, p, spec, "site", map[string]string{"DD_API_KEY": "0123456789abcdef0123456789abcdef"}, accepted)
			for i := range here {
				for side, r := range map[string]transporttest.Request{"python": python[i], "here": here[i]} {
					if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Authorization") != "Bearer 0123456789abcdef0123456789abcdef" {
						t.Errorf("%s: event %d: %v", side, i, r.Header)
					}
				}
			}
		})
	}
}

func TestTwentyEventsToDataZone(t *testing.T) { //nolint:paralleltest // AWS's library reads the environment itself
	p := newPython(t)
	p.needBoto3(t)
	const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	env := map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "IQoJb3JpZ2luX2VjEXAMPLE",
		"AWS_DEFAULT_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true",
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	spec := map[string]any{"type": "amazon_datazone_api", "domainId": "dzd_4example"}
	python, here := sameOnTheWire(t, p, spec, "endpointOverride", env, transporttest.Always(took()))
	tokens := map[string]bool{}
	for i := range here {
		proven(t, python[i], secret) // what boto3 signs is what this library takes for signed
		proven(t, here[i], secret)
		tokens[here[i].Header.Get("Client-Token")] = true
	}
	if len(tokens) != onTheWire {
		t.Errorf("%d client tokens for %d events", len(tokens), onTheWire)
	}
	_, again := sameOnTheWire(t, p, spec, "endpointOverride", env, transporttest.Always(took()))
	for i := range again {
		if token := again[i].Header.Get("Client-Token"); token != here[i].Header.Get("Client-Token") || token == "" {
			t.Errorf("event %d has the token %q, and had %q", i, token, here[i].Header.Get("Client-Token"))
		}
	}
}
