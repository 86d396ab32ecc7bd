package main

import (
	"strings"
	"testing"
)

// A preview sends nothing, so it does not matter to it that no consumer is set.
func TestPreviewNeedsNoConsumer(t *testing.T) {
	t.Parallel()
	for command, warns := range map[string]bool{"preview": false, "backfill": true} {
		r := newRig()
		r.input.Variables.OpenLineageURL = ""
		r.result.Runs = 1
		r.want(t, exitOK, command, "--since", "1h")
		if strings.Contains(r.stderr.String(), "OPENLINEAGE_URL") != warns {
			t.Errorf("%s says %s", command, r.stderr.String())
		}
	}
}
