package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// event is what the tests look at in an OpenLineage event; Raw is all of it, as it was delivered.
type event struct {
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
	Inputs  []dataset `json:"inputs"`
	Outputs []dataset `json:"outputs"`

	Raw []byte `json:"-"`
}

type dataset struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type parentFacet struct {
	Run struct {
		RunID string `json:"runId"`
	} `json:"run"`
	Job struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"job"`
}

func (e event) terminal() bool {
	return slices.Contains([]string{"COMPLETE", "FAIL", "ABORT"}, e.EventType)
}

// parent returns the parent facet's job and run, false when there is none.
func (e event) parent(t *testing.T) (parentFacet, bool) {
	t.Helper()
	raw, ok := e.Run.Facets["parent"]
	if !ok {
		return parentFacet{}, false
	}
	var p parentFacet
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatalf("the parent facet of run %s: %v", e.Run.RunID, err)
	}
	return p, true
}

// readEvents reads a file of one event a line. A last line that is still being written is left out.
func readEvents(t *testing.T, path string) []event {
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
	return decodeEvents(t, lines)
}

func decodeEvents(t *testing.T, bodies [][]byte) []event {
	t.Helper()
	events := make([]event, 0, len(bodies))
	for _, body := range bodies {
		var e event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatalf("an event that is not JSON: %v: %s", err, body)
		}
		e.Raw = body
		events = append(events, e)
	}
	return events
}

func eventsOf(t *testing.T, ndjson string) []event {
	t.Helper()
	var lines [][]byte
	scanner := bufio.NewScanner(bytes.NewReader([]byte(ndjson)))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		lines = append(lines, bytes.Clone(scanner.Bytes()))
	}
	return decodeEvents(t, lines)
}

// fileSink are the settings that deliver to a file.
func fileSink(path string) string {
	return `OPENLINEAGE__TRANSPORT={"type":"file","log_file_path":"` + path + `","append":true}`
}
