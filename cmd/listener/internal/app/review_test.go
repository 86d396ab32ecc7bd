package app_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/app"
)

// google sets a destination beside the sink that changes events.
func (r *rig) google() {
	r.options.Config.OpenLineage.Transport = map[string]any{"type": "composite", "transports": map[string]any{
		"plain":  map[string]any{"type": "http", "url": r.sink.URL()},
		"google": map[string]any{"type": "gcplineage", "project_id": "demo", "endpoint": r.sink.URL(), "unmapped": "drop"},
	}}
}

func previewFor(destination string) app.BackfillRequest {
	request := lastHour()
	request.Destinations = []string{destination}
	return request
}

// What is shown for a destination is the copies that it would get, with what its consumer would hide in the log, each
// once and in a sum.
func TestPreviewForADestination(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.history(4)
	r.google()
	result, err := app.Preview(t.Context(), r.options, previewFor("google"), app.ShowEvents)
	if err != nil || result.Runs != 12 {
		t.Fatal(result, err)
	}
	if n := strings.Count(r.out.String(), `"gcp_lineage":`); n != events || bytes.Count(r.out.Bytes(), []byte("\n")) != events {
		t.Errorf("%d of %d events are Google's copies:\n%s", n, events, r.out)
	}
	if n := len(r.sink.Requests()); n != 0 {
		t.Errorf("a preview sent %d requests", n)
	}
	sum := r.logs.FilterMessage("what the destination would make of the events").All()
	if len(sum) != 1 || sum[0].ContextMap()["events"] != int64(events) || sum[0].ContextMap()["changed"] != int64(events) {
		t.Errorf("summed up as %v", sum)
	}
	said := map[string]int{}
	for _, entry := range r.logs.All() {
		if _, about := entry.ContextMap()["job"]; about {
			said[entry.Message]++
		}
	}
	for remark, n := range said {
		if n != 1 {
			t.Errorf("said %d times: %s", n, remark)
		}
	}
	if len(said) == 0 {
		t.Error("nothing is said of tasks that write and do not read")
	}
}

// As JSON there is a line for each event, with its copies and what is said of it.
func TestPreviewForADestinationAsJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	events := r.history(1)
	r.google()
	if _, err := app.Preview(t.Context(), r.options, previewFor("google"), app.ShowReviewJSON); err != nil {
		t.Fatal(err)
	}
	type line struct {
		Run, Type, Job, Destination string
		Changed                     bool
		Remarks                     []string
		Copies                      []json.RawMessage
	}
	lines := 0
	for text := range bytes.Lines(r.out.Bytes()) {
		lines++
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		if l.Run == "" || l.Type == "" || l.Job == "" || l.Destination != "google" || !l.Changed || len(l.Copies) != 1 || l.Remarks == nil {
			t.Errorf("%s", text)
		}
	}
	if lines != events {
		t.Errorf("%d lines for %d events", lines, events)
	}
}

// A destination that changes nothing gets what a plain preview shows.
func TestPreviewForAPlainDestination(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.history(2)
	r.google()
	if _, err := app.Preview(t.Context(), r.options, lastHour(), app.ShowEvents); err != nil {
		t.Fatal(err)
	}
	plain := r.out.String()
	r.out.Reset()
	if _, err := app.Preview(t.Context(), r.options, previewFor("plain"), app.ShowEvents); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, r.out.String()); diff != "" || plain == "" {
		t.Errorf("(-plain +for the destination):\n%s", diff)
	}
}

func TestPreviewForNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.google()
	_, err := app.Preview(t.Context(), r.options, previewFor("nobody"), app.ShowEvents)
	if want := `--destination nobody: there is no such destination; there are ["plain" "google"]`; !isA[*app.SettingsError](err) || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
}
