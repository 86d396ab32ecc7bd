package rest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings are what DataHub's Python emitter sent and was answered, each file one case.
const recordings = "../../../../shared/datahub-golden"

// recording is one of those files, as far as it is looked at.
type recording struct {
	Name                string            `json:"name"`
	EmitterArgs         map[string]string `json:"emitter_args"`
	CallsTestConnection bool              `json:"calls_test_connection"`
	OpenAPI             *bool             `json:"openapi_ingestion"`
	Result              struct {
		OK       bool `json:"ok"`
		Returned []struct {
			TraceID string `json:"trace_id"`
		} `json:"returned"`
		Error *recordedError `json:"error"`
	} `json:"result"`
	Sleeps   []float64         `json:"sleeps_seconds"`
	Warnings []string          `json:"log_warnings"`
	Requests []recordedRequest `json:"requests"`
	// Expect replaces the recorded result where a deviation says so: the text that the error must hold.
	Expect string `json:"-"`
}

type recordedError struct {
	Type    string         `json:"type"`
	Text    string         `json:"str"`
	Message string         `json:"message"`
	Info    map[string]any `json:"info"`
}

type recordedRequest struct {
	Method   string           `json:"method"`
	Path     string           `json:"path"`
	Headers  [][2]string      `json:"headers"`
	Body     *string          `json:"body"`
	Items    int              `json:"items"`
	Status   int              `json:"status"`
	Response recordedResponse `json:"response"`
}

type recordedResponse struct {
	Status  int         `json:"status"`
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
}

// loadRecordings returns the recordings of the REST emitter by name.
func loadRecordings(t *testing.T) map[string]recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]recording{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var shape map[string]json.RawMessage
		if err := json.Unmarshal(raw, &shape); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if shape["emitter_args"] == nil {
			continue // URNs, Kafka messages and the like
		}
		var r recording
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[r.Name] = r
	}
	if len(all) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI must not skip: the recordings of DataHub's emitter in %s", recordings)
		}
		t.Skipf("skipped: the recordings of DataHub's emitter are not here: %s", recordings)
	}
	return all
}

// TestRecordings replays each recording: the same proposals, the same answers, and then the same requests, sleeps and
// result, but for the deviations in the table. A deviation that is not needed fails.
func TestRecordings(t *testing.T) {
	t.Parallel()
	all := loadRecordings(t)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if problems := replay(t, r, apply(r, deviations, "")); len(problems) > 0 {
				t.Errorf("differs:\n%s", strings.Join(problems, "\n"))
			}
			for _, d := range deviations {
				if d.recording != name {
					continue
				}
				if problems := replay(t, r, apply(r, deviations, d.what)); len(problems) == 0 {
					t.Errorf("the deviation %q is not needed", d.what)
				}
			}
		})
	}
	for _, d := range deviations {
		if _, ok := all[d.recording]; !ok {
			t.Errorf("a deviation is listed for %s, and there is no such recording", d.recording)
		}
		if d.reason == "" {
			t.Errorf("the deviation %q has no reason", d.what)
		}
	}
}

// apply returns a copy of a recording with its deviations, but for the one named except.
func apply(r recording, table []deviation, except string) recording {
	changed := r
	changed.Requests = append([]recordedRequest(nil), r.Requests...)
	for _, d := range table {
		if d.recording == r.Name && d.what != except {
			d.change(&changed)
		}
	}
	return changed
}
