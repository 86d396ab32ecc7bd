package told

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
)

// quiet is how long nothing may have changed in Prefect's tables for all to be in them: its recorder writes task runs
// in batches, many seconds after they ended when it has much to do.
const quiet = 6 * time.Second

// Settled waits until Prefect itself shows all that ran in its final state, and returns what must be told.
func Settled(t testing.TB, p *rig.Prefect) map[string]Expectation {
	t.Helper()
	var rows int
	var since time.Time
	rig.Eventually(t, 2*time.Minute, "no run is open in Prefect and none is added", func() bool {
		open, now := 0, 0
		for _, resource := range []string{"flow_runs", "task_runs"} {
			for _, row := range p.Filter(resource, nil) {
				now++
				if row["state"] == nil || EndTypes[row["state_type"].(string)] == "" {
					open++
				}
			}
		}
		if now != rows || open > 0 {
			rows, since = now, time.Now()
		}
		return time.Since(since) >= quiet
	})
	return Expected(t, p)
}
