package gcp_test

import (
	"strings"
	"testing"
)

// preview shows Google's copies and what Google would not draw, and neither a token nor an event is asked for or sent.
func TestPreview(t *testing.T) {
	t.Parallel()
	r := newRigged(t, nil)
	code, out, stderr := r.listener.Run("preview", "--since", "1h", "--destination", "google")
	if code != 0 || strings.Count(out, `"gcp_lineage":`) != r.events || strings.Count(out, "\n") != r.events {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if !strings.Contains(stderr, "what the destination would make of the events") {
		t.Errorf("nothing is summed up:\n%s", stderr)
	}
	code, out, _ = r.listener.Run("preview", "--since", "1h", "--destination", "google", "-o", "json")
	if code != 0 || strings.Count(out, `"destination":"google","changed":true`) != r.events {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, _, stderr = r.listener.Run("preview", "--since", "1h", "--destination", "gogle")
	if code != 2 || !strings.Contains(stderr, `--destination gogle: there is no such destination; there are ["google"]`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if n := len(r.sink.Requests()); n != 0 {
		t.Errorf("a preview sent %d requests", n)
	}
}
