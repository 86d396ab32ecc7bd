package adapter_test

import (
	"testing"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage/oltest"
	"github.com/prefect-openlineage/listener/prefect"
)

// TestEventsFollowTheSpec validates every kind of event and facet against the spec's schemas and our own.
func TestEventsFollowTheSpec(t *testing.T) {
	t.Parallel()
	validator := oltest.Validator(t)
	stories := make(map[string][]adapter.Event)
	for name, in := range goldenCases(t) {
		stories[name] = replay(t, in).events
	}
	a := newAdapter(t)
	_, task := openTask(t, a)
	stories["inferred, gone"] = a.InferGone(a.InferGone(task, at(100), nil).Told, at(900), nil).Events
	stories["inferred, failed"] = a.InferEnd(task, endedFlow(adapter.Fail, 10)).Events
	stories["inferred, seen"] = a.InferEndSeen(taskSnapshot(leftRunning()), task, endedFlow(adapter.Complete, 10), nil).Events
	stories["bare"] = a.Tell(prefect.Snapshot{FlowRun: new(flowRow())}, flowTold(t, a), adapter.Beside{}).Events
	stories["every dataset facet"] = tell(t, a, taskSnapshot(taskRow(), table(1, "ol-dataset_input ol-dataset_output", `[{
		"database_uri":"duckdb:///d","table":"t","schema":[{"name":"id","type":"int","description":"key","fields":[{"name":"part"}]}],
		"row_count":12,"size":2048,"file_count":3,"description":"Orders","owners":["ada",{"name":"bob","type":"STEWARD"}],
		"version":7,"lifecycle":"overwrite","assertions":[{"assertion":"not_null","success":true,"column":"id"}],
		"column_lineage":{"id":{"inputFields":[{"namespace":"postgres://h:1","name":"t","field":"i","transformations":[{"type":"DIRECT"}]}]}},
		"facets":{"storage":{"storageLayer":"iceberg"},"symlinks":{"identifiers":[{"namespace":"n","name":"x","type":"TABLE"}]}}
	}]`)), nil).Events
	for name, events := range stories {
		if len(events) == 0 {
			t.Errorf("%s: nothing was told", name)
		}
		for _, e := range events {
			if err := validator.Validate(e.Body); err != nil {
				t.Errorf("%s, %s: %v\n%s", name, e.Type, err, e.Body)
			}
		}
	}
}
