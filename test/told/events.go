package told

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// Event is what the tests look at in an OpenLineage event; Raw is all of it, as it was delivered.
type Event struct {
	EventType string    `json:"eventType"`
	EventTime time.Time `json:"eventTime"`
	Run       struct {
		RunID  string                     `json:"runId"`
		Facets map[string]json.RawMessage `json:"facets"`
	} `json:"run"`
	Job struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"job"`
	Inputs  []Dataset `json:"inputs"`
	Outputs []Dataset `json:"outputs"`

	Raw []byte `json:"-"`
}

// Dataset names a dataset.
type Dataset struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// ParentFacet names the run that a run is part of.
type ParentFacet struct {
	Run struct {
		RunID string `json:"runId"`
	} `json:"run"`
	Job struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"job"`
}

// Terminal says whether the event tells of an end.
func (e Event) Terminal() bool {
	return slices.Contains([]string{"COMPLETE", "FAIL", "ABORT"}, e.EventType)
}

// Parent returns the parent facet's job and run, false when there is none.
func (e Event) Parent(t testing.TB) (ParentFacet, bool) {
	t.Helper()
	raw, ok := e.Run.Facets["parent"]
	if !ok {
		return ParentFacet{}, false
	}
	var p ParentFacet
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatalf("the parent facet of run %s: %v", e.Run.RunID, err)
	}
	return p, true
}

// Read reads a file of one event a line. A last line that is still being written is left out.
func Read(t testing.TB, path string) []Event {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for line := range bytes.Lines(text) {
		if whole, ok := bytes.CutSuffix(line, []byte("\n")); ok {
			lines = append(lines, whole)
		}
	}
	return Decode(t, lines)
}

// Decode reads events, one from each body.
func Decode(t testing.TB, bodies [][]byte) []Event {
	t.Helper()
	events := make([]Event, 0, len(bodies))
	for _, body := range bodies {
		var e Event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatalf("an event that is not JSON: %v: %s", err, body)
		}
		e.Raw = body
		events = append(events, e)
	}
	return events
}

// Parse reads a text of one event a line.
func Parse(t testing.TB, ndjson string) []Event {
	t.Helper()
	var lines [][]byte
	scanner := bufio.NewScanner(bytes.NewReader([]byte(ndjson)))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		lines = append(lines, bytes.Clone(scanner.Bytes()))
	}
	return Decode(t, lines)
}

// FileSink are the settings that deliver to a file.
func FileSink(path string) string {
	return `OPENLINEAGE__TRANSPORT={"type":"file","log_file_path":"` + path + `","append":true}`
}
