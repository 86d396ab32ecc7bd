package told

import (
	"fmt"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

const (
	// quiet is how long nothing may have changed in Prefect's tables for all to be in them: its recorder writes task runs
	// in batches, many seconds after they ended when it has much to do.
	quiet = 6 * time.Second
	// settling is how long a busy server may take for it.
	settling = 3 * time.Minute
)

// Settled waits until Prefect itself shows all that ran in its final state, and returns what must be told.
func Settled(t testing.TB, p *rig.Prefect) map[string]Expectation {
	t.Helper()
	var rows int
	since, deadline := time.Now(), time.Now().Add(settling)
	for time.Since(since) < quiet {
		open, now := unfinished(p)
		if now != rows || len(open) > 0 {
			rows, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s Prefect shows %d of %d runs as open, such as %v", settling, len(open), now, open[:min(3, len(open))])
		}
		time.Sleep(250 * time.Millisecond)
	}
	return Expected(t, p)
}

// unfinished names the runs that Prefect shows as open, and counts all.
func unfinished(p *rig.Prefect) (open []string, all int) {
	for _, resource := range []string{"flow_runs", "task_runs"} {
		for _, row := range p.Filter(resource, nil) {
			if nobodys(row) {
				continue
			}
			all++
			if row["state"] == nil || EndTypes[row["state_type"].(string)] == "" {
				open = append(open, fmt.Sprintf("%v (%v)", row["name"], row["state_type"]))
			}
		}
	}
	return open, all
}

// nobodys says whether a row is a run that an automation made and that no worker takes: an automation may act once more
// than a flow waits for.
func nobodys(row map[string]any) bool {
	by, _ := row["created_by"].(map[string]any)
	return by["type"] == "AUTOMATION" && row["state_type"] == "SCHEDULED"
}
