package versions

import (
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// times wants each event to bear the time that the server's row has for it: a start its start, an end its end or, where
// the server keeps none, its state's time.
func times(t *testing.T, p *rig.Prefect, events []told.Event) {
	t.Helper()
	rows := map[string]map[string]any{}
	for _, resource := range []string{"flow_runs", "task_runs"} {
		for _, row := range p.Filter(resource, nil) {
			rows[row["id"].(string)] = row
		}
	}
	noEnd := 0
	for _, e := range events {
		row := rows[e.Run.RunID]
		said := row["start_time"]
		if e.Terminal() {
			said = row["end_time"]
			if said == nil {
				noEnd++
				said = row["state"].(map[string]any)["timestamp"]
			}
		}
		at, err := time.Parse(time.RFC3339, said.(string))
		if err != nil {
			t.Fatal(err)
		}
		// What is said again of assets comes a microsecond after the end.
		if later := e.EventTime.Sub(at); later != 0 && later != time.Microsecond {
			t.Errorf("%s of %s is told at %s, and the server has %s", e.EventType, e.Job.Name, e.EventTime, said)
		}
	}
	t.Logf("%d ends have their state's time", noEnd)
}
