package adapter_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/prefect"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenIn is what a golden test reads: rows of a real server as several polls saw them.
type goldenIn struct {
	Note     string               `json:"note"`
	Settings adapter.Settings     `json:"settings"`
	Rows     string               `json:"rows"` // another golden test whose polls these are too
	Polls    [][]prefect.Snapshot `json:"polls"`
}

// replay returns what is told when the polls come one after the other.
func replay(t testing.TB, in goldenIn) *listener {
	t.Helper()
	settings := in.Settings
	settings.Producer, settings.Version = producer, "1.2.3"
	l := newListener(t, newAdapter(t, func(s *adapter.Settings) { *s = settings }))
	for _, poll := range in.Polls {
		for _, s := range poll {
			l.see(s)
		}
	}
	return l
}

func goldenCases(t testing.TB) map[string]goldenIn {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*.in.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	cases := make(map[string]goldenIn)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var in goldenIn
		if err := json.Unmarshal(raw, &in); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		cases[strings.TrimSuffix(filepath.Base(file), ".in.json")] = in
	}
	for name, in := range cases {
		if in.Rows != "" {
			in.Polls = cases[in.Rows].Polls
			cases[name] = in
		}
		if len(cases[name].Polls) == 0 {
			t.Fatalf("%s has no polls", name)
		}
	}
	return cases
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, in := range goldenCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := render(t, replay(t, in))
			file := filepath.Join("testdata", "golden", name+".out.json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				t.Errorf("%s (-want +got):\n%s", in.Note, cmp.Diff(decoded(t, want), decoded(t, got)))
			}
		})
	}
}

// render writes what was told as JSON with one event on a line, byte for byte as it is sent.
func render(t testing.TB, l *listener) []byte {
	t.Helper()
	var b bytes.Buffer
	list := func(name, end string, items [][]byte) {
		fmt.Fprintf(&b, "%q: [\n%s\n]%s\n", name, bytes.Join(items, []byte(",\n")), end)
	}
	line := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	var events, edges, warnings [][]byte
	for _, e := range l.events {
		events = append(events, e.Body)
	}
	for _, e := range l.edges {
		edges = append(edges, line(e))
	}
	for _, w := range l.warnings {
		warnings = append(warnings, line(w.Rule+": "+w.Message))
	}
	b.WriteString("{\n")
	list("events", ",", events)
	list("edges", ",", edges)
	list("warnings", "", warnings)
	b.WriteString("}\n")
	return b.Bytes()
}

func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	return v
}

// TestGoldenNoSecrets looks for the passwords that the flows of the golden files used.
func TestGoldenNoSecrets(t *testing.T) {
	t.Parallel()
	for name, in := range goldenCases(t) {
		out := render(t, replay(t, in))
		for _, secret := range []string{"s3cr3t", "hunter2", "u:p@", "u:secret@", "ghp_", "password=abc"} {
			if bytes.Contains(out, []byte(secret)) {
				t.Errorf("%s holds the secret %q", name, secret)
			}
		}
	}
}

// TestGoldenOneLook compares what is told when a run is first seen at its end with what was told while it went on: what
// both tell of the same moment must be the same bytes.
func TestGoldenOneLook(t *testing.T) {
	t.Parallel()
	for name, in := range goldenCases(t) {
		live := replay(t, in)
		last := in
		last.Polls = in.Polls[len(in.Polls)-1:]
		later := replay(t, last)
		said := make(map[adapter.Key]string)
		for _, e := range live.events {
			said[e.Key()] = string(e.Body)
		}
		for _, e := range later.events {
			// A run that was told to have ended before it ran has its start then, and live knows better.
			if body, ok := said[e.Key()]; ok && body != string(e.Body) {
				t.Errorf("%s: %s differs:\n%s", name, e.Type, cmp.Diff(body, string(e.Body)))
			} else if !ok && name != "revived" {
				t.Errorf("%s: %s at %s is told of the last row alone", name, e.Type, e.Time)
			}
		}
	}
}
